def step(x):
    if x.sum() > 0:  # GM101
        x = x + 1
    return x


def other(x):
    return inner(x)


def inner(x):
    print("inner")  # GM201
    return x * 2


def eager_only(x):
    if x.sum() > 0:
        x = x + 1
    return x
