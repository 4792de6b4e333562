import warnings


class MaskMixin:
    def extended(self, mask, size, device=None):
        if device is not None:
            warnings.warn("device is deprecated", FutureWarning)  # GM203
        if size < 0:
            raise ValueError("size")
        return mask[:, None]

    def described(self, mask):
        print("for people", mask)
        return repr(mask)

    @property
    def width(self):
        print("width asked")  # GM201
        return 2
