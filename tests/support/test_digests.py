"""Digests are those of hashlib, whoever makes them."""

from __future__ import annotations

import hashlib

import pytest

from planner.foundation.support import digests


@pytest.mark.parametrize("data", [b"", b"abc", b"x" * (digests._SMALL - 1), b"x" * digests._SMALL])
def test_sha256(data: bytes) -> None:
    assert digests.sha256_of(data) == hashlib.sha256(data).hexdigest()


def test_blake2b() -> None:
    made = digests.blake2b(b"data", key=b"key", digest_size=16)
    assert made.hexdigest() == hashlib.blake2b(b"data", key=b"key", digest_size=16).hexdigest()
