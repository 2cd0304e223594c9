"""A server of states as GitLab's is, in memory: GET, POST and DELETE of a path, LOCK and UNLOCK of it."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

states: dict[str, bytes] = {}
locks: dict[str, bytes] = {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    @property
    def key(self) -> str:
        return urlsplit(self.path).path

    def do_GET(self) -> None:
        self.answer(200 if self.key in states else 404, states.get(self.key, b""))

    def do_POST(self) -> None:
        data = self.body()
        given = parse_qs(urlsplit(self.path).query).get("ID", [""])[0]
        lock = locks.get(self.key)
        if lock is not None and json.loads(lock)["ID"] != given:
            self.answer(409, lock)
            return
        states[self.key] = data
        self.answer(200)

    def do_DELETE(self) -> None:
        states.pop(self.key, None)
        self.answer(200)

    def do_LOCK(self) -> None:
        data = self.body()
        if self.key in locks:
            self.answer(423, locks[self.key])
            return
        locks[self.key] = data
        self.answer(200)

    def do_UNLOCK(self) -> None:
        data, lock = self.body(), locks.get(self.key)
        if lock is not None and data and json.loads(data).get("ID") != json.loads(lock)["ID"]:
            self.answer(409, lock)
            return
        locks.pop(self.key, None)
        self.answer(200)


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
