"""A module's text while it is made: its globals, its class, and one function's lines with what is in scope."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from draws import Draws

BATCH, WIDTH = 3, 4  # "b" and "n" in shapes; a call may have another batch


@dataclass(frozen=True)
class Value:
    """A tensor that can be read as ``name``: its shape ("bn", "n", "b" or "" for 0-d) and dtype.

    ``fresh``: made by this function and held by nobody else. ``plain``: float values of the argument's dtype.
    """

    name: str
    shape: str = "bn"
    dtype: str = "float"
    fresh: bool = True


ATTRIBUTES = {
    "fc": "nn.Linear(4, 4)",
    "norm": "nn.LayerNorm(4)",
    "act": "nn.ReLU()",
    "drop": "nn.Dropout(0.5)",
    "weight": "nn.Parameter(torch.linspace(0.5, 1.5, 4))",
    "scale": "1.5",
    "name": '"net"',
    "verbose": "True",
    "quiet": "False",
    "count": "0",
    "last": "None",
    "kept": "torch.zeros(())",
    "log": 'logging.getLogger("net.log")',
    "layers": "nn.ModuleList([nn.Linear(4, 4), nn.Tanh()])",
    "history": "[]",
    "shared": "torch.ones(4)",
    "keep": "torch.tensor(3)",
}
BUFFERS = {
    "limit": "torch.tensor(0.5)",
    "running": "torch.zeros(4)",
    "steps": "torch.tensor(0)",
    "groups": "torch.tensor(2), persistent=False",
    "saved_keep": "torch.tensor(2)",
}


@dataclass
class Program:
    """One module: what all its functions share."""

    draws: Draws
    wanted: tuple[str, ...]
    """The transformations it is to have sites of: "where", "defer", "trap", "host"."""
    is_class: bool = True
    integers: bool = False
    """Whether the arguments hold integers: operations that exist for floating point only are left out then."""
    tags: set[str] = field(default_factory=set[str])
    placed: set[str] = field(default_factory=set[str])
    """The transformations that have a site."""
    imports: set[str] = field(default_factory=set[str])
    globals: dict[str, str] = field(default_factory=dict[str, str])
    top: list[list[str]] = field(default_factory=list[list[str]])
    """Functions and classes before the entry."""
    methods: list[list[str]] = field(default_factory=list[list[str]])
    attributes: dict[str, str] = field(default_factory=dict[str, str])
    """Name and value of what ``__init__`` sets."""
    parameters: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    """Name, annotation and default of the entry's parameters, and the kind of argument."""
    kinds: dict[str, str] = field(default_factory=dict[str, str])
    names: int = 0

    def tag(self, *tags: str) -> None:
        self.tags.update(tags)

    def number(self) -> int:
        self.names += 1
        return self.names

    def use_global(self, name: str, value: str) -> str:
        self.globals[name] = value
        return name

    def use_import(self, line: str) -> None:
        self.imports.add(line)


@dataclass
class Function:
    """The function whose body is written."""

    program: Program
    values: list[Value] = field(default_factory=list[Value])
    lines: list[str] = field(default_factory=list[str])
    depth: int = 1
    method: bool = False
    helper: bool = False
    inside: tuple[str, ...] = ()
    """What is around the current line: "loop", "try", "no_grad", "if", "closure"."""
    optionals: list[str] = field(default_factory=list[str])
    """Parameters of the entry that may be None, of shape "n"."""
    flags: list[str] = field(default_factory=list[str])
    """0-d bool tensors."""
    numbers: list[str] = field(default_factory=list[str])
    """Python numbers."""
    masks: list[str] = field(default_factory=list[str])
    """Bool tensors of shape "bn"."""
    lists: list[str] = field(default_factory=list[str])
    """Names of lists of tensors "bn"."""
    returned: list[str] = field(default_factory=list[str])
    """More expressions that the function is to return."""
    budget: int = 3
    deep: int = 0
    """How many helpers lie around it."""

    @property
    def draws(self) -> Draws:
        return self.program.draws

    def tag(self, *tags: str) -> None:
        self.program.tag(*tags)

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def name(self, base: str) -> str:
        return f"{base}{self.program.number()}"

    def attribute(self, name: str) -> str | None:
        """``self.name``, which ``__init__`` then sets; None where there is no ``self``."""
        if not self.method:
            return None
        self.program.attributes[name] = ATTRIBUTES.get(name) or BUFFERS[name]
        return f"self.{name}"

    @contextlib.contextmanager
    def block(self, header: str, inside: str = "if") -> Iterator[None]:
        """A block; what is bound in it is not known behind it."""
        self.line(header)
        kept = (self.values[:], self.flags[:], self.numbers[:], self.masks[:], self.lists[:], self.optionals[:])
        around = self.inside
        self.depth += 1
        self.inside = (*around, inside)
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.line("pass")
        self.depth -= 1
        self.inside = around
        names = {v.name: v for v in self.values}
        self.values = [self._met(v, names.get(v.name)) for v in kept[0]]
        self.flags, self.numbers, self.masks, self.lists, self.optionals = kept[1:]

    @staticmethod
    def _met(before: Value, after: Value | None) -> Value:
        return before if after is None else replace(before, fresh=before.fresh and after.fresh)

    # -- scope -------------------------------------------------------------------------------------------

    def of(self, shape: str = "bn", *, fresh: bool = False) -> list[Value]:
        found = [v for v in self.values if v.shape == shape and v.dtype == "float"]
        return [v for v in found if v.fresh] if fresh else found

    def any(self, shape: str = "bn") -> Value:
        """A float tensor of a shape; there is always one of shape "bn"."""
        return self.draws.pick(self.of(shape)[::-1])

    def bind(self, value: Value) -> None:
        self.values = [v for v in self.values if v.name != value.name] + [value]

    def give(self, name: str) -> None:
        """Return it as well, if it is bound on every path."""
        if set(self.inside) <= {"loop", "no-grad", "closure"}:
            self.returned.append(name)

    def held(self, name: str) -> None:
        """Somebody else holds the tensor from here on."""
        self.values = [replace(v, fresh=False) if v.name == name else v for v in self.values]
