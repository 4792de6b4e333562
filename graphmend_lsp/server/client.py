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
    lazy_lenses: bool = False
    """Their commands are asked for when they are shown."""
    lazy_tooltips: bool = False
    """Of inlay hints: asked for when they are shown."""
    inlay_hint: bool = False
    hint_refresh: bool = False
    message_actions: bool = False
    show_document: bool = False
    apply_edit: bool = False
    pulls: bool = False
    """Whether it asks for diagnostics and can be told to ask again; else they are sent to it."""
    configuration: bool = False
    configuration_events: bool = False
    watched_files: bool = False
    relative_patterns: bool = False

    @classmethod
    def of(cls, capabilities: types.ClientCapabilities, encoding: str) -> Client:
        """The capabilities of a client; ``encoding`` is the negotiated position encoding."""

        def has(path: str) -> bool:
            return bool(_get(capabilities, path))

        def names(path: str) -> set[str]:
            values = cast("Iterable[object]", _get(capabilities, path) or ())
            return {str(getattr(value, "value", value)) for value in values}

        def diagnostics(name: str) -> bool:
            """What a client can take in a diagnostic stands with either way to get it."""
            return any(has(f"text_document.{way}.{name}") for way in ("publish_diagnostics", "diagnostic"))

        action, watching = "text_document.code_action", "workspace.did_change_watched_files"
        edit = "workspace.workspace_edit"
        operations = names(f"{edit}.resource_operations")
        # they stand in document changes only, so who takes them takes those; Neovim names only the former
        document_changes = has(f"{edit}.document_changes") or bool(operations)
        return cls(
            encoding=_ENCODINGS.get(str(getattr(encoding, "value", encoding)), "utf-16"),
            related_information=diagnostics("related_information"),
            code_description=diagnostics("code_description_support"),
            diagnostic_data=diagnostics("data_support"),
            diagnostic_version=has("text_document.publish_diagnostics.version_support"),
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
            lazy_lenses="command" in names("text_document.code_lens.resolve_support.properties"),
            lazy_tooltips="tooltip" in names("text_document.inlay_hint.resolve_support.properties"),
            inlay_hint=_get(capabilities, "text_document.inlay_hint") is not None,
            hint_refresh=has("workspace.inlay_hint.refresh_support"),
            message_actions=_get(capabilities, "window.show_message") is not None,
            show_document=has("window.show_document.support"),
            apply_edit=has("workspace.apply_edit"),
            pulls=_get(capabilities, "text_document.diagnostic") is not None
            and has("workspace.diagnostics.refresh_support"),
            configuration=has("workspace.configuration"),
            configuration_events=has("workspace.did_change_configuration.dynamic_registration"),
            watched_files=has(f"{watching}.dynamic_registration"),
            relative_patterns=has(f"{watching}.relative_pattern_support"),
            hover_markdown="markdown" in names("text_document.hover.content_format"),
        )


def _get(capabilities: types.ClientCapabilities, path: str) -> Any:
    return get_capability(capabilities, path)  # pyright: ignore[reportUnknownMemberType]
