def note(x):
    print("dotted", x.shape)  # GM201
