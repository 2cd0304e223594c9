"""Lines of a journal: what is changed, missing, cut off or overwritten is told apart, and the rest counts."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from planner.world.state.journal_lines import JournalLines, line_of, read_lines, text_of

ENTRIES = [{"begin": {"version": 1}}, {"start": 1}, {"instance": "a"}, {"end": 1}, {"start": 2}]

NO_LINE = "bytes are not a line of a journal"


def journal() -> list[bytes]:
    lines, chain = [], 0
    for entry in ENTRIES:
        line, chain = line_of(text_of(entry), chain)
        lines.append(line)
    return lines


@pytest.mark.parametrize(
    ("change", "left", "damage", "is_torn"),
    [
        (lambda x: b"".join(x), [0, 1, 2, 3, 4], (), False),
        (lambda x: b"".join(x)[:-1], [0, 1, 2, 3, 4], (), False),  # only the line break is missing
        (lambda x: b"".join(x)[:-3], [0, 1, 2, 3], (), True),
        (lambda x: b"".join(x) + x[1][:4], [0, 1, 2, 3, 4], (), True),
        (lambda x: b"".join(x) + x[1][:14], [0, 1, 2, 3, 4], (), True),
        (lambda x: b"".join(x[:3]) + bytes(40), [0, 1, 2], (f"the last 40 {NO_LINE}",), False),
        (lambda x: b"".join(x)[:-8] + bytes(8), [0, 1, 2, 3], (f"the last 30 {NO_LINE}",), False),
        (lambda x: b"".join(x) + x[3][:-1], [0, 1, 2, 3, 4, 3], ("lines are missing before line 6",), False),
        (lambda x: b"".join((*x[:2], *x[3:])), [0, 1, 3, 4], ("lines are missing before line 3",), False),
        (lambda x: b"".join(x).replace(b'"a"', b'"b"'), [0, 1, 3, 4], ("Line 3 is damaged",), False),
        (
            lambda x: b"".join((x[0], b"\n", b"?\n", *x[1:])),
            [0, 1, 2, 3, 4],
            ("Lines 2, 3 are damaged",),
            False,
        ),
        (lambda x: b"".join((x[0], x[2], x[4])), [0, 2, 4], ("lines are missing before each of lines 2, 3",), False),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_apart(
    change: Callable[[list[bytes]], bytes], left: list[int], damage: tuple[str, ...], is_torn: bool
) -> None:
    found = read_lines(change(journal()))
    assert found.entries == [ENTRIES[i] for i in left]
    assert found.damage == damage
    assert found.is_torn == is_torn
    assert found.has_beginning


@pytest.mark.parametrize("data", [b"".join(journal()[1:]), bytes(100), b"garbage\n" + b"".join(journal()), b"\0\n"])
def test_a_journal_without_its_beginning(data: bytes) -> None:
    assert not read_lines(data).has_beginning


@pytest.mark.parametrize("data", [b"", journal()[0][:-9], b"0a1b"])
def test_nothing_was_begun(data: bytes) -> None:
    found = read_lines(data)
    assert (found.entries, found.has_beginning, found.damage) == ([], True, ())


def test_lines_without_a_chain_are_read() -> None:
    texts = [text_of(entry) for entry in ENTRIES]
    found = read_lines(b"".join(b"%08x %s\n" % (zlib.crc32(text), text) for text in texts))
    assert found.entries == ENTRIES
    assert found.damage == ()


@pytest.mark.parametrize("number", range(len(ENTRIES)))
def test_every_byte_that_changes_is_seen(number: int) -> None:
    lines = journal()
    for at in range(len(lines[number])):
        changed = bytearray(lines[number])
        changed[at] ^= 1
        found = read_lines(b"".join((*lines[:number], bytes(changed), *lines[number + 1 :])))
        assert found.damage or found.is_torn or not found.has_beginning


def test_what_is_added_goes_on_from_there(tmp_path: Path) -> None:
    from planner.world.state.journal import mark_saving
    from planner.world.state.model import State

    for change in (lambda x: x, lambda x: x[:-1], lambda x: x[:-9], lambda x: x + bytes(5)):
        path = tmp_path / "j"
        data = change(b"".join(journal()))
        path.write_bytes(data)
        before: JournalLines = read_lines(data)
        mark_saving(str(path), State(lineage="l", serial=3), "")
        after = read_lines(path.read_bytes())
        assert after.entries == [*before.entries, {"saving": {"lineage": "l", "serial": 3, "checksum": ""}}]
        assert bool(after.damage) == bool(before.damage)
        assert not after.is_torn
