__all__ = ["note_starred"]


def note_starred(x):
    print("starred", x.shape)  # GM201


def unused(x):
    print("nobody calls this", x)
