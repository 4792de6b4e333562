def bounded(x):
    if x.max() > 5:  # GM301
        raise ValueError("too large")
    return x
