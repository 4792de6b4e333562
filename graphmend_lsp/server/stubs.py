"""Code action and command: a function at the end of the file that makes inputs, for the user to fill in."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from graphmend_lsp.finding import Change, Refusal
from graphmend_lsp.profile.targets import Outline, Parameter, Target
from graphmend_lsp.server.documents import Document
from graphmend_lsp.server.edits import workspace_edit
from graphmend_lsp.server.places import Place, entry_at
from graphmend_lsp.server.translate import as_object
from graphmend_lsp.text import Edit, LineIndex, Span, line_ending

if TYPE_CHECKING:
    from graphmend_lsp.server.session import GraphMendServer

TITLE = "Insert an example_inputs() stub"
INSERT_INPUTS = "graphmend.insertInputs"

_SHAPE = "2, 8"
"""A guess, which the user is told is one."""
_PLAIN = {"int": "1", "float": "1.0", "bool": "False", "str": '""', "None": "None"}
_IDS = re.compile(r"(?:^|_)(?:ids?|tokens?|labels?|index|indices|positions?)$")


def at(server: GraphMendServer, document: Document, range_: types.Range, *, asked: bool) -> types.WorkspaceEdit | None:
    """The edit for the target whose header line a range touches, if there is reason to offer it.

    That is the client's explicit question (``asked``), or a profile that failed for want of inputs.  For the worker.
    """
    outlined = server.results.outlined(document)
    if outlined is None:
        return None
    lines = outlined.snapshot.positions.span(range_)
    for target in outlined.outline.targets:
        if lines.line <= target.span.line <= lines.end_line:
            failure = server.results.failure(outlined.snapshot.path, target.name)
            if asked or (failure is not None and failure.kind == "inputs"):
                return edit(server, document, target.name)
    return None


def edit(server: GraphMendServer, document: Document, entry: str) -> types.WorkspaceEdit | None:
    """The edit that adds the functions for an entry; None where the file has its own.  For the worker."""
    outlined = server.results.outlined(document)
    if outlined is None or outlined.outline.has_inputs:
        return None
    target = next((each for each in outlined.outline.targets if each.name == entry), None)
    if target is None:
        return None
    made = workspace_edit(insertion(outlined.outline, target), outlined.snapshot, server.client, server.documents)
    return None if isinstance(made, Refusal) else made


def insertion(outline: Outline, target: Target) -> Change:
    """The change of the text."""
    torch = outline.torch or "torch"
    functions = [_function("example_inputs", f"The arguments of one call of {target.name}.", target.call, torch)]
    if any(parameter.required for parameter in target.init) and "get_init_inputs" not in outline.inputs:
        owner = target.name.partition(".")[0]
        functions.append(_function("get_init_inputs", f"The arguments of {owner}(...).", target.init, torch))
    if not outline.torch:
        functions = [_with_import(lines) for lines in functions]
    end = line_ending(outline.text)
    index = LineIndex(outline.text)
    line, column = index.position(len(outline.text))
    before = "" if not outline.text or column == 0 else end
    text = before + "".join(end * 2 + "".join(row + end for row in lines) for lines in functions)
    return Change((Edit(Span(line, column, line, column), text),))


def _function(name: str, what: str, parameters: Sequence[Parameter], torch: str) -> list[str]:
    needed = [parameter for parameter in parameters if parameter.required]
    optional = [parameter.name for parameter in parameters if not parameter.required]
    lines = [f"def {name}():", f'    """{what}"""']
    if optional:
        lines.append(f"    # optional: {', '.join(optional)}")
    if not needed:
        return [*lines, "    return ()"]
    if any(parameter.keyword_only for parameter in needed):
        rows = [f'        "{p.name}": {_value(p, torch)},' for p in needed]
        return [*lines, "    return {  # the shapes are guesses", *rows, "    }"]
    rows = [f"        {_value(p, torch)},  # {p.name}{f': {p.annotation}' if p.annotation else ''}" for p in needed]
    return [*lines, "    return (  # the shapes are guesses", *rows, "    )"]


def _with_import(lines: list[str]) -> list[str]:
    if not any("torch." in line for line in lines[2:]):
        return lines
    return [*lines[:2], "    import torch", "", *lines[2:]]


def _value(parameter: Parameter, torch: str) -> str:
    """An expression that may do for a parameter: by its annotation, else a tensor."""
    kind = parameter.annotation.strip("'\"")
    if kind in _PLAIN:
        return _PLAIN[kind]
    ids = _IDS.search(parameter.name) is not None or kind.rpartition(".")[2] in ("LongTensor", "IntTensor")
    tensor = f"{torch}.randint(0, 8, ({_SHAPE}))" if ids else f"{torch}.randn({_SHAPE})"
    if re.match(r"(?:\w+\.)*(?:[Ll]ist|[Ss]equence)\[.*Tensor", kind):
        return f"[{tensor}]"
    if re.match(r"(?:\w+\.)*[Tt]uple\[.*Tensor", kind):
        return f"({tensor},)"
    if kind.startswith(("int ", "float ", "bool ", "str ")):  # int | None
        return _PLAIN[kind.split()[0]]
    if re.match(r"(?:\w+\.)*([Ll]ist|[Ss]equence)\[", kind):
        return "[]"
    if re.match(r"(?:\w+\.)*([Dd]ict|Mapping)\b", kind):
        return "{}"
    return tensor


def _why_not(server: GraphMendServer, document: Document, entry: str) -> str:
    """Why there is no edit for an entry.  Runs in the worker."""
    outlined = server.results.outlined(document)
    if outlined is None:
        return "the file is not one that can be profiled"
    if outlined.outline.has_inputs:
        return "the file already has a function that makes inputs"
    return f"there is no compiled function and no nn.Module {entry} in it"


def register(server: GraphMendServer) -> None:
    """Handle the command."""

    async def run(*arguments: Any) -> bool:
        """Whether the stub is in."""
        try:
            (data,) = arguments
            place = Place.read(as_object(data))
        except ValueError as error:
            raise JsonRpcInvalidParams(f"{INSERT_INPUTS}: {error}") from None
        document = server.documents.find(place.uri)
        if document is None:
            raise JsonRpcInvalidParams(f"{INSERT_INPUTS}: {place.uri} is not open")
        entry = await entry_at(server, place, "insert inputs")
        if entry is None:
            return False
        made = await server.analyses.call(functools.partial(edit, server, document, entry))
        if made is None:
            why = await server.analyses.call(functools.partial(_why_not, server, document, entry))
            server.show(f"GraphMend inserts no inputs: {why or 'an internal error'}.", types.MessageType.Warning)
            return False
        if not server.client.apply_edit:
            server.show(
                "GraphMend inserts no inputs: this editor takes no edits from a server.", types.MessageType.Error
            )
            return False
        params = types.ApplyWorkspaceEditParams(made, TITLE)
        result = await server.workspace_apply_edit_async(params)
        return bool(result.applied)

    server.command(INSERT_INPUTS)(run)
