def loud(x):
    print("loud")  # GM201
    return x.relu()


def silent(x):
    return x.relu()


ACTIVATIONS = {"loud": loud, "silent": silent}
