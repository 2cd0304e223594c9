"""Positions in UTF-16 units, and edits at them, for any text."""

from __future__ import annotations

import re
from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples

from planner.workflows.editor.cursor import place_at
from planner.workflows.editor.texts import TextDocument

TEXTS = st.text(st.sampled_from(["a", "é", "\U0001f600", "\n", "\r", "\u2028", "\x0c", "{", '"']), max_size=30)


def _lines(text: str) -> list[str]:
    """The lines of the protocol, with their ends."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z|\Z", text)


@settings(max_examples=examples(200), deadline=None)
@given(TEXTS, st.data())
def test_positions_are_those_of_utf_16(text: str, data: st.DataObject) -> None:
    document = TextDocument(text)
    offset = data.draw(st.integers(0, len(text)))
    place = document.position(offset)
    lines = _lines(text)
    start = sum(map(len, lines[: place["line"]]))
    assert start <= offset and len(text[start:offset].encode("utf-16-le")) // 2 == place["character"]
    inside = offset and text[offset - 1 : offset + 1] == "\r\n"
    assert inside or document.offset(**place) == offset


@settings(max_examples=examples(200), deadline=None)
@given(TEXTS, st.lists(st.tuples(st.integers(0, 6), st.integers(0, 40), TEXTS), max_size=4))
def test_edits_at_any_place_change_nothing_else(text: str, changes: list[tuple[int, int, str]]) -> None:
    document = TextDocument(text)
    for line, character, new in changes:
        at = SimpleNamespace(line=line, character=character)
        offset = document.at(at)
        edited = document.edited([SimpleNamespace(range=SimpleNamespace(start=at, end=at), text=new)], 2)
        assert edited.text == document.text[:offset] + new + document.text[offset:] and edited.version == 2
        document = edited


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                '"',
                "${",
                "%{",
                "{",
                "}",
                "(",
                ")",
                "[",
                "]",
                "\n",
                "=",
                "a",
                "b.c",
                "<<E\n",
                "E\n",
                "#",
                "//",
                "/*",
                ",",
                ":",
                " ",
            ]
        ),
        max_size=20,
    )
)
def test_any_beginning_is_a_place(parts: list[str]) -> None:
    text = "".join(parts)
    place = place_at(text, len(text))
    assert place.kind in ("body", "label", "value", "text", "comment")
    assert place.kind == "value" or not place.path
