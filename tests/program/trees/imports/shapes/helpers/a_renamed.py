def note(x):
    print("renamed", x.shape)  # GM201
