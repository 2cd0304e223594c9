"""The documents that are open in the editor, with positions in UTF-16 units and incremental edits, and a view of the
disk in which these documents replace their files."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from planner.foundation.support.digests import sha256_of
from planner.foundation.support.disk import Entry, TreeEntry, read_whole, view
from planner.foundation.vocabulary.span import Span

Json = dict[str, Any]
"""an LSP object as JSON"""
_LINE_END = re.compile(r"\r\n?|\n")


class TextDocument:
    """A text with LSP positions. Lines and columns are counted from 0, and columns in UTF-16 units. Lines end with LF,
    CRLF or CR."""

    def __init__(self, text: str, version: int = 0) -> None:
        self.text, self.version = text, version

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in _LINE_END.finditer(self.text))]

    @cached_property
    def _is_ascii(self) -> bool:
        return self.text.isascii()

    def position(self, offset: int) -> Json:
        """The LSP position of an offset in code points."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self._starts, offset) - 1
        start = self._starts[line]
        column = offset - start
        if not self._is_ascii:
            column = len(self.text[start:offset].encode("utf-16-le", "surrogatepass")) // 2
        return {"line": line, "character": column}

    def offset(self, line: int, character: int) -> int:
        """The offset, in code points, of an LSP position. A column after the end of the line means the end of the line,
        a line after the last one means the end of the text, and a position within a surrogate pair means the beginning
        of the pair."""
        if line >= len(self._starts):
            return len(self.text)
        start = self._starts[line]
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        content = self.text[start:end].rstrip("\r\n")
        if self._is_ascii:
            return start + min(character, len(content))
        units = content.encode("utf-16-le", "surrogatepass")[: 2 * character]
        return start + len(units.decode("utf-16-le", "ignore"))

    def at(self, position: Any) -> int:
        return self.offset(position.line, position.character)

    def range(self, start: int, end: int) -> Json:
        return {"start": self.position(start), "end": self.position(end)}

    def edited(self, changes: Iterable[Any], version: int) -> TextDocument:
        """The document after changes as the protocol describes them: each replaces a range or the whole text. They are
        applied one after the other. `version`: the new version."""
        result = self
        for change in changes:
            span = getattr(change, "range", None)
            if span is None:
                result = TextDocument(change.text, version)
            else:
                start, end = sorted((result.at(span.start), result.at(span.end)))
                result = TextDocument(result.text[:start] + change.text + result.text[end:], version)
        return result


@lru_cache(64)
def document_of(text: str) -> TextDocument:
    """The document of a text that is not open in the editor."""
    return TextDocument(text)


def path_of(uri: str) -> str:
    """The absolute path of the document with this URI. For a document that is not a local file, the path is in a
    directory that does not exist."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        parts = urlsplit("")
    path = unquote(parts.path)
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and path.startswith("/") and "\0" not in path:
        return os.path.normpath(path)
    own = sha256_of(uri.encode("utf-8", "surrogatepass"))
    return f"/{own}/{path.replace(chr(0), '/').replace(':', '/').rpartition('/')[2]}"


def uri_of(path: str) -> str:
    return f"file://{quote(path)}"


def span_range(span: Span) -> Json:
    return document_of(span.source.text).range(span.start, span.end)


class OpenTexts:
    """The open documents by path, and the URIs by which the editor knows them. `revision` increases whenever a document
    is opened, changed or closed."""

    def __init__(self) -> None:
        self.documents: dict[str, TextDocument] = {}
        self.uris: dict[str, str] = {}
        self.revision = 0
        self.touched: dict[str, int] = {}
        """{directory: `revision` after the last change of a document in it}"""
        self.can_create = False
        """whether the editor supports edits that create files"""

    def put(self, uri: str, document: TextDocument) -> str:
        """Open or replace a document, and return its path."""
        path = path_of(uri)
        self.documents[path], self.uris[path] = document, uri
        self._touch(path)
        return path

    def drop(self, uri: str) -> str:
        """Close a document, and return its path."""
        path = path_of(uri)
        self.documents.pop(path, None)
        self.uris.pop(path, None)
        self._touch(path)
        return path

    def _touch(self, path: str) -> None:
        self.revision += 1
        self.touched[os.path.dirname(path)] = self.revision

    @property
    def texts(self) -> dict[str, str]:
        return {path: document.text for path, document in self.documents.items()}

    def uri(self, path: str) -> str:
        """The URI of a file. If the file is open, this is the URI that the editor uses, even if it is written
        differently."""
        return self.uris.get(path) or uri_of(path)

    def read(self, path: str) -> bytes:
        """The content of a file, from the editor if it is open. Raises OSError."""
        document = self.documents.get(path)
        if document is not None:
            return document.text.encode("utf-8", "surrogatepass")
        with view(None):
            return read_whole(path)

    def document(self, path: str) -> TextDocument:
        """The document of a file, from the editor if it is open. Raises OSError, and ValueError if the file is not
        encoded in UTF-8."""
        return self.documents.get(path) or document_of(self.read(path).decode("utf-8"))


class Overlay:
    """The disk with the contents of open documents in place of their files. Passed to `disk.view`, so that all code
    reads open documents as the editor shows them."""

    root = "/"

    def __init__(self, opened: OpenTexts) -> None:
        self._opened = opened
        self._folders: dict[str, dict[str, bool]] = {}
        """{directory: {name of an open file: False, name of a directory that exists only for open files: True}}"""
        for path in list(opened.documents):
            above, name = os.path.split(path)
            self._folders.setdefault(above, {})[name] = False
            while not os.path.isdir(above) and (parts := os.path.split(above))[1]:
                self._folders.setdefault(parts[0], {})[parts[1]] = True
                above = parts[0]

    def read(self, name: str) -> bytes:
        """The content of a file, from the editor if it is open. Raises OSError."""
        return self._opened.read(os.path.normpath(f"/{name}"))

    def entries(self, directory: str) -> Iterable[Entry]:
        """The entries of a directory, including open files that do not exist on disk yet. Raises OSError."""
        path = os.path.normpath(f"/{directory}")
        more = self._folders.get(path, {})
        try:
            with os.scandir(path) as entries:
                known: list[Entry] = list(entries)
        except FileNotFoundError:
            if not more:
                raise
            known = []
        names = {entry.name for entry in known}
        return [*known, *(TreeEntry(name, is_folder) for name, is_folder in more.items() if name not in names)]


# Results as LSP JSON.


def location(uri: str, document: TextDocument, start: int, end: int) -> Json:
    return {"uri": uri, "range": document.range(start, end)}


def workspace_edit(opened: OpenTexts, edits: Mapping[str, Iterable[tuple[int, int, str]]]) -> Json:
    """The edits as a WorkspaceEdit of the protocol, which also creates missing files if the editor supports this.
    `edits`: {path: [(start, end, new text)]}, with offsets in code points. Raises OSError, and ValueError if a file is
    not encoded in UTF-8."""
    changes: dict[str, list[Json]] = {}
    created: list[str] = []
    for path in sorted(edits):
        is_there = path in opened.documents or os.path.exists(path)
        document = opened.document(path) if is_there else TextDocument("")
        changes[opened.uri(path)] = list(_text_edits(document, edits[path]))
        created += [] if is_there else [opened.uri(path)]
    if not created or not opened.can_create:
        return {"changes": changes}
    files: list[Json] = [{"kind": "create", "uri": uri} for uri in created]
    more = ({"textDocument": {"uri": uri, "version": None}, "edits": one} for uri, one in changes.items())
    return {"documentChanges": [*files, *more]}


def _text_edits(document: TextDocument, edits: Iterable[tuple[int, int, str]]) -> Iterator[Json]:
    newline = "\r\n" if "\r\n" in document.text else "\n"
    for start, end, text in sorted(set(edits)):
        new = text.replace("\r\n", "\n").replace("\n", newline)
        yield {"range": document.range(start, end), "newText": new}
