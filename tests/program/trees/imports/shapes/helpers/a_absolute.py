def note(x):
    print("absolute", x.shape)  # GM201
