"""Compression to the bytes that Go's gzip makes (written at once, flushed, closed), whose digests were recorded."""

from __future__ import annotations

import gzip as reader
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples
from thinned import thinned

from planner.language.functions import deflate, deflate_next

DATA = Path(__file__).parent / "data"
RECORDED: list[str] = json.loads((DATA / "gzip_digests.json").read_text())
RECORDED_NEXT: list[str] = json.loads((DATA / "gzip_digests_next.json").read_text())


@cache
def texts() -> list[bytes]:
    return list(_texts())


def _texts() -> Iterator[bytes]:
    """Texts of many kinds and sizes, always the same: of noise, of few letters, of words, repeated near and far."""
    state = 12345

    def number(below: int) -> int:
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) % below

    def noise(size: int) -> bytes:
        return bytes(number(256) for _ in range(size))

    words = [bytes(97 + number(26) for _ in range(1 + number(9))) for _ in range(300)]
    script = b"#!/bin/bash\nset -euo pipefail\napt-get install -y nginx\nsystemctl enable nginx\n"
    for size in (*range(12), 20, 63, 130, 400, 1000):
        yield noise(size)
        yield (script * 20)[:size]
    for size in (300, 5_000, 66_000):
        yield bytes(97 + number(2) for _ in range(size))
        yield b" ".join(words[number(300)] for _ in range(size // 5))
        yield b"x" * size
        yield (noise(33_000) * 3)[:size]
        yield b"".join((script, b"%d" % number(10**6))[number(2)] for _ in range(size // 40))
        yield bytes(min(255, number(16) * number(16) * number(2)) for _ in range(size))
    yield b" ".join(words[number(300)] for _ in range(60_000))
    yield noise(70_000) + script * 10 + noise(40_000)


def test_every_text_has_digests() -> None:
    assert len(texts()) == len(RECORDED) == len(RECORDED_NEXT)


@pytest.mark.parametrize("number", thinned(range(len(RECORDED)), 3))
def test_the_bytes_are_those_of_go(number: int) -> None:
    assert hashlib.sha256(deflate.gzip(texts()[number])).hexdigest() == RECORDED[number]


def test_the_bytes_of_the_next_version_are_those_of_go_1_27() -> None:
    short = [(text, digest) for text, digest in zip(texts(), RECORDED_NEXT, strict=True) if len(text) < 100_000]
    assert len(short) > 50
    for text, digest in short:
        assert hashlib.sha256(deflate_next.gzip(text)).hexdigest() == digest, (len(text), text[:50])


@given(
    st.binary(max_size=600) | st.lists(st.sampled_from([b"ab", b"abcd", b"\0", b"xyz" * 30]), max_size=80).map(b"".join)
)
@settings(max_examples=examples(60))
def test_any_reader_reads_it(data: bytes) -> None:
    assert reader.decompress(deflate.gzip(data)) == data
    assert reader.decompress(deflate_next.gzip(data)) == data
