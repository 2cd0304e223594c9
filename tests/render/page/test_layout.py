"""Columns of a layered drawing."""

from __future__ import annotations

import random

import pytest

from planner.render.page.document import columns


def places(drawn: list[list[int]]) -> dict[int, int]:
    return {item: at for at, column in enumerate(drawn) for item in column}


def test_what_waits_stands_to_the_right() -> None:
    chance = random.Random(4)
    edges = [(i, chance.randrange(i)) for i in range(1, 400) for _ in range(2)]
    drawn = columns(400, edges)
    at = places(drawn)
    assert sorted(at) == list(range(400)) and sum(map(len, drawn)) == 400
    assert all(at[dependent] > at[dependency] for dependent, dependency in edges)
    assert columns(400, edges[::-1]) == drawn


def test_few_edges_cross() -> None:
    pairs = [(i + 10, 9 - i) for i in range(10)]  # mirrored: all ten cross as they are numbered
    left, right = columns(20, pairs)
    order = {item: n for n, item in enumerate(left)}
    met = [order[dict(pairs)[item]] for item in right]
    assert met == sorted(met)


def test_a_tall_level_is_broken() -> None:
    drawn = columns(3000, [])
    assert len(drawn) > 10 and max(map(len, drawn)) < 150
    assert [item for column in drawn for item in column] == list(range(3000))


def test_what_is_in_a_cycle_stands_together() -> None:
    ring = [(i, (i + 1) % 60) for i in range(60)]
    drawn = columns(62, [*ring, (60, 3), (5, 61)])
    assert drawn[0] == [61] and drawn[-1] == [60] and len(drawn) < 6


def test_cycles_and_nothing() -> None:
    assert sorted(places(columns(3, [(0, 1), (1, 2), (2, 0), (1, 1)]))) == [0, 1, 2]
    assert columns(0, []) == []


@pytest.mark.slow
def test_a_long_chain() -> None:
    assert columns(20_000, [(i, i - 1) for i in range(1, 20_000)]) == [[i] for i in range(20_000)]
