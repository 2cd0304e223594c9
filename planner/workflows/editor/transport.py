"""The connection to an editor, with messages on standard input and output. The response to an invalid message is an
error, and the connection continues."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
from collections.abc import Callable, Generator
from typing import Any, BinaryIO

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.io_ import StdoutWriter
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from planner.foundation.vocabulary.release import RELEASE
from planner.render.terminal import visible

MOST_BYTES = 64 << 20
"""maximum size of a message in bytes"""
_LONGEST_HEADER = 1000
_HEADER = re.compile(rb"[\w-]+:")
_LENGTH = re.compile(rb"Content-Length: *(\d+)\s*", re.IGNORECASE)


class _Protocol(LanguageServerProtocol):
    """The protocol without the documents of pygls, because pygls also splits lines at characters that do not end a line
    in LSP."""

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: Any) -> Generator[Any, Any, None]:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: Any) -> Generator[Any, Any, None]:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: Any) -> Generator[Any, Any, None]:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_CLOSE], (params,), None


class EditorServer(LanguageServer):
    """A language server that does not show its own failures in the editor. For each failure, it sends an error response
    and logs a line."""

    def __init__(self) -> None:
        super().__init__(
            "planner", RELEASE, text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental, protocol_cls=_Protocol
        )
        self.shows_results = True
        """whether the server shows the results of commands; False if the editor shows them itself"""

    def show_result(self, kind: lsp.MessageType, text: str) -> None:
        """Show the result of a command in the editor, unless the editor itself shows results."""
        if self.shows_results:
            self.window_show_message(lsp.ShowMessageParams(kind, text))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log an error in handling a request if it is a defect of planner. The response contains the error in any
        case."""
        if not isinstance(error, JsonRpcException):
            self.log(error, "request failed")

    def serve(self) -> int:
        """Serve an editor until it exits or closes the connection. Returns the exit code."""
        # copies, because pygls closes its streams and the command flushes standard output at the end
        output = os.fdopen(os.dup(1), "wb")
        handler = logging.StreamHandler()
        handler.setFormatter(_InFewWords())
        handler.addFilter(_is_failure)
        log = logging.getLogger("pygls")
        log.addHandler(handler)
        log.propagate = False
        self.protocol.set_writer(StdoutWriter(output))
        incoming = Incoming(os.fdopen(os.dup(0), "rb"), self._refuse)
        try:
            asyncio.run(self._converse(incoming))
        except SystemExit as exit:
            return int(exit.code or 0)
        except (KeyboardInterrupt, BrokenPipeError):
            return 1
        return 0

    async def _converse(self, incoming: Incoming) -> None:
        loop = asyncio.get_running_loop()
        while (body := await loop.run_in_executor(None, incoming.message)) is not None:
            self._receive(body)

    def _receive(self, body: bytes) -> None:
        try:
            message = json.loads(body)
            if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
                raise ValueError("not a JSON-RPC 2.0 message")
        except (ValueError, RecursionError) as problem:
            self.log(problem)
            self._refuse("The message is not valid JSON-RPC.", lsp.ErrorCodes.ParseError)
            return
        number = message.get("id")
        number = number if isinstance(number, int | str) and "method" in message else None
        if self.protocol._shutdown and number is not None:
            self._refuse("The server is shut down.", lsp.ErrorCodes.InvalidRequest, number)
            return
        try:
            self.protocol.handle_message(self.protocol.structure_message(message))
        except JsonRpcException as problem:
            self.log(problem)
            self._refuse("The parameters are not valid.", JsonRpcInvalidParams.CODE, number)
        except Exception as problem:
            self.log(problem)
            self._refuse("The message cannot be handled.", lsp.ErrorCodes.InternalError, number)

    def tell(self, method: str, params: Any) -> None:
        """Send a notification. `params`: its parameters, as JSON."""
        self.protocol._send_data({"jsonrpc": "2.0", "method": method, "params": params})

    def log(self, problem: BaseException, what: str = "invalid message") -> None:
        """Log a failure in one line, followed by the traceback if PLANNER_DEBUG is set."""
        logging.getLogger("pygls").error(what, exc_info=problem)

    def _refuse(self, why: str, code: Any = lsp.ErrorCodes.InvalidRequest, number: Any = None) -> None:
        error = {"code": getattr(code, "value", code), "message": why}
        self.protocol._send_data({"jsonrpc": "2.0", "id": number, "error": error})


def _is_failure(record: logging.LogRecord) -> bool:
    """Whether a log record of pygls is about a failure. Refused requests, and cancellations of requests that already
    have a response, are not failures."""
    if record.getMessage().startswith("Cancel notification for unknown message"):
        return False
    refused = record.exc_info is not None and isinstance(record.exc_info[1], JsonRpcException)
    return not refused or record.getMessage() == "invalid message"


class _InFewWords(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        problem = record.exc_info[1] if record.exc_info else None
        why = f": {type(problem).__name__}: {problem}" if problem is not None else ""
        if os.environ.get("PLANNER_DEBUG") and record.exc_info:
            why += f"\n{self.formatException(record.exc_info)}"
        return visible(f"planner language-server: {record.getMessage()[:200].partition(chr(10))[0]}{why[:2000]}")


class Incoming:
    """Reads the messages of an editor. If the input contains anything else, `refuse` is called with the reason, and the
    input is skipped up to the next valid `Content-Length` header."""

    def __init__(self, stream: BinaryIO, refuse: Callable[[str], None]) -> None:
        self._stream, self._refuse = stream, refuse

    def message(self) -> bytes | None:
        """The next message; None if the input has ended, even within a message."""
        length, is_lost = -1, False
        while True:
            line = self._stream.readline(_LONGEST_HEADER)
            if not line:
                return None
            match = _LENGTH.fullmatch(line)
            size = int(match[1]) if match is not None and len(match[1]) < 16 else MOST_BYTES + 1
            if match is not None and size <= MOST_BYTES:
                length, is_lost = size, False
            elif match is not None or not line.endswith(b"\n") or (line.strip() and not _HEADER.match(line)):
                if not is_lost:
                    long = "The message" if match is not None else "A header" if len(line) >= _LONGEST_HEADER else ""
                    self._refuse(f"{long} is too long." if long else "This is not a header.")
                length, is_lost = -1, True
            elif not line.strip() and length >= 0:
                body = self._stream.read(length)
                return body if len(body) == length else None
