"""Signatures and rows as the services take them: OpenTofu's libraries made the same for the double that checks them."""

from __future__ import annotations

import contextlib

import pytest

from planner.foundation.clients import aliyun, tablestore, tencent
from planner.foundation.vocabulary.diagnostic import ServiceError

ALIYUN, TENCENT = aliyun.AliyunKeys("access", "secret"), tencent.TencentKeys("access", "secret")


def test_oss() -> None:
    headers = {"Content-Type": "t", "Date": "d", "x-oss-object-acl": "private"}
    assert aliyun.authorization("PUT", "/bucket/a", headers, ALIYUN) == "OSS access:5JUeObKqicMUmkLDrR+3aulzveg="


def test_tablestore() -> None:
    headers = {"x-ots-date": "d", "x-ots-accesskeyid": "access"}
    assert tablestore.signature("PutRow", headers, ALIYUN) == "Cv5R+v4jb0ULFwFnqneqzZqJxRQ="
    key, info = (
        "75000000010304060000004c6f636b494405060000000301000000610af7",
        "02030404000000496e666f050700000003020000007b7d0a49099c",
    )
    row = key + info
    assert tablestore.row_bytes({"LockID": "a"}, {"Info": "{}"}).hex() == row
    removed = "75000000010304060000004c6f636b494405060000000301000000610af7080978"
    assert tablestore.row_bytes({"LockID": "a"}, {}, is_removed=True).hex() == removed
    assert tablestore.cells(bytes.fromhex(row)) == {"LockID": "a", "Info": "{}"}


@pytest.mark.parametrize("cut", range(1, 40))
def test_rows_that_are_none(cut: int) -> None:
    """They end with an error, or with fewer cells; never with another exception."""
    row = tablestore.row_bytes({"LockID": "a"}, {"Info": "b"})
    found: set[str] = set()
    with contextlib.suppress(ServiceError):
        found = set(tablestore.cells(row[:-cut]))
    assert found <= {"LockID", "Info"}
    assert list(tablestore.fields(b"\x0a\xff\xff\xff\xff\x0f")) == []


def test_cos() -> None:
    headers = {"Host": "h", "x-cos-acl": "private"}
    said = tencent.authorization("PUT", "/a/b", {"prefix": "p/q"}, headers, TENCENT, "1700000000;1700003600")
    assert said.rpartition("=")[2] == "7df363a34cc9b548f685ed7f04c4bfbc434acfb7"
    assert "q-header-list=host;x-cos-acl&q-url-param-list=prefix&" in said


def test_calls() -> None:
    said = tencent.proof("tag", "tag.tencentcloudapi.com", b"{}", 1700000000, TENCENT)
    assert said.rpartition("=")[2] == "c8839de605be8c17404f269f3b07428cbab3100ebc8609d18031b677432ebc23"
