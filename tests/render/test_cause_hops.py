"""The hops of an overview, with the changes at their ends: each change below the hops that lead to it."""

from __future__ import annotations

from planner.answers.explain.causes import Because, CauseStep, grouped
from planner.render.cause_hops import hop_lines

ROOT = CauseStep("var.env", "variable", "-var=env")


def because(*steps: tuple[str, str]) -> Because:
    return Because((ROOT, *(CauseStep(what, "", place) for what, place in steps)), (ROOT,))


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
        ("local.name", "main.tf:2"), ("x.server.trigger", "main.tf:20"), ("x.server.id", "main.tf:19")
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
        "    -> x.watching (replace_triggered_by, replaced)",
        "-> local.tags (main.tf:3)",
        '  -> module.m["b"].var.context.tags (main.tf:9)',
        '    -> module.m["b"].x.y[0] (m/main.tf:4, updated)',
    ]
    assert named == set(CHAINS)


def test_otherwise_each_way_has_its_hops():
    assert lines() == [
        "-> local.name (main.tf:2)",
        '  -> module.m["a"].var.context.name (main.tf:9)',
        "  -> x.server (main.tf:20, replaced)",
        "-> local.tags (main.tf:3)",
        '  -> module.m["b"].var.context.tags (main.tf:9)',
    ]
