"""The hops of an overview, with the changes at their ends: each change below the hops that lead to it."""

from __future__ import annotations

from planner.answers.explain.cause_groups import grouped
from planner.answers.explain.causes import TRIGGER, Because, CauseStep, Way
from planner.foundation.vocabulary.records import evolve
from planner.render.cause_hops import hop_lines
from planner.render.cause_line import because_lines

ROOT = CauseStep("var.env", "variable", "-var=env")


def because(*steps: tuple[str, str], ways: tuple[tuple[CauseStep, ...], ...] = ()) -> Because:
    known = tuple(Way(way, frozenset({(ROOT.what, ROOT.kind)})) for way in ways)
    return Because((ROOT, *(CauseStep(what, "", place) for what, place in steps)), (ROOT,), ways=known)


SERVER = CauseStep("x.server", "", "main.tf:19")


CHAINS = {
    'module.m["a"].x.y[0]': because(
        ("local.name", "main.tf:2"),
        ('module.m["a"].var.context.name', "main.tf:9"),
        ('module.m["a"].x.y[0].input', "m/main.tf:4"),
    ),
    'module.m["a"].x.y[1]': because(
        ("local.name", "main.tf:2"),
        ('module.m["a"].var.context.name', "main.tf:9"),
        ('module.m["a"].x.y[1].input', "m/main.tf:4"),
    ),
    'module.m["b"].x.y[0]': because(
        ("local.tags", "main.tf:3"),
        ('module.m["b"].var.context.tags', "main.tf:9"),
        ('module.m["b"].x.y[0].input', "m/main.tf:4"),
    ),
    "x.server": because(("local.name", "main.tf:2"), ("x.server.trigger", "main.tf:20")),
    "x.watching": because(
        ("local.name", "main.tf:2"),
        ("x.server.trigger", "main.tf:20"),
        ("x.server.id", "main.tf:19"),
        ways=((SERVER, CauseStep("x.watching", "", "main.tf:25", note=TRIGGER)),),
    ),
}
PLANNED = dict.fromkeys(CHAINS, "update") | {"x.server": "delete-then-create", "x.watching": "delete-then-create"}


def lines(folds: bool = False, named: set[str] | None = None) -> list[str]:
    (group,) = grouped(CHAINS, PLANNED, {"update": 1, "delete-then-create": 2})
    return hop_lines(group, CHAINS, PLANNED, folds=folds, named=named)


def test_an_overview_ends_with_the_changes():
    named: set[str] = set()
    assert lines(folds=True, named=named) == [
        "-> local.name (main.tf:2)",
        '  -> module.m["a"].var.context.name (main.tf:9)',
        '    -> module.m["a"].x.y[0, 1] (m/main.tf:4, 2 updated)',
        "  -> x.server (main.tf:20, replaced)",
        "    -> x.watching (replace_triggered_by, main.tf:25, replaced)",
        "-> local.tags (main.tf:3)",
        '  -> module.m["b"].var.context.tags (main.tf:9)',
        '    -> module.m["b"].x.y[0] (m/main.tf:4, updated)',
    ]
    assert named == set(CHAINS)


def test_a_change_is_below_each_object_that_leads_to_it():
    first, *others = (f'module.m["{key}"].x.id.hex' for key in "abc")
    alike = CauseStep(first, "", "m/main.tf:6", also=tuple(others))
    chains = {f'module.m["{key}"].x.id': because((f'module.m["{key}"].x.id.keepers', "m/main.tf:7")) for key in "abc"}
    ways = (
        (evolve(alike, what=first[:-4], also=tuple(other[:-4] for other in others)), alike, CauseStep("x.all.ids")),
        (ROOT, CauseStep("x.all.env", "", "main.tf:31")),
    )
    chains["x.all"] = because(("x.all.env", "main.tf:31"), ways=ways)
    planned = dict.fromkeys(chains, "delete-then-create")
    (group,) = grouped(chains, planned, {})
    assert hop_lines(group, chains, planned, folds=True, named=set(), has_further=True) == [
        '-> module.m["a", "b", "c"].x.id (m/main.tf:7, 3 replaced)',
        "  -> x.all (replaced)",
        "-> x.all (main.tf:31, replaced)",
    ]


def test_otherwise_each_way_has_its_hops():
    assert lines() == [
        "-> local.name (main.tf:2)",
        '  -> module.m["a"].var.context.name (main.tf:9)',
        "  -> x.server (main.tf:20, replaced)",
        "-> local.tags (main.tf:3)",
        '  -> module.m["b"].var.context.tags (main.tf:9)',
    ]


def test_the_value_that_changed_is_listed_once() -> None:
    chain = because(("m.var.name", "main.tf:5"), ("m.local.name", "m/main.tf:1"))
    root = CauseStep("the text of m.var.name", "text", "main.tf:5", before='"a"', value='"b"')
    lines = because_lines(evolve(chain, steps=(root, *chain.steps[1:]), roots=(root,)), "x.server", {})
    assert lines == ["because:", "  m.local.name (m/main.tf:1)", '  m.var.name "a" -> "b" (main.tf:5)']
