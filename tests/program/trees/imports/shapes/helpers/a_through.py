def note(x):
    print("through", x.shape)  # GM201
