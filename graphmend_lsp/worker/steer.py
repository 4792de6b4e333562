"""The next calls to try, from what the last one raised."""

from __future__ import annotations

import linecache
import math
import os
import re
import traceback
from typing import Any, Callable, Iterator

import torch

from .shapes import Axis, Spec, Try, size_of
from .tensors import with_rank

_TORCH = os.path.dirname(torch.__file__) + os.sep
_Change = Callable[[Try, "re.Match[str]"], Iterator[Try]]


def next_tries(tried: Try, error: BaseException) -> Iterator[Try]:
    """Calls that what was raised suggests."""
    text = " ".join(str(error).split())
    for pattern, change in _RULES:
        found = re.search(pattern, text)
        if found is not None:
            yield from change(tried, found)
    guard = _guard(error)
    if guard:
        yield from _other_sides(tried, text)
        for fill in ("positive", "increasing", "ones", "zeros"):
            yield tried._replace(fill=fill)
        yield from _as_asked(tried, guard)


def _guard(error: BaseException) -> str:
    """The ``raise`` or ``assert`` in Python that raised, with the line before; "" for what torch raises.

    The code does not accept the values, sizes or dtypes.
    """
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or isinstance(error, TypeError):
        return ""
    path, number = frames[-1].filename, frames[-1].lineno or 0
    if path.startswith(_TORCH):
        users = [frame for frame in frames if not frame.filename.startswith(_TORCH)]
        called = isinstance(error, AssertionError) and users  # torch._assert
        return linecache.getline(users[-1].filename, users[-1].lineno or 0) if called else ""
    line = linecache.getline(path, number)
    found = re.match(r"\s*(raise|assert)\b", line)
    if found is None:
        return ""
    return line if found[1] == "assert" else linecache.getline(path, number - 1) + line


def _as_asked(tried: Try, guard: str) -> Iterator[Try]:
    """What the numbers in a condition may be: a last size, or how many axes; or what is asked is another dtype."""
    numbers = list(dict.fromkeys(int(number) for number in re.findall(r"(?<![\w.])\d+(?![\w.])", guard)))[:3]
    if re.search(r"dtype|is_floating_point|long|int|bool", guard):
        yield from _as_indices_of_each(tried)
        yield from _alone(tried, lambda spec: spec._replace(dtype=torch.bool))
    if re.search(r"shape|size|len\(", guard):
        for number in numbers:
            last = {size_of(spec, tried.sizes)[-1] for spec in tried.specs() if spec.shape}
            for size in sorted(last):
                yield from _resized(tried, size, number)
    if re.search(r"dim|shape|size|rank", guard):
        for number in numbers:
            yield from _ranked(tried, number)


def _as_indices_of_each(tried: Try) -> Iterator[Try]:
    for shape in (("batch",), ("batch", "seq")):
        yield from _alone(tried, lambda spec, shape=shape: _indices(spec, shape))


def _indices(spec: Spec, shape: tuple[Axis, ...]) -> Spec:
    return spec._replace(dtype=torch.int64, high=2, shape=shape, trailing=0)


def _resized(tried: Try, old: int, new: int, axis: int | None = -1) -> Iterator[Try]:
    """Every axis (the one counted from the end, or all) of that size gets another; those of one name all do."""
    if new <= 0 or old == new:
        return
    sizes = dict(tried.sizes)
    touched = False

    def change(spec: Spec) -> Spec:
        nonlocal touched
        shape: list[Axis] = list(spec.shape)
        numbers = size_of(spec, tried.sizes)
        places = (
            range(len(shape))
            if axis is None
            else [axis % len(shape)]
            if shape and -len(shape) <= axis < len(shape)
            else []
        )
        for place in places:
            if numbers[place] != old:
                continue
            name = shape[place]
            if isinstance(name, str) and name.isidentifier():
                sizes[name] = new
                touched = True
            elif isinstance(name, int) and not spec.fixed:
                shape[place] = new
                touched = True
        return spec._replace(shape=tuple(shape))

    changed = tried.changed(change)
    if touched:
        yield changed._replace(sizes=sizes)


def _product(tried: Try, found: re.Match[str]) -> Iterator[Try]:
    """``mat1 and mat2 shapes cannot be multiplied (AxB and CxD)``: B should be C."""
    had, wanted = int(found[2]), int(found[3])
    yield from _resized(tried, had, wanted)
    yield from _flattened(tried, had, wanted)


def _flattened(tried: Try, had: int, wanted: int) -> Iterator[Try]:
    """Where images, or sequences, were flattened before, other sides give the size that is wanted."""
    for spec in tried.specs():
        shape = size_of(spec, tried.sizes)
        if spec.is_image:
            side = tried.sizes["height"]
            about = side * math.sqrt(wanted / had)
            sides = [round(about), round(about / 2) * 2, math.ceil(about), 28, 32, 64, 84, 224, 96, 128]
            if wanted % max(1, shape[1]) == 0:
                sides.insert(0, math.isqrt(wanted // max(1, shape[1])))
            yield from _with_sides(tried, sides)
        elif len(shape) == 3 and isinstance(spec.shape[1], str) and wanted % shape[2] == 0:
            yield tried._replace(sizes={**tried.sizes, spec.shape[1]: wanted // shape[2]})
        elif len(shape) == 3 and isinstance(spec.shape[2], int) and not spec.fixed:
            length = round(shape[2] * wanted / had)
            for size in (length, length + 1, length - 1, length + 2):
                yield from _resized(tried, shape[2], size)


def _with_sides(tried: Try, sides: list[int]) -> Iterator[Try]:
    seen = {tried.sizes["height"]}
    for side in sides:
        if side not in seen and 1 <= side <= 512:
            seen.add(side)
            yield tried._replace(sizes={**tried.sizes, "height": side, "width": side})


def _other_sides(tried: Try, text: str) -> Iterator[Try]:
    """A message of the user's about an image may say the side that it should have."""
    if any(spec.is_image for spec in tried.specs()):
        yield from _with_sides(tried, [int(number) for number in re.findall(r"\d+", text)][:6])


def _larger_sides(tried: Try, found: re.Match[str]) -> Iterator[Try]:
    del found
    if any(spec.is_image for spec in tried.specs()):
        yield from _with_sides(tried, [64, 128, 224, 299])
    for spec in tried.specs():
        if spec.shape and not spec.is_image and not spec.fixed:
            yield from _resized(tried, size_of(spec, tried.sizes)[-1], 256)


def _image_channels(tried: Try, found: re.Match[str]) -> Iterator[Try]:
    """``expected input[2, 32, 8, 8] to have 3 channels``, also where that names a part of the model inside."""
    shape = [int(size) for size in found[1].split(",")]
    if len(shape) > 1:
        yield from _resized(tried, shape[1], int(found[2]), 1 - len(shape))
        yield from _resized(tried, shape[1], int(found[2]), None)


def _sizes_differ(tried: Try, found: re.Match[str]) -> Iterator[Try]:
    """``The size of tensor a (8) must match the size of tensor b (16)``: either may be the one that is meant."""
    a, b = int(found[1]), int(found[2])
    yield from _resized(tried, a, b, None)
    yield from _resized(tried, b, a, None)
    if any(spec.is_image for spec in tried.specs()):
        side = tried.sizes["height"]
        yield from _with_sides(tried, [round(side * math.sqrt(b / a)), 224, 64, 28] if a and b else [224, 64, 28])


def _last_two(tried: Try, found: re.Match[str]) -> Iterator[Try]:
    """Messages that name the size that is wanted first, then the one there is."""
    yield from _resized(tried, int(found[2]), int(found[1]))
    yield from _flattened(tried, int(found[2]), int(found[1]))


def _first_two(tried: Try, found: re.Match[str]) -> Iterator[Try]:
    """The other way round."""
    yield from _resized(tried, int(found[1]), int(found[2]))


def _normalized(tried: Try, found: re.Match[str]) -> Iterator[Try]:
    wanted, had = (tuple(int(n) for n in text.replace(" ", "").split(",") if n) for text in (found[1], found[2]))
    for place in range(1, min(len(wanted), len(had)) + 1):
        yield from _resized(tried, had[-place], wanted[-place], -place)


def _running(tried: Try, found: re.Match[str]) -> Iterator[Try]:
    """``running_mean should contain 3 elements not 16`` of a normalization."""
    yield from _resized(tried, int(found[1]), int(found[2]), 1)
    yield from _resized(tried, int(found[1]), int(found[2]), None)


def _ranks(*ranks: int) -> _Change:
    def change(tried: Try, found: re.Match[str]) -> Iterator[Try]:
        del found
        for rank in ranks:
            yield from _ranked(tried, rank)

    return change


def _rank_named(tried: Try, found: re.Match[str]) -> Iterator[Try]:
    yield from _ranked(tried, int(found[1]))


def _ranked(tried: Try, rank: int) -> Iterator[Try]:
    """All tensors that may, then each alone, with so many axes."""
    if not 1 <= rank <= 5:
        return

    def every(image: bool) -> Callable[[Spec], Spec]:
        return lambda spec: spec if spec.fixed or len(spec.shape) == rank else with_rank(spec, rank, image)

    yield tried.changed(every(False))
    if rank == 4:
        yield tried.changed(every(True))
    for name, value in tried.arguments.items():
        if isinstance(value, Spec) and not value.fixed and len(value.shape) != rank:
            yield tried._replace(arguments={**tried.arguments, name: with_rank(value, rank)})


def _more_axes(tried: Try, found: re.Match[str]) -> Iterator[Try]:
    asked = int(found[1])
    yield from _ranked(tried, asked + 1 if asked >= 0 else -asked)
    yield from _ranked(tried, 4)


def _as_indices(tried: Try, found: re.Match[str]) -> Iterator[Try]:
    """Whole numbers, all at once or one parameter only."""
    del found

    def change(spec: Spec) -> Spec:
        shape = spec.shape if not spec.is_image and len(spec.shape) < 3 else ("batch", "seq")
        shape = ("batch", "seq") if shape == ("batch", "features") else shape
        return (
            spec._replace(dtype=torch.int64, high=spec.high or 10, shape=shape)
            if spec.is_float and not spec.fixed
            else spec
        )

    yield tried.changed(change)
    yield from _alone(tried, change)


def _as_floats(tried: Try, found: re.Match[str]) -> Iterator[Try]:
    del found

    def change(spec: Spec) -> Spec:
        return spec if spec.is_float or spec.fixed else spec._replace(dtype=torch.float32)

    yield tried.changed(change)
    yield from _alone(tried, change)


def _as_flags(tried: Try, found: re.Match[str]) -> Iterator[Try]:
    """Masks are of bool."""
    del found
    yield from _alone(tried, lambda spec: spec._replace(dtype=torch.bool))


def _alone(tried: Try, change: Callable[[Spec], Any]) -> Iterator[Try]:
    for name, value in tried.arguments.items():
        if isinstance(value, Spec) and not value.fixed:
            yield tried._replace(arguments={**tried.arguments, name: change(value)})


def _as_index(tried: Try, found: re.Match[str]) -> Iterator[Try]:
    """A tensor with one whole number."""
    del found
    for name in _doubtful(tried):
        yield tried._replace(arguments={**tried.arguments, name: Spec((1,), torch.int64, high=2)})


def _smaller_indices(tried: Try, found: re.Match[str]) -> Iterator[Try]:
    del found
    for high in (10, 2, 1):
        yield tried.changed(_below(high))
    yield from _alone(tried, lambda spec: spec._replace(shape=("batch",), trailing=0))
    yield tried._replace(sizes={**tried.sizes, "seq": 4})


def _below(high: int) -> Callable[[Spec], Spec]:
    return lambda spec: spec._replace(high=min(high, spec.high or 10))


def _as_number(tried: Try, found: re.Match[str]) -> Iterator[Try]:
    """A tensor where a number is needed: one of those of which nothing is known."""
    del found
    for number in (2, 1.0):
        for name in _doubtful(tried):
            yield tried._replace(arguments={**tried.arguments, name: number})


def _as_scalar(tried: Try, found: re.Match[str]) -> Iterator[Try]:
    """A tensor that is used as one value: in a condition it is a flag, or has one element."""
    del found
    for other in (Spec(()), False):
        for name in _doubtful(tried):
            yield tried._replace(arguments={**tried.arguments, name: other})


def _doubtful(tried: Try) -> list[str]:
    """Parameters that got a tensor, those first of which less was known and which come later."""
    found = [(name, value) for name, value in tried.arguments.items() if isinstance(value, Spec) and not value.fixed]
    found.reverse()
    return [name for name, _ in sorted(found, key=lambda item: bool(item[1].origin))]


def _as_several(tried: Try, found: re.Match[str]) -> Iterator[Try]:
    """A tensor where a list of them is needed."""
    del found
    for name, value in tried.arguments.items():
        if isinstance(value, Spec) and not value.fixed:
            yield tried._replace(arguments={**tried.arguments, name: [value, value]})


def _invalid_view(tried: Try, found: re.Match[str]) -> Iterator[Try]:
    """``shape '[-1, 784]' is invalid for input of size 64``: the other axes have to give that many."""
    sizes = [int(size) for size in found[1].split(",") if size.strip()]
    rest = math.prod(size for size in sizes[1:] if size > 0)
    for name, value in tried.arguments.items():
        if isinstance(value, Spec) and value.shape and not value.fixed and rest > 1:
            shapes: list[tuple[Axis, ...]] = [("batch", rest)]
            side = math.isqrt(rest)
            if side * side == rest:
                shapes.append(("batch", 1, side, side))
            for shape in shapes:
                yield tried._replace(arguments={**tried.arguments, name: value._replace(shape=shape, trailing=0)})
    images = [spec for spec in tried.specs() if spec.is_image]
    if images:
        had = int(found[2]) // size_of(images[0], tried.sizes)[0]
        yield from _flattened(tried, max(1, had), rest)


_RULES: tuple[tuple[str, _Change], ...] = (
    (r"shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x\d+\)", _product),
    (r"size mismatch, got input \((\d+)\), mat \(\d+x(\d+)\), vec \((\d+)\)", _product),
    (r"input\[([\d, ]+)\] to have (\d+) channels", _image_channels),
    (r"running_mean should contain (\d+) elements not (\d+)", _running),
    (r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)", _sizes_differ),
    (r"normalized_shape=\[([\d, ]+)\], expected input with .* but got input of size\[([\d, ]+)\]", _normalized),
    (r"must be equal to input_size\. Expected (\d+), got (\d+)", _last_two),
    (r"expecting embedding dimension of (\d+), but got (\d+)", _last_two),
    (r"expected to be (\d+),? (?:but )?got (\d+)", _last_two),
    (r"inconsistent input_size: got (\d+),? expected (\d+)", _first_two),
    (r"\bor (\d)D \(batched\) input", _rank_named),
    (r"[Ee]xpected (\d)D \(got \dD", _rank_named),
    (r"expected (\d)D input", _rank_named),
    (r"expected \dD or (\d)D input", _rank_named),
    (r"Expected input to be \dD or (\d)D", _rank_named),
    (r"values to unpack \(expected (\d)", _rank_named),
    (r"is not equal to len\(dims\) = (\d)", _rank_named),
    (r"must be at least (?:a )?(\d)-?D", _rank_named),
    (r"at least (\d) dimension", _rank_named),
    (r"Dimension out of range \(expected to be in range of .* but got (-?\d+)\)", _more_axes),
    (r"only integer tensors of a single element", _as_index),
    (r"too many indices for tensor|tuple index out of range", _ranks(3, 4)),
    (r"3D tensor", _ranks(3)),
    (r"doesn't match the broadcast shape", _ranks(1, 2)),
    (r"scalar types: Long|'indices' to have|tensors used as indices must be|only integer tensors", _as_indices),
    (r"to be (?:of type )?int64|dtype int|integral", _as_indices),
    (r"expected (?:scalar type|.*dtype) [Ff]loat|same dtype|[Ii]nput type .*(?:Long|Int)", _as_floats),
    (r"not implemented for '(?:Long|Int|Bool)'|floating point|Got Long|should be the same", _as_floats),
    (r"[Bb]ool tensor|boolean mask|type bool|dtype.* bool", _as_flags),
    (r"index out of range|out of bounds|out of range in self|Class values must be", _smaller_indices),
    (r"Output size is too small|[Kk]ernel size can't be greater|should be less than", _larger_sides),
    (r"too small|smaller than", _larger_sides),
    (r"cannot be interpreted as an integer|must be tuple of ints|must be int|not Tensor", _as_number),
    (r"converted to Python scalar|single element|converted to Scalar|unsupported operand type", _as_number),
    (r"unhashable|positional arguments? but|invalid combination of arguments", _as_number),
    (r"Boolean value of Tensor", _as_scalar),
    (r"must be tuple of Tensors|not a sequence|iteration over a 0-d|tuple or list", _as_several),
    (r"shape '\[([-\d, ]+)\]' is invalid for input of size (\d+)", _invalid_view),
)
