import logging

logger = logging.getLogger(__name__)


def gated(x, flag):
    if flag:  # GM101
        return x * 2
    return x


def bounded(x, low=0.0):
    if not isinstance(low, float):
        logger.warning("low should be a float")  # GM202
    return _clamped(x, low)


def _clamped(x, low):
    assert x.min() >= low, f"below {low}"  # GM302
    return x.clamp(min=low)


def static(x, size):
    if size > 4:
        return x[:, :4]
    return x


def collate(rows):
    for row in rows:
        if row.sum() > 0:
            print(row)
    return rows
