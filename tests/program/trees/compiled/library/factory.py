from .net import Built, Made


def make():
    return Made()


def build(scale=2):
    net = Built()
    net.scale = scale
    return net
