"""An editor for the tests: pytest-lsp's client, with the folder of a project."""

from __future__ import annotations

import sys
from pathlib import Path

from lsprotocol import types
from pytest_lsp import LanguageClient

TORCHPORT = Path(sys.executable).parent / "torchport"
START = types.Position(0, 0)


class Editor:
    """One client with its server. Positions are the protocol's: zero-based lines, UTF-16 columns."""

    def __init__(self, client: LanguageClient, folder: Path):
        self.client, self.folder = client, folder

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str, language: str = "python") -> str:
        item = types.TextDocumentItem(self.uri(name), language, 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return item.uri

    def change(self, uri: str, version: int, text: str, where: types.Range | None = None) -> None:
        change = (
            types.TextDocumentContentChangePartial(range=where, text=text)
            if where
            else types.TextDocumentContentChangeWholeDocument(text)
        )
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version, uri), [change]
            )
        )

    async def hover(self, uri: str, line: int, character: int) -> str:
        answer = await self.client.text_document_hover_async(
            types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line, character))
        )
        return answer.contents.value if answer else ""

    async def diagnostics(self, uri: str) -> list[types.Diagnostic]:
        """The diagnostics of the document's present state."""
        # Jobs run in their order: when this is answered, the check before it has been published.
        await self.hover(uri, 0, 0)
        return list(self.client.diagnostics[uri])

    async def actions(
        self, uri: str, where: types.Range | None = None, only: list | None = None
    ) -> list[types.CodeAction]:
        whole = types.Range(START, types.Position(10**6, 0))
        answer = await self.client.text_document_code_action_async(
            types.CodeActionParams(
                types.TextDocumentIdentifier(uri),
                where or whole,
                types.CodeActionContext([], only=only),
            )
        )
        return list(answer or [])


def apply(text: str, edit: types.WorkspaceEdit, uri: str) -> str:
    """The text after a workspace edit, with columns in UTF-16 units."""
    if edit.document_changes:
        edits = [
            e
            for change in edit.document_changes
            if change.text_document.uri == uri
            for e in change.edits
        ]
    else:
        edits = list((edit.changes or {}).get(uri, []))
    lines = text.splitlines(keepends=True) or [""]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(place: types.Position) -> int:
        if place.line >= len(lines):
            return len(text)
        units = lines[place.line].encode("utf-16-le")[: place.character * 2]
        return starts[place.line] + len(units.decode("utf-16-le"))

    for change in sorted(edits, key=lambda e: offset(e.range.start), reverse=True):
        text = (
            text[: offset(change.range.start)] + change.new_text + text[offset(change.range.end) :]
        )
    return text
