def scaled(x, factor):
    if x.sum() > factor:  # GM101
        x = x * factor
    return x
