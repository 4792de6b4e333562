"""Names for what mending adds: from the message, the condition or the site."""

from __future__ import annotations

import ast
import keyword
import re
from functools import lru_cache

from graphmend_lsp.model.module import BUILTINS

_STOP = frozenset("a an the is are was be been to of in on at for and or by with from as it its this that".split())
_WORD = re.compile(r"[A-Za-z_]\w*")
_MAX_WORDS = 4
_MAX_LENGTH = 40
_COMPARES: dict[type[ast.cmpop], str] = {
    ast.Gt: "above",
    ast.Lt: "below",
    ast.GtE: "at_least",
    ast.LtE: "at_most",
    ast.Eq: "equals",
    ast.NotEq: "differs_from",
}


@lru_cache(maxsize=8)
def identifiers(text: str) -> frozenset[str]:
    """Every word of a text that could be a name (attributes and keywords included)."""
    return frozenset(re.findall(r"[^\W\d]\w*", text))


@lru_cache(maxsize=16)
def used_as_name(text: str, name: str) -> bool:
    """Whether a word stands in a text other than as an attribute."""
    return any(
        at == 0 or not (text[at - 1] in "._" or text[at - 1].isalnum())  # behind the word: it is found faster so
        for at in (found.start() for found in re.finditer(rf"{re.escape(name)}(?!\w)", text))
    )


def unique(name: str, taken: frozenset[str] | set[str]) -> str:
    """``name``, or with a number behind it, so that it is in nobody's way."""
    if name not in taken and not keyword.iskeyword(name) and name not in BUILTINS:
        return name
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


def from_message(text: str) -> str:
    """``"image tokens ({}) and image features differ"`` -> ``image_tokens_image_features``."""
    words = [w.lower() for w in re.findall(r"[^\W\d_][^\W_]*", text)]
    return _joined([w for w in words if w not in _STOP])


def _joined(words: list[str]) -> str:
    chosen: list[str] = []
    for word in words:
        if len(chosen) == _MAX_WORDS or len("_".join([*chosen, word])) > _MAX_LENGTH:
            break
        if not chosen or chosen[-1] != word:
            chosen.append(word)
    return "_".join(chosen)


def constant_text(nodes: list[ast.expr]) -> str:
    """The constant words of string arguments (of f-strings their fixed parts)."""
    parts: list[str] = []
    todo: list[ast.AST] = list(nodes)
    while todo:
        item = todo.pop(0)
        if isinstance(item, ast.Constant) and isinstance(item.value, str):
            parts.append(item.value)
        elif not isinstance(item, ast.FormattedValue):
            todo[:0] = list(ast.iter_child_nodes(item))
    text = " ".join(parts)
    return re.sub(r"%[-#0 +]*\d*(?:\.\d+)?[sdrfgeixX]", " ", text)


def from_expression(node: ast.expr) -> str:
    """``w.sum() > 0`` -> ``w_sum_above_0``; ``torch.isnan(x).any()`` -> ``isnan_x_any``."""
    words = _words(node)
    return re.sub(r"\W", "_", _joined(words)) or "condition"


def _words(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id.strip("_") or node.id]
    if isinstance(node, ast.Attribute):
        base = (
            [] if isinstance(node.value, ast.Name) and node.value.id in ("self", "torch", "F") else _words(node.value)
        )
        return [*base, node.attr.strip("_")]
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and not _is_namespace(node.func.value):
            return _words(node.func)
        return [called_name(node), *(w for a in node.args[:1] for w in _words(a))]
    if isinstance(node, ast.Compare):
        op = _COMPARES.get(type(node.ops[0]), "test")
        return [*_words(node.left)[:2], op, *_words(node.comparators[0])[:1]]
    if isinstance(node, ast.BoolOp):
        link = "and" if isinstance(node.op, ast.And) else "or"
        return [*_words(node.values[0])[:2], link, *_words(node.values[1])[:1]]
    if isinstance(node, ast.UnaryOp):
        return (["not", *_words(node.operand)]) if isinstance(node.op, ast.Not) else _words(node.operand)
    if isinstance(node, ast.NamedExpr):
        return [node.target.id]
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return [re.sub(r"\W", "_", str(node.value)).strip("_")]
    if isinstance(node, ast.BinOp):
        return _words(node.left)
    if isinstance(node, ast.Subscript):
        return _words(node.value)
    return []


def called_name(node: ast.Call) -> str:
    """The last name of what is called: ``info`` of ``log.info(x)``; empty where there is none."""
    func = node.func
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


def _is_namespace(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("torch", "th", "F", "np", "math")


def valid(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)
