"""A sequence that is made when it is first read, and once."""

from __future__ import annotations

from planner.foundation.support.lazy import Later


def test_it_is_made_once_and_only_when_read() -> None:
    made: list[str] = []

    def make() -> tuple[str, ...]:
        made.append("made")
        return ("a", "b")

    later = Later(make)
    assert not made
    assert list(later) == ["a", "b"]
    assert (len(later), later[0], later[1:], "b" in later) == (2, "a", ("b",), True)
    assert made == ["made"]


def test_nothing_is_false() -> None:
    assert not Later(tuple)
