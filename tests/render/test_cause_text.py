"""Causes in words: differences, addresses that differ in keys, and lines of a terminal."""

from __future__ import annotations

import pytest

from planner.answers.explain.causes import CauseStep
from planner.foundation.values.expression_text import short_texts
from planner.render.alike import MOST_ALIKE, alike, alike_moves
from planner.render.cause_line import difference, folded
from planner.render.terminal import fold

DIFFERENCES = [
    ('"v1"', '"v2"', '"v1" -> "v2"'),
    ("2", "4", "2 -> 4"),
    (
        '"registry.example.com/team/web:1.4"',
        '"registry.example.com/team/web:1.5"',
        '"...team/web:[1.4 -> 1.5]"',
    ),
    (
        '"docker run --restart=always --image=web:1 --label=one --label=two"',
        '"docker run --restart=always --image=web:22 --label=one --label=two"',
        '"...--image=web:[1 -> 22] --label=one --l..."',
    ),
    (
        '"Services: api, web, worker, and many more things"',
        '"Services: api, web, and many more things"',
        '"... api, web, [worker,  -> ]and many more th..."',
    ),
    ('"' + "a" * 70 + '"', '"b"', f'"{"a" * 48}..." -> "b"'),
    ("[" + "1,2," * 20 + "3]", "[" + "1,2," * 20 + "4]", "...2,1,2,1,2,1,2,[3 -> 4]]"),
]


@pytest.mark.parametrize(("before", "value", "text"), DIFFERENCES)
def test_a_difference_is_shown_around_its_place(before: str, value: str, text: str) -> None:
    assert difference(before, value) == text


def test_values_are_never_cut_before_their_difference() -> None:
    before, after = short_texts("x" * 100 + "1" + "y" * 100, "x" * 100 + "2" + "y" * 100)
    assert before == '"...' + "x" * 24 + "1" + "y" * 35 + '..."'
    assert after == '"...' + "x" * 24 + "2" + "y" * 35 + '..."'
    assert short_texts("a\nb, c\nd", "a\nb\nd") == ('line 2: "b, c"', 'line 2: "b"')
    assert short_texts("a\nd", "a\nb\nc\nd") == ("nothing", 'line 2 (and 1 more): "b"')
    assert short_texts("a\nb\n", "c\nd\n") == ('line 1 (and 1 more): "a"', 'line 1 (and 1 more): "c"')
    assert short_texts('{"a":{"b":1,"c":[1,2]}}', '{"a":{"b":1,"c":[1,3]}}') == ("at a.c[1]: 2", "at a.c[1]: 3")
    assert short_texts('{"a":1,"b c":2}', '{"a":2}') == ("at a (and 1 more): 1", "at a (and 1 more): 2")
    assert short_texts('["a","b"]', '["a"]') == ('at the top: ["a","b"]', 'at the top: ["a"]')
    assert short_texts('{"a":1}', "{}") == ("at a: 1", "nothing")
    assert short_texts("{no", '{"a":1}') == ('"{no"', '"{\\"a\\":1}"')
    assert short_texts(None, "b") == ("nothing", '"b"')
    assert short_texts("x" * 100, "z", hidden=True) == ("(sensitive value)", "(sensitive value)")


ALIKE = [
    (["a.b", "a.c"], ["a.b", "a.c"]),
    (["a.b[0]", "a.b[1]"], ["a.b[0, 1]"]),
    (["a.b[2]", "a.b[0]", "a.b[1]"], ["a.b[0..2]"]),
    (['m["x"].a[0]', 'm["x"].a[1]', 'm["y"].a[0]', 'm["y"].a[1]'], ['m["x", "y"].a[0, 1]']),
    (['m["x"].a[0]', 'm["x"].a[1]', 'm["y"].a[0]'], ['m["x"].a[0, 1]', 'm["y"].a[0]']),
    ([f'a["{key}"]' for key in "abcdef"], ['a["a", "b", "c", ... 3 more]']),
    (['a["x].b["]', 'a["y"]'], ['a["x].b[", "y"]']),
]


@pytest.mark.parametrize(("names", "texts"), ALIKE)
def test_addresses_that_differ_in_keys_are_one(names: list[str], texts: list[str]) -> None:
    assert [one.text for one in alike(names)] == texts
    assert sum(one.number for one in alike(names)) == len(names)


FOLDED = [
    ("short", 20, ["short"]),
    ('  -> module.env["prod", "qa"].module.web.x', 30, ['  -> module.env["prod", "qa"]', "    .module.web.x"]),
    ("one two three four", 9, ["one two", "  three", "  four"]),
    ("x" * 30, 10, ["x" * 30]),
    ("one two three four", 0, ["one two three four"]),
]


def test_many_names_that_differ_in_several_keys_are_one() -> None:
    names = [f'module.a["{a}"].module.b["{b}"].x.y[0]' for a, b in ("pq", "pr", "qs", "rt", "su")]
    assert [one.text for one in alike(names[:4], MOST_ALIKE)] == [
        'module.a["p"].module.b["q", "r"].x.y[0]',
        'module.a["q"].module.b["s"].x.y[0]',
        'module.a["r"].module.b["t"].x.y[0]',
    ]
    assert alike([*names, "x.z"], MOST_ALIKE) == [("module.a[*].module.b[*].x.y[0]", 5), ("x.z", 1)]


def test_many_moves_that_keep_their_keys_are_one() -> None:
    kept = [f'a.x["{key}"] was a.y["{key}"] (moved block, main.tf:1)' for key in "abcd"]
    assert alike_moves(kept[:3]) == [(text, 1) for text in kept[:3]]
    others = ['a.x["f"] was a.x["e"]', 'a.x["h"] was a.x["g"]', 'a.x["j"] was a.x["i"]', 'a.x["l"] was a.x["k"]']
    assert alike_moves([*kept, *others]) == [
        ("a.x[*] was a.y[*] (moved block, main.tf:1)", 4),
        *((text, 1) for text in others),
    ]


@pytest.mark.parametrize(("text", "width", "lines"), FOLDED)
def test_lines_are_folded_between_words_and_steps(text: str, width: int, lines: list[str]) -> None:
    assert fold(text, width) == lines


def test_values_between_others_in_a_module_are_left_out_and_objects_are_not() -> None:
    names = [
        "var.a",
        "module.m.var.b",
        "module.m.local.c",
        "module.m.null.x",
        "module.m.local.d",
        "module.m.out",
        "local.e",
    ]
    steps = [CauseStep(name) for name in names]
    assert [step.what for step in folded(steps)] == [
        "var.a", "module.m.var.b", "module.m.null.x", "module.m.out", "local.e",
    ]  # fmt: skip
    inside = [CauseStep(name) for name in names[2:]]
    assert folded(inside, "module.m.var.b")[0].what == "module.m.null.x"
