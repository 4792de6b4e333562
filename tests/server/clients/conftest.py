"""pytest-lsp's client as four editors; what the server may not ask of one of them is noted, and fails the tests."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import converters, types
from pygls.capabilities import get_capability
from pygls.protocol import default_converter
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, register_lsp_features

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[2]
CACHE = tempfile.TemporaryDirectory(prefix="graphmend-test-")
COMMAND = [sys.executable, "-m", "graphmend_lsp", "server", "--stdio"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(REPOSITORY), "GRAPHMEND_CACHE_DIR": CACHE.name}
EDITORS = ["vscode", "neovim", "emacs", "minimal"]
SECONDS = 30.0

NEEDED = {
    types.WORKSPACE_CONFIGURATION: "workspace.configuration",
    types.WORKSPACE_DIAGNOSTIC_REFRESH: "workspace.diagnostics.refresh_support",
    types.WORKSPACE_CODE_LENS_REFRESH: "workspace.code_lens.refresh_support",
    types.WORKSPACE_INLAY_HINT_REFRESH: "workspace.inlay_hint.refresh_support",
    types.WORKSPACE_APPLY_EDIT: "workspace.apply_edit",
    types.WINDOW_SHOW_MESSAGE_REQUEST: "window.show_message",
    types.WINDOW_SHOW_DOCUMENT: "window.show_document.support",
    types.WINDOW_WORK_DONE_PROGRESS_CREATE: "window.work_done_progress",
}
"""What a client must declare for the server to ask it; what is registered needs its own."""
REGISTERED = {
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: "workspace.did_change_configuration.dynamic_registration",
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: "workspace.did_change_watched_files.dynamic_registration",
}


def capabilities_of(name: str) -> types.ClientCapabilities:
    if name == "vscode":
        data = json.loads((HERE / "vscode.json").read_text(encoding="utf-8"))
        return converters.get_converter().structure(data["capabilities"], types.ClientCapabilities)
    if name == "minimal":
        return types.ClientCapabilities()
    return client_capabilities("neovim@0.11" if name == "neovim" else name)


class Editor(LanguageClient):
    """One editor: what it was told and asked, and how its user works."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.name = ""
        self.folder = Path()
        self.options: dict[str, Any] = {}
        self.started: types.ServerCapabilities = types.ServerCapabilities()
        self.sent: dict[str, list[types.PublishDiagnosticsParams]] = {}
        self.asked: list[tuple[str, Any]] = []
        self.registered: dict[str, Any] = {}
        """The options of what the server has registered, by method."""
        self.refreshed: Counter[str] = Counter()
        self.chosen = ""
        """What the user chooses of the actions of a message."""
        self.forbidden: list[str] = []

    def note(self, method: str, params: Any) -> None:
        self.asked.append((method, params))
        needed = [NEEDED[method]] if method in NEEDED else []
        if method == types.CLIENT_REGISTER_CAPABILITY:
            needed = [REGISTERED[each.method] for each in params.registrations]
            self.registered.update((each.method, each.register_options) for each in params.registrations)
        self.forbidden += [f"{method}: {each}" for each in needed if not self.has(each)]
        if method.endswith("/refresh"):
            self.refreshed[method] += 1

    def has(self, capability: str) -> bool:
        return bool(get_capability(self.capabilities, capability))

    @property
    def pulls(self) -> bool:
        return self.started.diagnostic_provider is not None

    # -- documents -------------------------------------------------------------------------------

    def model(self, text: str, name: str = "model.py") -> str:
        """A file in a folder of its own, in the workspace."""
        folder = self.folder / uuid.uuid4().hex
        folder.mkdir()
        (folder / "pyproject.toml").write_text("")
        (folder / name).write_text(text, encoding="utf-8")
        return (folder / name).as_uri()

    async def opened(self, uri: str, text: str) -> list[types.Diagnostic]:
        """Open a document; its diagnostics."""
        item = types.TextDocumentItem(uri, "python", 1, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return await self.shown(uri)

    async def shown(self, uri: str) -> list[types.Diagnostic]:
        """The diagnostics as they are asked for, or the next that are sent."""
        if not self.pulls:
            await self.until(lambda: self.sent.get(uri))
            return list(self.sent[uri].pop(0).diagnostics)
        document = types.TextDocumentIdentifier(uri)
        report = await self.text_document_diagnostic_async(types.DocumentDiagnosticParams(document))
        assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
        return list(report.items)

    async def again(self, uri: str, cause: Callable[[], None]) -> list[types.Diagnostic]:
        """The diagnostics after something else than the document has changed; who pulls is told to."""
        self.sent.pop(uri, None)
        before = self.refreshed[types.WORKSPACE_DIAGNOSTIC_REFRESH]
        cause()
        if self.pulls:
            await self.until(lambda: self.refreshed[types.WORKSPACE_DIAGNOSTIC_REFRESH] > before)
        return await self.shown(uri)

    async def actions(self, uri: str, range_: types.Range, *only: str) -> list[types.CodeAction | types.Command]:
        context = types.CodeActionContext([], only=list(only) or None)
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), range_, context)
        return list(await self.text_document_code_action_async(params) or [])

    async def edit_of(self, action: types.CodeAction) -> types.WorkspaceEdit | None:
        """The edit of an action, asked for where this editor does."""
        lazy = "edit" in (
            get_capability(self.capabilities, "text_document.code_action.resolve_support.properties") or ()
        )
        assert (action.edit is None) == lazy, action.title
        return (await self.code_action_resolve_async(action)).edit if lazy else action.edit

    async def run(self, command: str, *arguments: Any) -> Any:
        params = types.ExecuteCommandParams(command, arguments=list(arguments))
        return await self.workspace_execute_command_async(params)

    async def until(self, reached: Callable[[], Any]) -> Any:
        """Wait for what a function says, and return it."""
        for _ in range(int(SECONDS / 0.02)):
            if found := reached():
                return found
            await asyncio.sleep(0.02)
        raise AssertionError(f"not reached in {SECONDS} s; asked so far: {[method for method, _ in self.asked]}")

    # -- settings --------------------------------------------------------------------------------

    def configure(self, **options: Any) -> None:
        """The user's settings are these now: asked for, or sent."""
        self.options = options
        params = types.DidChangeConfigurationParams({"graphmend": options})
        self.workspace_did_change_configuration(params)


def _converter() -> Any:
    """lsprotocol takes an action that has a command for a command."""
    converter = default_converter()

    def action(data: Any, _: Any) -> Any:
        return converter.structure(data, types.Command if isinstance(data.get("command"), str) else types.CodeAction)

    converter.register_structure_hook(types.Command | types.CodeAction, action)
    return converter


def make() -> Editor:
    client = Editor(converter_factory=_converter)

    def answers(method: str, answer: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def handle(params: Any) -> Any:
            client.note(method, params)
            return answer(params)

        return handle

    def choose(params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
        return next((each for each in params.actions or () if each.title == client.chosen), None)

    def published(params: types.PublishDiagnosticsParams) -> None:
        client.sent.setdefault(params.uri, []).append(params)

    pairs: dict[str, Callable[[Any], Any]] = {
        types.WORKSPACE_CONFIGURATION: lambda params: [client.options for _ in params.items],
        types.CLIENT_REGISTER_CAPABILITY: lambda _: None,
        types.CLIENT_UNREGISTER_CAPABILITY: lambda _: None,
        types.WORKSPACE_DIAGNOSTIC_REFRESH: lambda _: None,
        types.WORKSPACE_CODE_LENS_REFRESH: lambda _: None,
        types.WORKSPACE_INLAY_HINT_REFRESH: lambda _: None,
        types.WORKSPACE_APPLY_EDIT: lambda _: types.ApplyWorkspaceEditResult(applied=True),
        types.WINDOW_SHOW_MESSAGE_REQUEST: choose,
        types.WINDOW_SHOW_DOCUMENT: lambda _: types.ShowDocumentResult(success=True),
    }
    features = {**DEFAULT_CLIENT_FEATURES, **{method: answers(method, answer) for method, answer in pairs.items()}}
    features[types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS] = published
    create = DEFAULT_CLIENT_FEATURES[types.WINDOW_WORK_DONE_PROGRESS_CREATE]
    features[types.WINDOW_WORK_DONE_PROGRESS_CREATE] = answers(
        types.WINDOW_WORK_DONE_PROGRESS_CREATE, lambda params: create(client, params)
    )
    register_lsp_features(client, features)
    return client


CONFIG = ClientServerConfig(COMMAND, make, ENVIRONMENT)


@pytest_lsp.fixture(config=CONFIG, params=EDITORS, scope="session")
async def client(request: pytest.FixtureRequest, lsp_client: LanguageClient, tmp_path_factory: pytest.TempPathFactory):
    """One session for all tests: each has files of its own, and puts back the settings that it changes."""
    assert isinstance(lsp_client, Editor)
    lsp_client.name = request.param
    lsp_client.folder = tmp_path_factory.mktemp(request.param)
    folder = types.WorkspaceFolder(lsp_client.folder.as_uri(), "folder")
    params = types.InitializeParams(
        capabilities=capabilities_of(request.param), root_uri=folder.uri, workspace_folders=[folder]
    )
    result = await lsp_client.initialize_session(params)
    lsp_client.started = result.capabilities
    yield
    await lsp_client.shutdown_session()
    assert lsp_client.forbidden == []


@pytest.fixture
def profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this process stores is what the servers find."""
    monkeypatch.setenv("GRAPHMEND_CACHE_DIR", CACHE.name)
