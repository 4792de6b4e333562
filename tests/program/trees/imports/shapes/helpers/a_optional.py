def note(x):
    print("optional", x.shape)  # GM201
