def note(x):
    print("late", x.shape)  # GM201
