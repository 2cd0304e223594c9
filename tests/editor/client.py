"""A small client of the language server: one process, over pipes, as an editor talks to it."""

from __future__ import annotations

import json
import re
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

PATIENCE = 30.0
"""seconds to wait for an answer"""


class LspError(Exception):
    """An error answer: its code and message."""


class Editor:
    """A running server with open folders. Positions are found by a text with `|` at the cursor."""

    def __init__(
        self,
        folder: Path,
        command: tuple[str, ...] = ("lsp",),
        more: dict[str, Any] | None = None,
        program: Sequence[str] = (sys.executable, "-m", "planner"),
    ) -> None:
        self.process = subprocess.Popen(
            [*program, *command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self._selector = selectors.DefaultSelector()
        assert self.process.stdout is not None
        self._selector.register(self.process.stdout, selectors.EVENT_READ)
        self._data = b""
        self._number = 0
        self.requested = ""
        """the method of the last request"""
        self.diagnostics: dict[str, list[Any]] = {}
        self.versions: dict[str, int] = {}
        self.received: list[Any] = []
        self.errors: list[Any] = []
        self.chosen = ""
        """the button that is pressed where the server asks"""
        self.edits: list[Any] = []
        folders = [{"uri": folder.as_uri(), "name": folder.name}]
        params = {"processId": None, "rootUri": folder.as_uri(), "workspaceFolders": folders, "capabilities": {}}
        self.capabilities = self.request("initialize", params | (more or {}))["capabilities"]
        self.notify("initialized", {})

    # ------------------------------------------------------------ messages

    def send(self, body: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.process.stdin.flush()

    def notify(self, method: str, params: Any) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def request(self, method: str, params: Any) -> Any:
        self._number += 1
        number, self.requested = self._number, method
        self.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode())
        while True:
            message = self.receive()
            if message.get("id") == number and "method" not in message:
                if "error" in message:
                    raise LspError(message["error"]["code"], message["error"]["message"])
                return message["result"]

    def _answer(self, number: Any, result: Any) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode())

    def receive(self, patience: float = PATIENCE) -> Any:
        end = time.monotonic() + patience
        while True:
            head, found, rest = self._data.partition(b"\r\n\r\n")
            if found:
                match = re.search(rb"Content-Length: (\d+)", head)
                assert match is not None, head
                size = int(match[1])
                if len(rest) >= size:
                    self._data = rest[size:]
                    return self._received(json.loads(rest[:size]))
            if not self._selector.select(max(0.0, end - time.monotonic())):
                raise TimeoutError(self._data)
            assert self.process.stdout is not None
            part = self.process.stdout.read1(1 << 20)  # type: ignore[attr-defined]
            if not part:
                assert self.process.stderr is not None
                raise EOFError(self.process.stderr.read().decode())
            self._data += part

    def _received(self, message: Any) -> Any:
        self.received.append(message)
        if message.get("method") == "textDocument/publishDiagnostics":
            self.diagnostics[message["params"]["uri"]] = message["params"]["diagnostics"]
            self.versions[message["params"]["uri"]] = message["params"].get("version", 0)
        if message.get("method") == "window/showMessageRequest":
            chosen = [item for item in message["params"]["actions"] if item["title"] == self.chosen]
            self._answer(message["id"], chosen[0] if chosen else None)
        if message.get("method") in ("client/registerCapability", "window/workDoneProgress/create"):
            self._answer(message["id"], None)
        if message.get("method") == "workspace/configuration":
            self._answer(message["id"], [None for _ in message["params"]["items"]])
        if message.get("method") == "workspace/applyEdit":
            self.edits.append(message["params"]["edit"])
            self._answer(message["id"], {"applied": True})
        if message.get("id") is None and "error" in message:
            self.errors.append(message["error"])
        return message

    def wait(self, uri: str, wanted: Callable[[list[Any]], bool]) -> list[Any]:
        """The diagnostics of a file, as soon as they are as wanted."""
        while uri not in self.diagnostics or not wanted(self.diagnostics[uri]):
            self.receive()
        return self.diagnostics[uri]

    # ------------------------------------------------------------ documents

    def open(self, path: Path, text: str | None = None) -> Document:
        if text is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        text = path.read_bytes().decode()
        item = {"uri": path.as_uri(), "languageId": "terraform", "version": 1, "text": text}
        self.diagnostics.pop(path.as_uri(), None)
        self.notify("textDocument/didOpen", {"textDocument": item})
        return Document(self, path, text)

    def close(self) -> int:
        self.request("shutdown", None)
        self.notify("exit", None)
        return self.process.wait(30)


class Document:
    """An open document. `text` is what the server has of it, as long as changes go through `change`."""

    def __init__(self, editor: Editor, path: Path, text: str) -> None:
        self.editor, self.path, self.text, self.version = editor, path, text, 1
        self.uri = path.as_uri()

    def change(self, text: str) -> None:
        """Replace the whole text."""
        self._changed([{"text": text}])
        self.text = text

    def edit(self, old: str, new: str) -> None:
        """Replace a part of the text, as an incremental change."""
        at = self.text.index(old)
        span = {"start": position(self.text, at), "end": position(self.text, at + len(old))}
        self._changed([{"range": span, "text": new}])
        self.text = self.text[:at] + new + self.text[at + len(old) :]

    def _changed(self, changes: list[Any]) -> None:
        self.version += 1
        document = {"uri": self.uri, "version": self.version}
        self.editor.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})

    def problems(self) -> list[Any]:
        """The diagnostics of this version."""
        while self.editor.versions.get(self.uri, -1) < self.version or self.uri not in self.editor.diagnostics:
            self.editor.receive()
        return self.editor.diagnostics[self.uri]

    def messages(self) -> list[str]:
        return [problem["message"] for problem in self.problems()]

    def ask(self, method: str, part: str = "", **more: Any) -> Any:
        """The answer to a request at `|` in a part of the text."""
        params: dict[str, Any] = {"textDocument": {"uri": self.uri}, **more}
        if part:
            params["position"] = self.at(part)
        return self.editor.request(f"textDocument/{method}", params)

    def at(self, part: str) -> dict[str, int]:
        before, _, after = part.partition("|")
        return position(self.text, self.text.index(before + after) + len(before))

    def close(self) -> None:
        self.editor.notify("textDocument/didClose", {"textDocument": {"uri": self.uri}})


def position(text: str, offset: int) -> dict[str, int]:
    before = text[:offset]
    line = before.rpartition("\n")[2]
    return {"line": before.count("\n"), "character": len(line.encode("utf-16-le")) // 2}


def applied(edit: Any, folder: Path) -> dict[str, str]:
    """The texts after a workspace edit, by path below a folder; files on the disk are not changed."""
    result = {}
    for uri, edits in edit["changes"].items():
        path = Path(uri.removeprefix("file://"))
        text = path.read_bytes().decode() if path.exists() else ""
        result[str(path.relative_to(folder))] = edited(text, edits)
    return result


def edited(text: str, edits: list[Any]) -> str:
    """A text after edits."""
    lines = text.split("\n")

    def offset(place: dict[str, int]) -> int:
        start = sum(len(line) + 1 for line in lines[: place["line"]])
        units = (
            lines[place["line"]].encode("utf-16-le")[: 2 * place["character"]] if place["line"] < len(lines) else b""
        )
        return start + len(units.decode("utf-16-le"))

    places = [(offset(e["range"]["start"]), offset(e["range"]["end"]), n, e["newText"]) for n, e in enumerate(edits)]
    for start, end, _, new in sorted(places, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def text_at(span: Any, text: str) -> str:
    """The part of a text in a range of one line."""
    line = text.split("\n")[span["start"]["line"]].encode("utf-16-le")
    return line[2 * span["start"]["character"] : 2 * span["end"]["character"]].decode("utf-16-le")
