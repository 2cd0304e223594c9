"""What Alibaba Cloud and Tencent Cloud do for states, in memory: objects of OSS and COS, rows of TableStore, tags. Each
request must be signed with the key `secret`.

    python cloud_double.py PORT [CERTIFICATE KEY]
"""

from __future__ import annotations

import hashlib
import json
import re
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape

from planner.foundation.clients import aliyun, tablestore, tencent

ACCESS, SECRET = "access", "secret"
objects: dict[tuple[str, str], tuple[bytes, dict[str, str]]] = {}
rows: dict[tuple[str, str], dict[str, str]] = {}
tags: set[tuple[str, str]] = set()
lock = Lock()
CONSUMED = tablestore.field(1, tablestore.field(1, tablestore.number(1, 0) + tablestore.number(2, 1)))
_CRC = []
for _byte in range(256):
    for _ in range(8):
        _byte = _byte >> 1 ^ 0xC96C5795D7870F42 if _byte & 1 else _byte >> 1
    _CRC.append(_byte)


def crc64(data: bytes) -> int:
    crc = (1 << 64) - 1
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ (1 << 64) - 1


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status: int, code: str, message: str = "") -> None:
        text = f"<Error><Code>{code}</Code><Message>{message or code}</Message></Error>"
        self.answer(status, text.encode())

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def reply(self) -> None:
        data, host, said = self.body(), self.headers.get("Host", ""), {k.lower(): v for k, v in self.headers.items()}
        parts = urlsplit(self.path)
        path, query = unquote(parts.path), dict(parse_qsl(parts.query, keep_blank_values=True))
        with lock:
            if host.endswith(".tencentcloudapi.com"):
                self.tagged(host, data, said)
            elif "x-ots-signature" in said:
                self.rowed(path.removeprefix("/"), data, said)
            elif host.endswith(".myqcloud.com"):
                if self.cos_is_signed(path, query, said):
                    self.stored(host.partition(".")[0], path.removeprefix("/"), query, data, said)
            elif not self.oss_is_signed(path, query, said):
                self.refuse(403, "SignatureDoesNotMatch")
            else:
                bucket, _, key = path.removeprefix("/").partition("/")
                self.stored(bucket, key, query, data, said)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = reply  # noqa: N815

    # ------------------------------------------------------------ objects

    def oss_is_signed(self, path: str, query: dict[str, str], said: dict[str, str]) -> bool:
        resource = path if "/" in path[1:] else f"{path}/"
        resource += "?objectMeta" if "objectMeta" in query else ""
        return said.get("authorization") == aliyun.authorization(
            self.command, resource, said, aliyun.AliyunKeys(ACCESS, SECRET)
        )

    def cos_is_signed(self, path: str, query: dict[str, str], said: dict[str, str]) -> bool:
        given = dict(pair.split("=", 1) for pair in said.get("authorization", "").split("&") if "=" in pair)
        signed = {name: said.get(name, "") for name in given.get("q-header-list", "").split(";")}
        wanted = tencent.authorization(
            self.command, path, query, signed, tencent.TencentKeys(ACCESS, SECRET), given.get("q-sign-time", "")
        )
        if given.get("q-signature") == wanted.rpartition("=")[2] and "host" in signed:
            return True
        self.refuse(403, "SignatureDoesNotMatch")
        return False

    def stored(self, bucket: str, key: str, query: dict[str, str], data: bytes, said: dict[str, str]) -> None:
        at = (bucket, key)
        if not bucket.startswith("bucket"):
            self.refuse(404, "NoSuchBucket", "The specified bucket does not exist.")
        elif not key:
            self.listed(bucket, query)
        elif self.command == "PUT":
            if at in objects and "true" in (said.get("x-cos-forbid-overwrite"), said.get("x-oss-forbid-overwrite")):
                self.refuse(409, "FileAlreadyExists")
                return
            meta = {k: v for k, v in said.items() if k.startswith(("x-cos-meta-", "x-oss-meta-"))}
            meta["ETag"] = f'"{hashlib.md5(data).hexdigest().upper()}"'
            objects[at] = (data, meta)
            sums = {"x-cos-hash-crc64ecma": str(crc64(data))} if "cos-go" in said.get("user-agent", "") else {}
            self.answer(200, b"", {"ETag": meta["ETag"], **sums})
        elif self.command == "DELETE":
            objects.pop(at, None)
            self.answer(204)
        elif at in objects:
            self.answer(200, *objects[at])
        else:
            self.refuse(404, "NoSuchKey", "The specified key does not exist.")

    def listed(self, bucket: str, query: dict[str, str]) -> None:
        most, marker = min(int(query.get("max-keys") or 100), 100), query.get("marker", "")
        found = sorted(k for b, k in objects if b == bucket and k.startswith(query.get("prefix", "")) and k > marker)
        coded = quote if query.get("encoding-type") == "url" else escape
        items = "".join(
            f"<Contents><Key>{coded(key)}</Key><LastModified>2026-11-22T07:00:00.000Z</LastModified>"
            f"<ETag>e</ETag><Size>{len(objects[bucket, key][0])}</Size></Contents>"
            for key in found[:most]
        )
        more = f"<NextMarker>{coded(found[most - 1])}</NextMarker>" if len(found) > most else ""
        cut = "true" if more else "false"
        text = (
            f"<ListBucketResult><Name>{bucket}</Name><IsTruncated>{cut}</IsTruncated>{more}{items}</ListBucketResult>"
        )
        self.answer(200, text.encode())

    # ------------------------------------------------------------ tables

    def rowed(self, action: str, data: bytes, said: dict[str, str]) -> None:
        def wrong(code: str, message: str, status: int = 400) -> None:
            self.answer(status, tablestore.field(1, code.encode()) + tablestore.field(2, message.encode()))

        own = {k: v for k, v in said.items() if k.startswith("x-ots-") and k != "x-ots-signature"}
        if said["x-ots-signature"] != tablestore.signature(action, own, aliyun.AliyunKeys(ACCESS, SECRET)):
            wrong("OTSAuthFailed", "Signature mismatch.", 403)
            return
        asked: dict[int, Any] = dict(tablestore.fields(data))
        table = asked[1].decode()
        if table != "locks":
            wrong("OTSObjectNotExist", "Requested table does not exist.", 404)
            return
        if action == "DescribeTable":
            key = tablestore.field(1, b"LockID") + tablestore.number(2, 2)
            options = b"".join(tablestore.number(n, 1) for n in (1, 2, 5))
            unit = tablestore.field(1, tablestore.number(1, 0) + tablestore.number(2, 0)) + tablestore.number(2, 0)
            meta = tablestore.field(1, asked[1]) + tablestore.field(2, key)
            parts = tablestore.field(1, meta) + tablestore.field(2, unit) + tablestore.field(3, options)
            self.answer(200, parts + tablestore.number(4, 1))
            return
        members = tablestore.cells(asked[2])
        at = (table, members.pop("LockID"))
        expected = dict(tablestore.fields(asked.get(3) or b"")).get(1) if action != "GetRow" else 0
        if (expected == 2 and at in rows) or (expected == 1 and at not in rows):
            wrong("OTSConditionCheckFail", "Condition check failed.", 403)
        elif action == "PutRow":
            assert asked[2] == tablestore.row_bytes({"LockID": at[1]}, members)  # with its sums
            rows[at] = members
            self.answer(200, CONSUMED)
        elif action == "DeleteRow":
            rows.pop(at, None)
            self.answer(200, CONSUMED)
        else:
            row = tablestore.row_bytes({"LockID": at[1]}, rows[at]) if at in rows else b""
            self.answer(200, CONSUMED + tablestore.field(2, row))

    # ------------------------------------------------------------ tags

    def tagged(self, host: str, data: bytes, said: dict[str, str]) -> None:
        def answered(**found: Any) -> None:
            body = json.dumps({"Response": {**found, "RequestId": "r"}}).encode()
            self.answer(200, body, {"Content-Type": "application/json"})

        now = int(said.get("x-tc-timestamp") or 0)
        if said.get("authorization") != tencent.proof("tag", host, data, now, tencent.TencentKeys(ACCESS, SECRET)):
            answered(Error={"Code": "AuthFailure.SignatureFailure", "Message": re.sub("[^ -~]", "", host)})
            return
        asked, action = json.loads(data), said.get("x-tc-action")
        tag = (asked["TagKey"], asked["TagValue"])
        if action == "CreateTag" and tag in tags:
            answered(Error={"Code": "ResourceInUse.TagDuplicate", "Message": "tag exists"})
        elif action == "CreateTag":
            tags.add(tag)
            answered()
        elif action == "DescribeTags":
            found = [{"TagKey": tag[0], "TagValue": tag[1], "CanDelete": 1}] if tag in tags else []
            answered(TotalCount=len(found), Offset=0, Limit=15, Tags=found)
        else:
            tags.discard(tag)
            answered()


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    if len(sys.argv) > 2:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2], sys.argv[3])
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.serve_forever()
