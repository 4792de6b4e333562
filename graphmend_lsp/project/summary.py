"""What a file looks like from outside: its imports, and which names each of its functions mentions.

Read from the text by its layout, without parsing: a name in a string or comment counts as mentioned.  A summary may
therefore name too much, never too little; what it suggests is verified by the analysis (``check``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

_IMPORT = re.compile(
    r"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|(?:[^\n\\#;]|\\\r?\n)+)|^[ \t]*import[ \t]+([^\n#;]+)", re.M
)
_ALIAS = re.compile(r"([\w.]+)(?:\s+as\s+(\w+))?")
_TOP = re.compile(
    r"^(?:(@)|(?:async[ \t]+)?def[ \t]+(\w+)|class[ \t]+(\w+)|(\w+)[ \t]*(?::[^=\n]+)?=(?!=)|[^\s#)\]}])", re.M
)
_METHOD = re.compile(r"^([ \t]+)(?:(@)|(?:async[ \t]+)?def[ \t]+(\w+))", re.M)
_NAME = re.compile(r"\.(\w\w+)|@([\w.]+)|(?<![\w.])([A-Za-z_]\w+)[ \t]*(?=[(,)\[\]}.\r\n])")
_KEYWORDS = frozenset(
    "if elif else while for in not and or is return yield raise assert with as def class lambda None True False self "
    "print super len range isinstance hasattr getattr setattr int float bool str list tuple dict set zip enumerate "
    "torch nn Tensor Optional Union shape size dtype device".split()
)
_BASES = re.compile(r"^class[ \t]+(\w+)([^:]*)|^(\w+)[ \t]*=[ \t]*([\w.]+)[ \t]*$", re.M)
_WORD = re.compile(r"[A-Za-z_]\w*")
_COMPILE = re.compile(r"compile\b")
"""Without a ``\\b`` in front: so it is searched for as plain text, which is ten times faster."""
_COMPILE_WORDS = ("_dynamo.optimize", "support_torch_compile")
_EXPORT = re.compile(r"torch\.export\b")
_QUOTED = re.compile(
    r'#[^\n]*|(""")(?:\\.|[^\\])*?(?:"""|\Z)'
    r"|(''')(?:\\.|[^\\])*?(?:'''|\Z)"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])*'",
    re.S,
)


@dataclass(frozen=True, slots=True)
class Unit:
    """A function, method, class body or global of a file; ``names`` are what it mentions, between spaces."""

    qualname: str
    names: str

    @property
    def name(self) -> str:
        return self.qualname.rpartition(".")[2]

    def mentions(self, name: str) -> bool:
        return f" {name} " in self.names


@dataclass(frozen=True, slots=True)
class Outline:
    """One file without its parts.

    ``imports`` are pairs of the local name and the absolute dotted target, ``stars`` the modules of
    ``from module import *``; ``compiles`` says whether it may compile or export anything itself, ``torch`` whether
    it names torch.  ``bases`` holds for each class the names between its parentheses, separated by spaces, and for each
    alias (``Layer = other.Block``) the names in it.  ``count`` is how many parts there are, ``words`` a Bloom filter
    over the names that they mention.
    """

    module: str
    imports: tuple[tuple[str, str], ...]
    stars: tuple[str, ...]
    compiles: bool
    torch: bool
    bases: tuple[tuple[str, str], ...]
    count: int
    words: bytes

    def may_mention(self, word: int) -> bool:
        """Whether a part may mention the name of this hash (``word_hash``): right wherever it says no."""
        size = len(self.words) * 8
        first, second = word % size, (word >> 16) % size
        return bool(self.words[first >> 3] >> (first & 7) & 1 and self.words[second >> 3] >> (second & 7) & 1)

    def encode(self) -> list[object]:
        """Plain data for ``json``."""
        imports, bases = [list(pair) for pair in self.imports], [list(pair) for pair in self.bases]
        words = self.words.hex()
        return [self.module, imports, list(self.stars), self.compiles, self.torch, bases, self.count, words]

    @classmethod
    def decode(cls, data: list[object]) -> Outline:
        """The opposite of ``encode``.

        Raises:
            ValueError, TypeError: not what ``encode`` made.
        """
        module, imports, stars, compiles, torch, bases, count, words = data
        if not (isinstance(module, str) and isinstance(compiles, bool) and isinstance(torch, bool)):
            raise ValueError("not an outline")
        if not (isinstance(count, int) and isinstance(words, str) and words):
            raise ValueError("not an outline")
        pairs: list[tuple[str, str]] = [(str(local), str(target)) for local, target in imports]  # type: ignore[attr-defined]
        known: list[tuple[str, str]] = [(str(name), str(names)) for name, names in bases]  # type: ignore[attr-defined]
        whole = tuple(str(star) for star in stars)  # type: ignore[attr-defined]
        return cls(module, tuple(pairs), whole, compiles, torch, tuple(known), count, bytes.fromhex(words))


def word_hash(name: str) -> int:
    """The hash of a name in ``Outline.words``, the same in every process."""
    return crc32(name.encode("utf-8", "surrogatepass"))


_FEWEST_BITS = 256
_BITS_A_WORD = 8
"""With two bits set for each name, about one name in twenty that is not there seems to be."""


def _words_of(units: tuple[Unit, ...]) -> bytes:
    names = {name for unit in units for name in unit.names.split()}
    size = _FEWEST_BITS
    while size < _BITS_A_WORD * len(names):
        size *= 2
    found = bytearray(size // 8)
    for word in map(word_hash, names):
        for at in (word % size, (word >> 16) % size):
            found[at >> 3] |= 1 << (at & 7)
    return bytes(found)


def encode_units(units: tuple[Unit, ...]) -> list[object]:
    """Plain data for ``json``."""
    return [[unit.qualname, unit.names] for unit in units]


def decode_units(data: list[object]) -> tuple[Unit, ...]:
    """The opposite of ``encode_units``.

    Raises:
        ValueError, TypeError: not what it made.
    """
    return tuple(Unit(str(qualname), str(names)) for qualname, names in data)  # type: ignore[misc]


@dataclass(frozen=True, slots=True)
class Summary:
    """One file with its parts."""

    outline: Outline
    units: tuple[Unit, ...]


Blocks = dict[str, str]
"""The names that parts of a text mention, by these parts."""


def summarise(text: str, module: str, is_package: bool, known: Blocks | None = None) -> Summary:
    """The summary of a file's text; never raises.

    ``known`` is what the last call for the file has left there; it is brought up to date.
    """
    package = module if is_package else module.rpartition(".")[0]
    text = _QUOTED.sub(_shortened, text)
    imports: list[tuple[str, str]] = []
    stars: list[str] = []
    for base, names, plain in _IMPORT.findall(text):
        if plain:
            for target, local in _ALIAS.findall(plain):
                imports.append((local or target, target))
            continue
        source = _absolute(base, package)
        if names.strip(" ()\t") == "*":
            stars.append(source)
            continue
        for name, local in _ALIAS.findall(names):
            imports.append((local or name, f"{source}.{name}"))
    compiles = _may_compile(text)
    torch = "torch" in text
    text = _IMPORT.sub("", text)
    bases = tuple(_bases(text))
    named = _Named(known if known is not None else {})
    units = tuple(_units(text, named))
    if known is not None:
        known.clear()
        known.update(named.asked)
    found = tuple(dict.fromkeys(imports))
    whole = tuple(dict.fromkeys(stars))
    return Summary(Outline(module, found, whole, compiles, torch, bases, len(units), _words_of(units)), units)


def _may_compile(text: str) -> bool:
    """Whether a text names what compiles or exports."""
    if any(word in text for word in _COMPILE_WORDS) or _EXPORT.search(text) is not None:
        return True
    return any(not _is_word(text[found.start() - 1 : found.start()]) for found in _COMPILE.finditer(text))


def _is_word(char: str) -> bool:
    return char == "_" or char.isalnum()


class _Named:
    """Names that parts of a text mention; those asked for in one run are collected."""

    def __init__(self, known: Blocks) -> None:
        self._known = known
        self.asked: Blocks = {}

    def __call__(self, block: str) -> str:
        found = self._known.get(block)
        if found is None:
            found = _names(block)
        self.asked[block] = found
        return found


def _bases(text: str) -> Iterator[tuple[str, str]]:
    """Classes and aliases at the top level, with the names that they are made of."""
    for match in _BASES.finditer(text):
        cls, inherited, alias, target = match.groups()
        names = _WORD.findall(inherited if cls else target)
        if names:
            yield cls or alias, " ".join(dict.fromkeys(names))


def _shortened(match: re.Match[str]) -> str:
    """Long strings, whose lines look like code, and comments go; short strings stay."""
    if match[1] or match[2]:
        return '""'
    return "" if match[0].startswith("#") else match[0]


def _absolute(base: str, package: str) -> str:
    stripped = base.lstrip(".")
    level = len(base) - len(stripped)
    if not level:
        return base
    parts = package.split(".") if package else []
    parts = parts[: len(parts) - (level - 1)]
    return ".".join([*parts, stripped] if stripped else parts)


def _units(text: str, named: _Named) -> Iterator[Unit]:
    """The parts of a file; decorators belong to what they decorate."""
    starts: list[tuple[int, str, bool]] = []
    pending: int | None = None
    for match in _TOP.finditer(text):
        decorator, function, cls, target = match.groups()
        if decorator:
            pending = match.start() if pending is None else pending
            continue
        start = match.start() if pending is None else pending
        pending = None
        starts.append((start, function or cls or target or "", cls is not None))
    ends = [*(start for start, _, _ in starts[1:]), len(text)][: len(starts)]
    plain: list[str] = []
    for (start, name, is_class), end in zip(starts, ends, strict=True):
        block = text[start:end]
        if is_class:
            yield from _class_units(block, name, named)
        elif name:
            yield Unit(name, named(block))
        else:
            plain.append(block)
    if plain:
        yield Unit("", named("\n".join(plain)))


def _class_units(block: str, name: str, named: _Named) -> Iterator[Unit]:
    found = list(_METHOD.finditer(block))
    if not found:
        yield Unit(name, named(block))
        return
    indent = min((m.group(1) for m in found), key=len)
    starts: list[tuple[int, str]] = []
    pending: int | None = None
    for match in found:
        if match.group(1) != indent:
            continue
        if match.group(2):
            pending = match.start() if pending is None else pending
            continue
        starts.append((match.start() if pending is None else pending, match.group(3)))
        pending = None
    ends = [*(start for start, _ in starts[1:]), len(block)][: len(starts)]
    yield Unit(name, named(block[: starts[0][0]] if starts else block))
    for (start, method), end in zip(starts, ends, strict=True):
        yield Unit(f"{name}.{method}", named(block[start:end]))


def _names(block: str) -> str:
    found: set[str] = set()
    for attribute, decorator, plain in _NAME.findall(block):
        if decorator:
            found.update(decorator.split("."))
        else:
            found.add(attribute or plain)
    return f" {' '.join(sorted(found - _KEYWORDS))} "
