"""Point evaluation equals evaluation."""

from __future__ import annotations

import pytest
from engine_helpers import derived, program
from random_programs import RandomProgram

from planner.datalog.engine.evaluate import evaluate
from planner.datalog.engine.fact_base import FactBase

RULES = """
/// desired
.decl desired(i: symbol)
/// exists
.decl exists(i: symbol)
/// differs
.decl differs(i: symbol, path: symbol)
.input desired, exists, differs
/// action
.decl action(i: symbol, action: symbol)
/// fixed
.decl fixed(path: symbol)
/// replaced
.decl replaced(i: symbol)
.output action
fixed("id"). fixed("name").
replaced(I) :- differs(I, P), fixed(P).
action(I, "create") :- desired(I), not exists(I).
action(I, "delete") :- exists(I), not desired(I).
action(I, "replace") :- exists(I), desired(I), replaced(I).
action(I, "update") :- exists(I), desired(I), differs(I, _), not replaced(I).
action(I, "no-op") :- exists(I), desired(I), not differs(I, _).
"""


@pytest.mark.parametrize(
    ("facts", "action"),
    [
        ({"desired": {("x",)}}, "create"),
        ({"exists": {("x",)}}, "delete"),
        ({"desired": {("x",)}, "exists": {("x",)}}, "no-op"),
        ({"desired": {("x",)}, "exists": {("x",)}, "differs": {("x", "size")}}, "update"),
        ({"desired": {("x",)}, "exists": {("x",)}, "differs": {("x", "size"), ("x", "id")}}, "replace"),
    ],
)
def test_one_decision(facts: dict[str, set[tuple[str, ...]]], action: str) -> None:
    point = program(RULES).point(["action"])
    assert point(facts) == {"action": {("x", action)}}
    assert derived(RULES, facts)["action"] == {("x", action)}
    assert point({}) == {"action": set()}


def test_recursion_is_refused() -> None:
    rules = RULES + '/// loop\n.decl loop(i: symbol)\n.output loop\nloop(I) :- loop(I).\nloop("x").'
    with pytest.raises(ValueError, match="loop is recursive"):
        program(rules).point(["loop"])
    with pytest.raises(KeyError):
        program(rules).point(["nothing"])


def test_random_programs() -> None:
    compared = 0
    for seed in range(150):
        random = RandomProgram(seed)
        text = random.text
        loaded = program(text)
        recursive = {p for s in loaded.strata if s.is_recursive for p in s.predicates}
        native = {p.name for p in loaded.predicates.values() if p.operator is not None}
        facts = FactBase.build(random.facts)
        database = evaluate(loaded, facts)
        for name in loaded.predicates:
            needed = {p.name for p in loaded.predicates.values() if p.number in loaded.needed([name])}
            if loaded.predicates[name].is_input or needed & (recursive | native):
                continue
            compared += 1
            relations = {p: facts.relation(p) for p in loaded.predicates}
            assert loaded.point([name])(relations) == {name: database[name]}, (seed, name)
    assert compared > 50
