"""Checksums of packages whose large files are read once in a process."""

from __future__ import annotations

import hashlib
import time
from base64 import b64encode
from pathlib import Path

import pytest

from planner.world.provider import package_hashes
from planner.world.provider.package_hashes import content_hash


def expected(**files: bytes) -> str:
    lines = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items()))
    return f"h1:{b64encode(hashlib.sha256(lines.encode()).digest()).decode()}"


def test_a_large_file_is_read_once_unless_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    summed = package_hashes._sum
    monkeypatch.setattr(package_hashes, "_sum", lambda file: (read.append(file.name), summed(file))[1])
    program, note = tmp_path / "program", tmp_path / "note"
    note.write_bytes(b"note")
    for content in (b"a", b"b"):
        with program.open("r+b" if program.exists() else "wb") as file:
            file.write(content * (2 << 20))
        time.sleep(0.05)  # until the clock of the file system can tell
        for _ in range(3):
            assert content_hash(tmp_path) == expected(note=b"note", program=content * (2 << 20))
    assert [Path(name).name for name in read].count("program") == 2


def test_a_file_that_has_just_changed_is_read_again(tmp_path: Path) -> None:
    program = tmp_path / "program"
    for content in (b"a", b"b", b"c"):
        program.write_bytes(content * (2 << 20))
        assert content_hash(tmp_path) == expected(program=content * (2 << 20))
