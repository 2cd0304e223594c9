"""What states need of a Kubernetes API server: secrets and leases with versions, conflicts and label selectors.

    python kube_server.py PORT [TOKEN]

Answers are JSON, requests JSON or (leases only) the Protocol Buffers that OpenTofu sends. With TOKEN only requests
that show it are answered.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import uuid
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

KINDS = {
    "secrets": ("v1", "Secret", "secrets"),
    "leases": ("coordination.k8s.io/v1", "Lease", "leases.coordination.k8s.io"),
}
PATH = re.compile(r"/(?:api/v1|apis/coordination\.k8s\.io/v1)/namespaces/([^/]+)/(secrets|leases)(?:/([^/]+))?")
TOKEN = sys.argv[2] if len(sys.argv) > 2 else ""
KEPT: dict[tuple[str, str, str], dict[str, Any]] = {}
LOCK = threading.Lock()
LARGEST = 1 << 20
"""bytes of the data of a secret"""
version = 100


def fields(data: bytes) -> dict[int, list[Any]]:
    """The fields of a Protocol Buffers message by number."""
    found: dict[int, list[Any]] = {}
    at = 0

    def number() -> int:
        nonlocal at
        result = shift = 0
        while True:
            byte = data[at]
            at += 1
            result |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return result

    while at < len(data):
        key = number()
        if key & 7 == 0:
            value: Any = number()
        elif key & 7 == 2:
            length = number()
            value, at = data[at : at + length], at + length
        else:
            raise ValueError(key)
        found.setdefault(key >> 3, []).append(value)
    return found


def lease(data: bytes) -> dict[str, Any]:
    """The lease in what OpenTofu sends: after a word, a message with the lease in its second field."""
    whole = fields(fields(data[4:])[2][0])
    metadata, spec = fields(whole[1][0]), fields(whole[2][0]) if 2 in whole else {}

    def text(message: dict[int, list[Any]], key: int) -> str:
        return message[key][0].decode() if key in message else ""

    def texts(key: int) -> dict[str, str]:
        return {text(entry, 1): text(entry, 2) for entry in map(fields, metadata.get(key, []))}

    names = {"name": text(metadata, 1), "namespace": text(metadata, 3), "resourceVersion": text(metadata, 6)}
    return {
        "metadata": {**names, "labels": texts(11), "annotations": texts(12)},
        "spec": {"holderIdentity": text(spec, 1)} if 1 in spec else {},
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def reply(self, code: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, code: int, reason: str, message: str) -> None:
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        self.reply(code, {**status, "message": message, "reason": reason, "code": code})

    def handle_all(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        if TOKEN and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.refuse(401, "Unauthorized", "Unauthorized")
            return
        found = PATH.fullmatch(url.path)
        if not found:
            self.refuse(404, "NotFound", "the server could not find the requested resource")
            return
        with LOCK:
            self.answer(found[1], found[2], found[3] or "", data, parse_qs(url.query))

    do_GET = do_POST = do_PUT = do_DELETE = handle_all  # noqa: N815

    def answer(self, space: str, kind: str, name: str, data: bytes, query: dict[str, list[str]]) -> None:
        global version
        api, title, full = KINDS[kind]
        version += 1
        if self.command == "GET" and not name:
            wanted = [word.split("=") for word in query.get("labelSelector", [""])[0].split(",") if word]
            items = [
                item
                for (s, k, _), item in sorted(KEPT.items())
                if (s, k) == (space, kind)
                and all((item["metadata"].get("labels") or {}).get(key) == value for key, value in wanted)
            ]
            metadata = {"resourceVersion": str(version)}
            return self.reply(200, {"kind": f"{title}List", "apiVersion": api, "metadata": metadata, "items": items})
        body: dict[str, Any] = {}
        if data and self.command != "DELETE":
            body = lease(data) if data[:4] == b"k8s\0" else json.loads(data)
            name = name or body["metadata"]["name"]
            if sum(map(len, (body.get("data") or {}).values())) * 3 // 4 > LARGEST:
                text = f'Secret "{name}" is invalid: data: Too long: may not be more than {LARGEST} bytes'
                return self.refuse(422, "Invalid", text)
        key = (space, kind, name)
        old = KEPT.get(key)
        if self.command == "POST":
            if old is not None:
                return self.refuse(409, "AlreadyExists", f'{full} "{name}" already exists')
            made = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            own = {"uid": str(uuid.uuid4()), "creationTimestamp": made}
            return self.keep(201, key, body, own)
        if old is None:
            return self.refuse(404, "NotFound", f'{full} "{name}" not found')
        if self.command == "GET":
            return self.reply(200, old)
        if self.command == "DELETE":
            del KEPT[key]
            return self.reply(200, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"})
        if body["metadata"].get("resourceVersion") not in (None, "", old["metadata"]["resourceVersion"]):
            text = "the object has been modified; please apply your changes to the latest version and try again"
            return self.refuse(409, "Conflict", f'Operation cannot be fulfilled on {full} "{name}": {text}')
        return self.keep(200, key, body, {n: old["metadata"][n] for n in ("uid", "creationTimestamp")})

    def keep(self, code: int, key: tuple[str, str, str], body: dict[str, Any], own: dict[str, str]) -> None:
        api, title, _ = KINDS[key[1]]
        metadata = {**body["metadata"], **own, "namespace": key[0], "resourceVersion": str(version)}
        KEPT[key] = {**body, "kind": title, "apiVersion": api, "metadata": metadata}
        if title == "Secret":
            KEPT[key].setdefault("type", "Opaque")
        self.reply(code, KEPT[key])


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
