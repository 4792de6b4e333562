"""What runs in the user's interpreter, started by path: the standard library and torch, Python 3.8 syntax.

``__main__`` loads this folder under a private name, so that neither this package has to be installed there nor a
module here can be mistaken for one of the user's.
"""
