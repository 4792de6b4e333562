"""What the client can do, read once from its capabilities."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from lsprotocol import types
from pygls.capabilities import get_capability

from graphmend_lsp.text import Encoding

_ENCODINGS: dict[str, Encoding] = {"utf-8": "utf-8", "utf-16": "utf-16", "utf-32": "utf-32"}


@dataclass(frozen=True)
class Client:
    """Capabilities of the connected client; the defaults are those of a client that declares nothing."""

    encoding: Encoding = "utf-16"
    related_information: bool = False
    code_description: bool = False
    diagnostic_data: bool = False
    diagnostic_version: bool = False
    action_literals: bool = False
    action_preferred: bool = False
    action_disabled: bool = False
    lazy_edits: bool = False
    document_changes: bool = False
    create_files: bool = False
    change_annotations: bool = False
    hover_markdown: bool = False
    progress: bool = False
    code_lens: bool = False
    lens_refresh: bool = False
    inlay_hint: bool = False
    hint_refresh: bool = False
    message_actions: bool = False
    show_document: bool = False
    apply_edit: bool = False

    @classmethod
    def of(cls, capabilities: types.ClientCapabilities, encoding: str) -> Client:
        """The capabilities of a client; ``encoding`` is the negotiated position encoding."""

        def has(path: str) -> bool:
            return bool(_get(capabilities, path))

        def names(path: str) -> set[str]:
            values = cast("Iterable[object]", _get(capabilities, path) or ())
            return {str(getattr(value, "value", value)) for value in values}

        diagnostics, action = "text_document.publish_diagnostics", "text_document.code_action"
        edit = "workspace.workspace_edit"
        operations = names(f"{edit}.resource_operations")
        # they stand in document changes only, so who takes them takes those; Neovim names only the former
        document_changes = has(f"{edit}.document_changes") or bool(operations)
        return cls(
            encoding=_ENCODINGS.get(str(getattr(encoding, "value", encoding)), "utf-16"),
            related_information=has(f"{diagnostics}.related_information"),
            code_description=has(f"{diagnostics}.code_description_support"),
            diagnostic_data=has(f"{diagnostics}.data_support"),
            diagnostic_version=has(f"{diagnostics}.version_support"),
            action_literals=has(f"{action}.code_action_literal_support"),
            action_preferred=has(f"{action}.is_preferred_support"),
            action_disabled=has(f"{action}.disabled_support"),
            lazy_edits=has(f"{action}.data_support") and "edit" in names(f"{action}.resolve_support.properties"),
            document_changes=document_changes,
            create_files="create" in operations,
            change_annotations=document_changes and has(f"{edit}.change_annotation_support"),
            progress=has("window.work_done_progress"),
            code_lens=_get(capabilities, "text_document.code_lens") is not None,
            lens_refresh=has("workspace.code_lens.refresh_support"),
            inlay_hint=_get(capabilities, "text_document.inlay_hint") is not None,
            hint_refresh=has("workspace.inlay_hint.refresh_support"),
            message_actions=_get(capabilities, "window.show_message") is not None,
            show_document=has("window.show_document.support"),
            apply_edit=has("workspace.apply_edit"),
            hover_markdown="markdown" in names("text_document.hover.content_format"),
        )


def _get(capabilities: types.ClientCapabilities, path: str) -> Any:
    return get_capability(capabilities, path)  # pyright: ignore[reportUnknownMemberType]
