"""Columns of a layered drawing, and the reasons of edges without names."""

from __future__ import annotations

import random

import pytest

from planner.render.page import document
from planner.render.page.document import MOST_TOGETHER, PLACEHOLDERS, PageNode, columns, forms_of, together


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


@pytest.mark.parametrize("seed", range(8))
def test_sweeps_end_when_they_change_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)
    count = draw.randint(5, 90)
    edges = [(a, draw.randrange(a)) for a in range(1, count) for _ in range(draw.randint(0, 3))]
    drawn, sweeps, arrange = columns(count, edges), list[bool](), document._arrange
    monkeypatch.setattr(document, "_arrange", lambda *given: sweeps.append(arrange(*given)) or True)
    assert columns(count, edges) == drawn
    assert True in sweeps and False in sweeps


@pytest.mark.slow
def test_a_long_chain() -> None:
    assert columns(20_000, [(i, i - 1) for i in range(1, 20_000)]) == [[i] for i in range(20_000)]


def test_many_nodes_are_together_by_type_and_name() -> None:
    nodes = [PageNode(f"a.r{n}", "resource", f"a.r{n}", "") for n in range(200)]
    nodes += [PageNode(f"b.r{n}", "resource", f"b.r{n}", "") for n in range(3)] + [PageNode("root", "root", "root")]
    items, boxes = together(nodes, {})
    assert {item.box for item in items[200:]} == {"all b", ""} and boxes["all b"] == ("", "b")
    inside = [[item.name for item in items if item.box == box] for box in boxes if boxes[box][0] == "all a"]
    assert inside[0] == [f"a.r{n}" for n in range(14)] and sorted(map(len, inside))[-1] == 14
    assert boxes["all a, 1 to 14"] == ("all a", "r0 \u2013 r13")
    twins = [PageNode(f"a.r{n}{end}", "resource", f"a.r{n}{end}") for n in range(100) for end in ("", " (expand)")]
    _, boxes = together(twins, {})
    ranges = [label.split(" \u2013 ") for name, (_, label) in boxes.items() if name.startswith("all a, ")]
    assert len({name for pair in ranges for name in pair}) == 2 * len(ranges)  # no object is in two of them
    alike = [PageNode(f"a.r (deposed {n})", "deposed", f"a.r (deposed {n})") for n in range(100)]
    assert set(together(alike, {})[1]) == {"all a"}
    many = {f"module.m{n}": ("", f"module.m{n}") for n in range(2 * MOST_TOGETHER)}
    _, boxes = together([], many)
    assert len([1 for parent, _ in boxes.values() if not parent]) == 11
    assert boxes["module.m10"][0] == "modules, 1 to 11"
    families = {f"module.{one}_{n}": ("", f"module.{one}_{n}") for one in ("api", "web") for n in range(MOST_TOGETHER)}
    families |= {"module.net": ("", "module.net"), 'module.app["eu"]': ("", 'module.app["eu"]')}
    _, boxes = together([], families)
    top = {name: label for name, (parent, label) in boxes.items() if not parent}
    assert sorted(top.values()) == ["module.api_*", 'module.app["eu"]', "module.net", "module.web_*"]
    assert boxes["module.web_59"] == ("modules, module.web_*", "module.web_59")
    words = {f"module.{one}-{'x' * n}": ("", f"module.{one}-{'x' * n}") for one in ("db", "web") for n in range(1, 40)}
    _, boxes = together([], words)
    assert {label for parent, label in boxes.values() if not parent} == {"module.db-*", "module.web-*"}
    few = [PageNode("a", "resource", "a")]
    assert together(few, {"m": ("", "m")}) == (few, {"m": ("", "m")})


ENDS = (
    ("a.b", "c.d", "a.b", "c"),
    ("module.m.a.b (expand)", "a.b", "module.m.a.b", "a.b"),
    ("a.bc", "a.b", "a.bcd", "a.bc"),
    ("r1", "a.r1", "r1", "root"),
    ("text", "the", "", "reason"),
)
VALUES = ("a.b", "a.b.id", "r1", "", "a.bcd.e", "c.d", "input")


def test_placeholders_stand_for_the_names_of_an_edge() -> None:
    names = list(zip(*(ends for ends in ENDS for _ in VALUES), strict=True))
    column = list(VALUES) * len(ENDS)
    texts = forms_of("the reason of %s, 100%%, is %s", (column, names[0]), names)
    for text, value, ends in zip(texts, column, zip(*names, strict=True), strict=True):
        filled = text
        for mark, name in zip(PLACEHOLDERS, ends, strict=True):
            filled = filled.replace(mark, name)
            assert len(name) < 3 or name not in text
        assert filled == f"the reason of {value}, 100%, is {ends[0]}"
    assert forms_of("%s waits", (["a.b"],), (["a.b"], ["c.d"], ["a.b"], ["c"])) == ["\1 waits"]
    assert forms_of("100%%", (), (["a.b"], ["c.d"], ["a.b"], ["c"])) == ["100%"]
