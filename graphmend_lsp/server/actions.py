"""Code actions: offers, refusals, suppressions, and mending a function or a file at once."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcInvalidParams

from graphmend_lsp.finding import Finding, Refusal
from graphmend_lsp.server import stubs
from graphmend_lsp.server.documents import Checked
from graphmend_lsp.server.edits import workspace_edit
from graphmend_lsp.server.plans import Plan, for_all, is_safe
from graphmend_lsp.server.session import GraphMendServer
from graphmend_lsp.server.snapshots import NotebookSnapshot
from graphmend_lsp.server.translate import SOURCE, FindingKey, Positions, severity
from graphmend_lsp.text import Span

EXPLAIN = "graphmend.explain"
VERIFY = "graphmend.verify"

QUICK_FIX = str(types.CodeActionKind.QuickFix.value)
REWRITE = "refactor.rewrite.graphmend"
FIX_ALL = "source.fixAll.graphmend"
NOTEBOOK_FIX_ALL = "notebook.source.fixAll.graphmend"

_UNUSED_SUPPRESSION = "GM001"
"""Reported on a comment, which another comment cannot silence."""

_WHOLE_FILE = Span(1, 0, 1, 0)


def asked_for(kind: str, only: Sequence[str] | None) -> bool:
    """Whether a client that asks for ``only`` wants ``kind``: the same kind or one above it."""
    return only is None or any(not each or kind == each or kind.startswith(each + ".") for each in only)


class Lister:
    """The actions for one range of one checked document."""

    def __init__(
        self, server: GraphMendServer, checked: Checked, params: types.CodeActionParams, positions: Positions
    ) -> None:
        self._server = server
        self._checked = checked
        self._context = params.context
        self._positions = positions
        self._range = positions.span(params.range)
        self._notebook = checked.snapshot if isinstance(checked.snapshot, NotebookSnapshot) else None
        self._uri = params.text_document.uri
        only = params.context.only
        self._only = None if only is None else [str(getattr(kind, "value", kind)) for kind in only]

    def actions(self) -> Iterator[tuple[types.CodeAction, Plan | None]]:
        """The actions with their plans; those without one are complete."""
        here = [f for f in self._checked.analysis.findings if _touch(f.span, self._range)]
        if self.wants(QUICK_FIX):
            for finding in here:
                yield from self._quick_fixes(finding)
        if self.wants(REWRITE):
            yield from self._rewrites(here)
        if any(for_all(f, o) for f in self._checked.analysis.findings for o in f.offers):
            snapshot = self._checked.snapshot
            key = FindingKey(snapshot.uri, snapshot.version, "", "", _WHOLE_FILE)
            for kind in filter(self._fixes_all, (FIX_ALL, NOTEBOOK_FIX_ALL)):
                where = "" if self._notebook is None else " in this notebook"
                title = f"GraphMend: Fix all safely fixable breaks{where}"
                yield types.CodeAction(title, kind), Plan("mend-file", key)
        yield from self._disabled(here)

    def _fixes_all(self, kind: str) -> bool:
        """Whether to offer to fix all by this kind.

        A cell's answer mends the whole notebook.  On saving, a client asks each cell for the kind of files, all at
        once: only the first cell answers, lest the edits be made several times.
        """
        if not self.wants(kind):
            return False
        if self._notebook is None:
            return kind == FIX_ALL
        if kind == NOTEBOOK_FIX_ALL:
            return self._only is not None  # in a menu the other one is enough
        automatic = self._context.trigger_kind == types.CodeActionTriggerKind.Automatic
        first = self._notebook.positions_of(self._uri) == self._notebook.positions_of(self._notebook.cells[0].uri)
        return first or not (automatic and self._only is not None)

    def _quick_fixes(self, finding: Finding) -> Iterator[tuple[types.CodeAction, Plan | None]]:
        key, diagnostics = self._key(finding), self._diagnostics(finding)
        preferred = next((offer for offer in finding.offers if offer.safety == "safe"), None)
        for offer in finding.offers:
            risk = "" if offer.safety == "safe" else offer.changes or "not proved to keep behaviour"
            title = _title(finding, f"{offer.title} (changes behaviour: {risk})" if risk else offer.title)
            action = types.CodeAction(title, QUICK_FIX, diagnostics)
            if self._server.client.action_preferred and offer is preferred:
                action.is_preferred = True
            yield action, Plan("offer", key, offer.kind, risk)
        if finding.offers and self._notebook is None:  # whose code is not run
            offer = preferred or finding.offers[0]
            which = "this" if len(finding.offers) == 1 else "the safe" if preferred else "the first"
            title = _title(finding, f"Verify {which} fix")
            data = Plan("offer", key, offer.kind).to_data()
            command = types.Command(title=title, command=VERIFY, arguments=[data])
            yield types.CodeAction(title, QUICK_FIX, diagnostics, command=command), None
        if finding.refusals and not finding.offers:
            title = _title(finding, "Why no fix?")
            command = types.Command(title=title, command=EXPLAIN, arguments=[key.to_data()])
            yield types.CodeAction(title, QUICK_FIX, diagnostics, command=command), None
        if finding.code != _UNUSED_SUPPRESSION:
            yield (
                types.CodeAction(_title(finding, "Ignore on this line"), QUICK_FIX, diagnostics),
                Plan("suppress", key),
            )

    def _rewrites(self, here: Iterable[Finding]) -> Iterator[tuple[types.CodeAction, Plan | None]]:
        """One action a function: all its safe offers; a single one is a quick fix already unless asked for."""
        least = 2 if self._only is None else 1
        for function, finding in {f.function: f for f in here}.items():
            same = [f for f in self._checked.analysis.findings if f.function == function]
            if sum(any(is_safe(f, offer) for offer in f.offers) for f in same) >= least:
                title = f"GraphMend: Mend all safely fixable breaks in {function}"
                yield types.CodeAction(title, REWRITE), Plan("mend-function", self._key(finding))

    def _disabled(self, here: Iterable[Finding]) -> Iterator[tuple[types.CodeAction, Plan | None]]:
        """What is not offered, greyed out with the reason, for a client that asked for the kind."""
        if self._only is None or not self._server.client.action_disabled:
            return
        kind = next((each for each in (QUICK_FIX, REWRITE) if self.wants(each)), None)
        for finding in here if kind else ():
            for refusal in finding.refusals:
                title = _title(finding, refusal.kind.replace("-", " ").replace("_", " ").capitalize())
                reason = types.CodeActionDisabled(f"{refusal.message} ({refusal.reason})")
                yield types.CodeAction(title, kind, self._diagnostics(finding), disabled=reason), None

    def wants(self, kind: str) -> bool:
        """Whether the client asks for a kind."""
        return asked_for(kind, self._only)

    def _key(self, finding: Finding) -> FindingKey:
        return FindingKey.of(finding, self._checked.snapshot.uri, self._checked.snapshot.version)

    def _diagnostics(self, finding: Finding) -> list[types.Diagnostic]:
        """The client's own diagnostics for the finding, else one that says the same."""
        range_ = self._positions.range(finding.span)
        sent = [d for d in self._context.diagnostics if (d.source, d.code, d.range) == (SOURCE, finding.code, range_)]
        level = severity(finding.severity)
        return sent or [types.Diagnostic(range_, finding.message, level, finding.code, source=SOURCE)]


def _title(finding: Finding, what: str) -> str:
    return f"{SOURCE} ({finding.code}): {what}"


def _touch(one: Span, other: Span) -> bool:
    return (one.line, one.column) <= (other.end_line, other.end_column) and (
        (other.line, other.column) <= (one.end_line, one.end_column)
    )


def _edit_for(server: GraphMendServer, checked: Checked, plan: Plan) -> types.WorkspaceEdit | Refusal:
    """Runs in the worker."""
    change = plan.change(checked)
    if isinstance(change, Refusal):
        return change
    return workspace_edit(change, checked.snapshot, server.client, server.documents, plan.risk)


def _complete(
    server: GraphMendServer, checked: Checked, listed: Sequence[tuple[types.CodeAction, Plan | None]]
) -> list[types.CodeAction]:
    """The actions with their edits, for a client that does not ask for them later.  Runs in the worker."""
    complete: list[types.CodeAction] = []
    for action, plan in listed:
        if plan is not None:
            edit = _edit_for(server, checked, plan)
            if isinstance(edit, Refusal):
                continue
            action.edit = edit
        complete.append(action)
    return complete


def register(server: GraphMendServer) -> None:
    """Handle ``textDocument/codeAction`` and ``codeAction/resolve``."""

    async def code_action(params: types.CodeActionParams) -> list[types.Command | types.CodeAction] | None:
        document = server.documents.containing(params.text_document.uri)
        checked = await server.analyses.of(document) if document is not None and document.is_python else None
        positions = checked.snapshot.positions_of(params.text_document.uri) if checked is not None else None
        if checked is None or positions is None:
            return None
        lister = Lister(server, checked, params, positions)
        listed = list(lister.actions())
        if document is not None and lister.wants(REWRITE):
            asked = params.context.only is not None
            job = functools.partial(stubs.at, server, document, params.range, asked=asked)
            edit = await server.analyses.call(job)
            if edit is not None:
                listed.append((types.CodeAction(stubs.TITLE, REWRITE, edit=edit), None))
        if not server.client.action_literals:  # a client of before LSP 3.8 takes commands only
            return [action.command for action, _ in listed if action.command is not None]
        if server.client.lazy_edits:
            for action, plan in listed:
                action.data = None if plan is None else plan.to_data()
            return [action for action, _ in listed]
        complete = functools.partial(_complete, server, checked, listed)
        return [*(await server.analyses.call(complete) or ())]

    async def resolve(action: types.CodeAction) -> types.CodeAction:
        if action.data is None:
            return action
        try:
            plan = Plan.from_data(action.data)
        except ValueError as error:
            raise JsonRpcInvalidParams(f"code action data: {error}") from None
        document = server.documents.find(plan.key.uri)
        checked = await server.analyses.of(document) if document is not None else None
        if checked is None:
            raise JsonRpcContentModified("the document has changed")
        edit = await server.analyses.call(functools.partial(_edit_for, server, checked, plan))
        if isinstance(edit, Refusal):
            server.show(f"{action.title}: not applied, {edit.message}", types.MessageType.Warning)
        else:
            action.edit = edit
        return action

    kinds = [types.CodeActionKind.QuickFix, REWRITE, FIX_ALL, NOTEBOOK_FIX_ALL]
    options = types.CodeActionOptions(code_action_kinds=kinds, resolve_provider=True)
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)(code_action)
    server.feature(types.CODE_ACTION_RESOLVE)(resolve)
