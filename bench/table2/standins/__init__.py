"""Stand-ins for five models whose code is on a model hub and not in a package.

Each file shows the *pattern* that breaks the graph in one of them, in a small model written for this benchmark. They
share no code with the originals, so their counts say what mending does to the pattern, not to the original.
"""
