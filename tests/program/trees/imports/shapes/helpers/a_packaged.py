def note(x):
    print("packaged", x.shape)  # GM201
