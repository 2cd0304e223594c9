"""A client for tables of Alibaba Cloud's TableStore: reads, writes and removes rows whose key is a single string.
Requests are signed protobuf messages that contain rows in the "plain buffer" format.
https://www.alibabacloud.com/help/en/tablestore/developer-reference/plainbuffer"""

from __future__ import annotations

import hashlib
import hmac
import struct
from base64 import b64encode
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from urllib.parse import urlsplit

from planner.foundation.clients.aliyun import AliyunKeys
from planner.foundation.clients.http import Http
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import frozen

ANY, EXISTS, ABSENT = 0, 1, 2  # the condition under which a row is written or removed
_HEADER = b"\x75\0\0\0"
_KEY, _DATA, _CELL, _NAME, _VALUE, _TYPE, _TIME, _REMOVED, _SUM, _CELL_SUM = range(1, 11)
_STRING = 3


@frozen(repr=False)
class TablestoreTable:
    """A table and the keys for its requests. `key`: the name of the column that is the primary key."""

    endpoint: str
    name: str
    key: str
    keys: AliyunKeys
    http: Http

    def check(self) -> None:
        """Raises ServiceError if the table does not exist."""
        self._ask("DescribeTable", field(1, self.name.encode()))

    def put(self, row: str, columns: Mapping[str, str], expected: int = ANY) -> None:
        data = row_bytes({self.key: row}, columns)
        self._ask("PutRow", field(1, self.name.encode()) + field(2, data) + field(3, number(1, expected)))

    def get(self, row: str, column: str) -> str:
        """The value of a column in the row with the key `row`, "" if there is none. Raises ServiceError."""
        request = field(1, self.name.encode()) + field(2, row_bytes({self.key: row}, {}))
        request += field(3, self.key.encode()) + field(3, column.encode()) + number(5, 1)
        answer = dict(fields(self._ask("GetRow", request)))
        entry = answer.get(2, b"")
        return cells(entry if isinstance(entry, bytes) else b"").get(column, "")

    def delete(self, row: str, expected: int = ANY) -> None:
        data = row_bytes({self.key: row}, {}, is_removed=True)
        self._ask("DeleteRow", field(1, self.name.encode()) + field(2, data) + field(3, number(1, expected)))

    def _ask(self, action: str, body: bytes) -> bytes:
        def sign(method: str, url: str, headers: dict[str, str], data: bytes) -> Mapping[str, str]:
            digest = hashlib.md5(data, usedforsecurity=False).digest()
            sent = {
                "x-ots-date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
                "x-ots-apiversion": "2015-12-31",
                "x-ots-accesskeyid": self.keys.access,
                "x-ots-contentmd5": b64encode(digest).decode("ascii"),
                "x-ots-instancename": (urlsplit(self.endpoint).hostname or "").partition(".")[0],
                **({"x-ots-ststoken": self.keys.token} if self.keys.token else {}),
            }
            return {**sent, "x-ots-signature": signature(action, sent, self.keys)}

        answer = self.http.ask("POST", f"{self.endpoint.rstrip('/')}/{action}", {}, body, sign=sign)
        if answer.status < 300:
            return answer.body
        parts = {number: value for number, value in fields(answer.body) if isinstance(value, bytes)}
        code, message = (parts.get(n, b"").decode("utf-8", "replace") for n in (1, 2))
        if not code:
            code, message = str(answer.status), answer.text[:1000]
        request = answer.headers.get("x-ots-requestid", "")
        raise ServiceError(f"{code} {message} {request}", code=code, may_pass=answer.status >= 500)


def signature(action: str, headers: Mapping[str, str], keys: AliyunKeys) -> str:
    text = f"/{action}\nPOST\n\n" + "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()))
    return b64encode(hmac.digest(keys.secret.encode(), text.encode(), "sha1")).decode("ascii")


# ---------------------------------------------------------------- protobuf


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(tag: int, data: bytes) -> bytes:
    return _varint(tag << 3 | 2) + _varint(len(data)) + data


def number(tag: int, value: int) -> bytes:
    return _varint(tag << 3) + _varint(value)


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(number, value) of each field of a protobuf message. Reading stops where the message is malformed."""
    at = 0
    while at < len(data):
        tag, at = _read(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = _read(data, at)
            yield tag >> 3, value
        elif kind == 2:
            size, at = _read(data, at)
            if at + size > len(data):
                return
            yield tag >> 3, data[at : at + size]
            at += size
        else:
            return


def _read(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            break
    return value, at


# ---------------------------------------------------------------- rows


def _crc(data: bytes, crc: int = 0) -> int:
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc << 1 ^ 0x07 if crc & 0x80 else crc << 1) & 0xFF
    return crc


def _cell(name: str, value: str) -> tuple[bytes, int]:
    """An encoded cell, and its checksum."""
    title, text = name.encode(), value.encode()
    inner = bytes((_STRING,)) + struct.pack("<i", len(text)) + text
    crc = _crc(title + inner)
    head = bytes((_CELL, _NAME)) + struct.pack("<i", len(title)) + title
    return head + bytes((_VALUE,)) + struct.pack("<i", len(inner)) + inner + bytes((_CELL_SUM, crc)), crc


def row_bytes(key: Mapping[str, str], columns: Mapping[str, str], is_removed: bool = False) -> bytes:
    """An encoded row; without `columns`, it contains only the key. `is_removed`: whether it has the mark that deletes
    the row."""
    out, sums = bytearray(_HEADER), []
    for tag, members in ((_KEY, key), (_DATA, columns)):
        if members:
            out.append(tag)
        for name, value in members.items():
            data, crc = _cell(name, value)
            out += data
            sums.append(crc)
    if is_removed:
        out.append(_REMOVED)
    out += bytes((_SUM, _crc(bytes((*sums, int(is_removed))))))
    return bytes(out)


def cells(data: bytes) -> dict[str, str]:
    """The string values of an encoded row by column name. Raises ServiceError."""
    result: dict[str, str] = {}
    at, name = len(_HEADER), ""
    try:
        while at < len(data):
            tag, at = data[at], at + 1
            if tag == _NAME:
                size = struct.unpack_from("<i", data, at)[0]
                name, at = data[at + 4 : at + 4 + size].decode(), at + 4 + size
            elif tag == _VALUE:
                kind, size = data[at + 4], {0: 8, 1: 8, 2: 1}.get(data[at + 4], -1)
                at += 5
                if size < 0:
                    size = struct.unpack_from("<i", data, at)[0]
                    at += 4
                if size < 0:
                    raise ValueError
                if kind == _STRING:
                    result[name] = data[at : at + size].decode()
                at += size
            else:
                at += {_TYPE: 1, _TIME: 8, _SUM: 1, _CELL_SUM: 1}.get(tag, 0)
    except (struct.error, IndexError, ValueError):
        raise ServiceError("TableStore: the response is not a valid row") from None
    return result
