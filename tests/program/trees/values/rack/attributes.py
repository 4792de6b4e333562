def named(x):
    print("named")  # GM201
    return x
