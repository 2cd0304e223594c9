"""Proofs, and reasons why not. Random programs are proved in tests/differential."""

from __future__ import annotations

from typing import Any

import pytest
from engine_helpers import derived, plain, program
from proof_checker import ProofError, check
from thinned import thinned

from planner.logic.datalog.engine.evaluate import Database, evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.datalog.explain.proof import proof_json
from planner.logic.datalog.explain.search import Prover
from planner.logic.datalog.explain.why_not import why_not

RULES = """
/// reference
.decl reference(a: symbol, b: symbol, path: symbol)
/// pruned
.decl pruned(a: symbol)
.input reference, pruned
/// edge
.decl edge(a: symbol, b: symbol)
/// path
.decl path(a: symbol, b: symbol)
/// busy
.decl busy(a: symbol, n: number)
/// reduced
.native reduced(a: symbol, b: symbol) = reduction(edge)
/// label
.decl label(a: symbol, text: symbol)
.output path, busy, reduced, label
@reason("{A} refers to {B} in its configuration")
edge(A, B) :- reference(A, B, _), not pruned(A), A != B.
path(A, B) :- edge(A, B).
path(A, C) :- edge(A, B), path(B, C).
@name("busy") @reason("{A} waits for {N}")
busy(A, N) :- edge(A, _), N = count : { edge(A, _) }, not pruned(_).
label(A, T) :- reduced(A, B), T = A ++ " -> " ++ B, contains(T, ">"), not starts_with(T, "z").
label("root", "") .
"""


def proved(database: Database, predicate: str, row: tuple[Any, ...]) -> dict[str, Any]:
    prover = Prover(database.program, database)
    proof = prover.why(predicate, row)
    assert proof is not None
    written = proof_json(proof, database.facts, lambda source: {"file": source})
    rules = [{"name": rule.name, "text": rule.text} for rule in database.program.rules]
    check(rules, written, lambda name: plain(database[name]))
    return written


def test_the_documented_format() -> None:
    builder = FactBuilder()
    builder.add("reference", "A", "B", "input", source="main.tf")
    loaded = program(RULES, "graph/references.dl")
    database = evaluate(loaded, builder.build())
    assert proved(database, "edge", ("A", "B")) == {
        "format_version": "1.0",
        "goal": ["edge", "A", "B"],
        "root": "p1",
        "proofs": {
            "p1": {
                "tuple": ["edge", "A", "B"],
                "rule": "graph/references.1",
                "reason": "A refers to B in its configuration",
                "body": [{"proof": "p2"}, {"not": ["pruned", "A"]}, {"test": "A != B"}],
            },
            "p2": {"tuple": ["reference", "A", "B", "input"], "input": True, "source": {"file": "main.tf"}},
        },
    }


FACTS = {"reference": [("a", "b", "x"), ("b", "c", "y"), ("a", "c", "z"), ("a", "b", "w")]}


def test_aggregates_natives_computations_and_facts_of_rules() -> None:
    database = derived(RULES, FACTS)
    written = proved(database, "busy", ("a", 2))
    assert written["proofs"]["p1"]["body"][1:] == [
        {"aggregate": "count : { edge(a, _) }", "value": 2},
        {"not": ["pruned", None]},
    ]
    assert written["proofs"]["p1"]["reason"] == "a waits for 2"
    written = proved(database, "label", ("a", "a -> b"))
    assert written["proofs"]["p1"]["body"] == [
        {"proof": "p2"},
        {"test": 'a -> b = a ++ " -> " ++ b'},
        {"test": "contains(a -> b, >)"},
        {"test": "not starts_with(a -> b, z)"},
    ]
    assert written["proofs"]["p2"] == {"tuple": ["reduced", "a", "b"], "input": True, "source": {"native": "reduction"}}
    written = proved(database, "label", ("root", ""))
    assert written["proofs"]["p1"]["body"] == []
    assert written["proofs"]["p1"]["reason"] == 'label("root", "").'


def test_the_least_proof_is_found_and_chosen_the_same_way_each_time() -> None:
    database = derived(RULES, FACTS)
    proof = Prover(database.program, database).why("path", ("a", "c"))
    assert proof is not None
    assert (proof.height, proof.rule and proof.rule.name) == (2, "rules.2")
    edge = Prover(database.program, database).why("edge", ("a", "b"))
    assert edge is not None
    assert edge.body[0].row == ("a", "b", "w")  # type: ignore[union-attr]


def test_what_does_not_hold_has_no_proof() -> None:
    database = derived(RULES, FACTS)
    prover = Prover(database.program, database)
    assert prover.why("edge", ("a", "z")) is None
    with pytest.raises(KeyError):
        prover.why("nothing", ())


def test_a_given_row_of_a_derived_predicate_is_a_leaf() -> None:
    database = derived(RULES, {**FACTS, "edge": [("a", "b"), ("c", "z")]})
    assert "rule" not in proved(database, "edge", ("a", "b"))["proofs"]["p1"]
    assert proved(database, "path", ("b", "z"))["proofs"]["p1"]["rule"] == "rules.3"


@pytest.mark.parametrize(
    "step", thinned(["path(A, B), edge(B, C)", "edge(A, B), path(B, C)", "path(A, B), path(B, C)"], 3)
)
def test_high_proofs(step: str) -> None:
    rules = f"""
    /// e
    .decl edge(a: number, b: number)
    .input edge
    /// p
    .decl path(a: number, b: number)
    .output path
    path(A, B) :- edge(A, B).
    path(A, C) :- {step}.
    """
    database = derived(rules, {"edge": [(i, (i + 1) % 280) for i in range(280)]})
    written = proved(database, "path", (0, 0))
    assert len(written["proofs"]) >= 559  # a chain of 280 edges and their joins
    assert written["proofs"]["p1"]["tuple"] == ["path", 0, 0]


def test_a_row_with_many_derivations() -> None:
    rules = """
    /// edge
    .decl edge(a: number, b: number)
    .input edge
    /// step
    .decl step(a: number, b: number)
    step(A, B) :- edge(A, B), not edge(B, A).
    /// busy
    .decl busy(a: number)
    .output busy
    @name("busy") @reason("{B} waits for {A}")
    busy(A) :- step(B, A).
    """
    database = derived(rules, {"edge": [(i, 0) for i in range(1, 3000)]})
    assert proved(database, "busy", (0,))["proofs"]["p1"]["reason"] == "1 waits for 0"


def test_rules_know_where_they_stand() -> None:
    rule = program(RULES, "graph/references.dl").rule("graph/references.1")
    assert (rule.name, rule.file, rule.line) == ("graph/references.1", "graph/references.dl", 19)
    assert rule.text == "edge(A, B) :- reference(A, B, _), not pruned(A), A != B."
    assert rule.reason == "{A} refers to {B} in its configuration"


def test_proofs_do_not_go_in_circles() -> None:
    database = derived(RULES, {"reference": [("a", "b", ""), ("b", "a", ""), ("b", "c", "")]})
    for row in database.sorted("path"):
        proved(database, "path", row)


def test_the_checker_sees_forged_proofs() -> None:
    database = derived(RULES, FACTS)
    rules = [{"name": rule.name, "text": rule.text} for rule in database.program.rules]

    def forged(change: Any) -> None:
        written = proved(database, "path", ("a", "c"))
        change(written)
        with pytest.raises(ProofError):
            check(rules, written, lambda name: plain(database[name]))

    edge = "p2"
    forged(lambda w: w["proofs"]["p1"].update(tuple=["path", "a", "z"]))
    forged(lambda w: w.update(goal=["path", "a", "b"]))
    forged(lambda w: w["proofs"]["p1"].update(rule="rules.1"))
    forged(lambda w: w["proofs"]["p1"].update(body=[]))
    forged(lambda w: w["proofs"][edge]["body"][1].update({"not": ["pruned", "b"]}))
    forged(lambda w: w["proofs"]["p3"].update(tuple=["reference", "a", "b", "x"]))
    forged(lambda w: w["proofs"]["p3"].update(body=[{"proof": "p1"}], rule="rules.2", input=False))
    forged(lambda w: w["proofs"].update(p9=w["proofs"]["p3"]))


# ---------------------------------------------------------------- why not


def obstacles(database: Database, predicate: str, row: tuple[Any, ...]) -> list[tuple[str, str]] | None:
    found = why_not(Prover(database.program, database), predicate, row)
    return None if found is None else [(o.rule.name, o.text) for o in found]


def test_why_not() -> None:
    database = derived(RULES, {**FACTS, "pruned": [("c",)]})
    assert obstacles(database, "edge", ("a", "b")) is None
    assert obstacles(database, "edge", ("a", "z")) == [("rules.1", "reference(a, z, _)")]
    assert obstacles(database, "path", ("b", "z")) == [("rules.2", "edge(b, z)"), ("rules.3", "path(c, z)")]
    assert obstacles(database, "busy", ("a", 2)) == [("busy", "not pruned(_)")]
    assert obstacles(database, "busy", ("a", 5))[0] == ("busy", "not pruned(_)")  # type: ignore[index]
    assert obstacles(database, "pruned", ("a",)) == []
    assert obstacles(database, "label", ("b", "x"))[1] == ("rules.6", 'label("root", "")')  # type: ignore[index]


def test_why_not_names_the_furthest_literal() -> None:
    database = derived(RULES, {"reference": [("a", "a", "x"), ("c", "d", "x")], "pruned": [("c",)]})
    assert obstacles(database, "edge", ("a", "a")) == [("rules.1", "a != a")]
    assert obstacles(database, "edge", ("c", "d")) == [("rules.1", "not pruned(c)")]
    found = why_not(Prover(database.program, database), "edge", ("c", "d"))
    assert found is not None
    assert found[0].assignment == {"A": "c", "B": "d"}


def test_why_not_of_a_computed_head() -> None:
    rules = "/// n\n.decl n(a: number)\n.input n\n/// m\n.decl m(a: number)\n.output m\nm(A + 1) :- n(A)."
    database = derived(rules, {"n": [(1,)]})
    assert obstacles(database, "m", (5,)) == [("rules.1", "m(A + 1) gives m(2)")]
