def masked(x):
    if x.max() > 9:  # GM301
        raise ValueError("too large")
    return x
