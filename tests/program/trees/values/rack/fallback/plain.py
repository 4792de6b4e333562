def robust(x):
    assert (x > 0).all() and x.sum() > 1 or x.max() > 9  # GM302
    return x
