"""Converts proofs to a stable JSON format, which programs of users and independent checkers read:

    {"format_version": "1.0", "goal": ["edge", "A", "B"], "root": "p1",
     "proofs": {"p1": {"tuple": ["edge", "A", "B"], "rule": "graph/references.by-reference",
                       "reason": "A refers to B in its configuration",
                       "body": [{"proof": "p2"}, {"not": ["pruned", "A"]}, {"test": "A != B"}]},
                "p2": {"tuple": ["reference", "A", "B", "input"], "input": true,
                       "source": {"file": "main.tf", "line": 7, "column": 12, "snippet": "  input = B.id"}}}}

The entries of a body are in the order of the rule's literals. In a negation, null means any value. An aggregate is
`{"aggregate": "count : { edge(A, _) }", "value": 3}`. The source of a row of a native operator is `{"native":
"reduction"}`. A rule of the user also has `"rule_at": {"file": ".planner/rules/own.dl", "line": 3}`. A sub-proof that
is used several times is listed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.explain.render import Absence, Condition, json_row, reason_text
from planner.logic.datalog.explain.search import Proof
from planner.logic.datalog.language.model import Rule
from planner.logic.datalog.language.values import decode

FORMAT_VERSION = "1.0"


def proof_json(
    proof: Proof, facts: FactBase, source_json: Callable[[Any], dict[str, Any]], goal: list[Any] | None = None
) -> dict[str, Any]:
    """The JSON document of a proof. `source_json`: converts the source of a fact to JSON; the entry of a fact without a
    source has no `source`. `goal`: the predicate and row for which the proof was requested, if they differ from those
    of the proof."""
    names: dict[int, str] = {}
    ordered: list[Proof] = []
    waiting = [proof]
    while waiting:
        at = waiting.pop()
        if id(at) not in names:
            names[id(at)] = f"p{len(names) + 1}"
            ordered.append(at)
            waiting += [entry for entry in reversed(at.body) if isinstance(entry, Proof)]
    proofs: dict[str, Any] = {}
    for at in ordered:
        written: dict[str, Any] = {"tuple": json_row(at.predicate, at.row)}
        if at.rule is not None:
            written["rule"] = at.rule.name
            written["reason"] = reason_text(at.rule, at.assignment)
            if is_written(at.rule):
                written["rule_at"] = {"file": at.rule.file, "line": at.rule.line}
            written["body"] = [_entry(entry, names) for entry in at.body]
        else:
            written["input"] = True
            source = facts.source(at.predicate, at.row)
            if source is not None:
                written["source"] = source_json(source)
            elif at.native is not None:
                written["source"] = {"native": at.native}
        proofs[names[id(at)]] = written
    return {
        "format_version": FORMAT_VERSION,
        "goal": goal if goal is not None else json_row(proof.predicate, proof.row),
        "root": names[id(proof)],
        "proofs": proofs,
    }


def is_written(rule: Rule) -> bool:
    """Whether a rule is written in a rule file of the user. False for rules that planner constructs from such rules."""
    return not rule.is_core and rule.file.endswith(".dl")


def _entry(entry: Any, names: dict[int, str]) -> dict[str, Any]:
    if isinstance(entry, Proof):
        return {"proof": names[id(entry)]}
    if isinstance(entry, Absence):
        return {"not": json_row(entry.predicate, entry.pattern)}
    if isinstance(entry, Condition):
        return {"test": entry.text}
    return {"aggregate": entry.text, "value": decode(entry.value)}
