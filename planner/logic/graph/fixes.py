"""Fixes that remove an edge, a path or another fact of a graph: the smallest sets of lines, options of the command line
and the user's rules, found by deriving again without them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.span import Span
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.explain.proof import is_written
from planner.logic.datalog.explain.search import Proof, Prover
from planner.logic.datalog.language.model import Rule
from planner.logic.datalog.language.values import Row
from planner.logic.graph.build import graph_program
from planner.logic.graph.cycles import REFERENCES
from planner.logic.graph.hitting_sets import HittingSets, proofs_for, smallest_sets
from planner.logic.model.graph import CommandLine, Graph, StateEntry, source_json
from planner.logic.programs.rule_programs import Files

REMOVABLE = (
    *REFERENCES,
    "create_before_destroy",
    "state_create_before_destroy",
    "state_depends_on",
    "target",
    "exclude",
    "asked_replacement",
)
"""facts with a line, an option or an entry of the state of their own; declarations are not among them"""
_ANNOTATIONS = re.compile(r"(?:@\w+\(\"(?:[^\"\\]|\\.)*\"\)\s*)+\Z")


@frozen(order=False)
class FixLocation:
    """An item that can be removed or changed. `kind`: line, option, state, rule, variable, value, missing, action,
    text, file, object or first; `text` describes it, `source` is its place (in the format of proofs); `key`
    distinguishes it from others."""

    kind: str
    key: str
    text: str = field(eq=False)
    source: dict[str, Any] | None = field(eq=False, default=None)

    @property
    def json(self) -> dict[str, Any]:
        """As documents have it."""
        return {"kind": self.kind, "text": self.text, **({"source": self.source} if self.source else {})}


@frozen
class Fix:
    """Places that belong together. `checked`: it was tried, and the fact in question is gone; `note`: further remarks,
    or why it was not checked."""

    places: tuple[FixLocation, ...]
    checked: bool
    note: str = ""

    @property
    def json(self) -> dict[str, Any]:
        """As documents have it."""
        note = {"note": self.note} if self.note else {}
        return {"places": [place.json for place in self.places], "checked": self.checked, **note}


@frozen
class Fixes:
    """The sets, smallest first. `limit`: a word about what was not looked at; `stuck`: why there are none."""

    fixes: tuple[Fix, ...] = ()
    limit: str = ""
    stuck: str = ""

    @classmethod
    def of(cls, found: HittingSets[FixLocation], stuck: str, note: str = "") -> Fixes:
        """Sets that were each checked by deriving again."""
        limits = {
            "sets": f"There may be more; these are the {len(found.sets)} smallest.",
            "proofs": "The search was given up.",
        }
        fixes = tuple(Fix(places, True, note) for places in found.sets)
        is_stuck = found.is_stuck or not (fixes or found.limit)
        return cls(fixes, limits.get(found.limit, ""), stuck if is_stuck else "")


def place_of(source: Any, owner: str) -> FixLocation | None:
    """The place that a source names. References on one line of one object (`owner`) belong together."""
    if isinstance(source, Span):
        written = source_json(source)
        key = f"{source.filename}:{written['line']:06}:{owner}"
        return FixLocation("line", key, f"{source.filename}:{written['line']}: {written['snippet'].strip()}", written)
    if isinstance(source, CommandLine):
        return FixLocation("option", source.argument, source.argument, source_json(source))
    if isinstance(source, StateEntry):
        return FixLocation("state", source.address, f"what the state records of {source.address}", source_json(source))
    return None


def fact_fixes(graph: Graph, predicate: str, row: Row, own: Files) -> Fixes:
    """Fixes that remove a fact of a graph."""
    search = _Removals(graph, predicate, row, own)
    stuck = "It rests on what is declared or planned alone: no line, option or rule of yours could be taken away."
    most = proofs_for(len(graph.database.facts))
    return Fixes.of(smallest_sets(search.proof_without, order, most_proofs=most), stuck)


def order(place: FixLocation) -> str:
    """Lines first, by file and line."""
    return f"{place.kind != 'line'} {place.kind} {place.key}"


class _Removals:
    def __init__(self, graph: Graph, predicate: str, row: Row, own: Files) -> None:
        self.facts: FactBase = graph.database.facts
        self.program: RuleProgram = graph.program
        self.predicate, self.row, self.own = predicate, row, own
        self.rows: dict[FixLocation, dict[str, set[Row]]] = {}
        self.rules: dict[FixLocation, Rule] = {}
        for name in REMOVABLE:
            for fact in self.facts.relation(name):
                place = place_of(self.facts.source(name, fact), str(fact[0]))
                if place is not None:
                    self.rows.setdefault(place, {}).setdefault(name, set()).add(fact)
        for rule in graph.program.rules:
            if is_written(rule):
                at = {"file": rule.file, "line": rule.line}
                text = f"your rule {rule.name} ({rule.file}:{rule.line})"
                self.rules[FixLocation("rule", f"{rule.file}:{rule.line:06}", text, at)] = rule

    def proof_without(self, removed: frozenset[FixLocation]) -> Collection[FixLocation] | None:
        rows: dict[str, set[Row]] = {}
        for place in removed:
            for name, facts in self.rows.get(place, {}).items():
                rows.setdefault(name, set()).update(facts)
        program = self.without([self.rules[place] for place in removed if place in self.rules])
        database = evaluate(program, self.facts.without(rows), [self.predicate])
        if self.row not in database[self.predicate]:
            return None
        proof = Prover(program, database).why(self.predicate, self.row)
        return set(self.places(proof)) if proof is not None else None

    def places(self, proof: Proof) -> Iterator[FixLocation]:
        waiting, seen = [proof], set[int]()
        names = {rule.name: place for place, rule in self.rules.items()}
        while waiting:
            at = waiting.pop()
            if id(at) in seen:
                continue
            seen.add(id(at))
            if at.rule is None and at.predicate in REMOVABLE:
                place = place_of(self.facts.source(at.predicate, at.row), str(at.row[0]))
                if place is not None:
                    yield place
            if at.rule is not None and at.rule.name in names:
                yield names[at.rule.name]
            waiting += [entry for entry in at.body if isinstance(entry, Proof)]

    def without(self, rules: Collection[Rule]) -> RuleProgram:
        """The program without the user's rules: their text is left blank."""
        if not rules:
            return self.program
        files = []
        for name, text in self.own:
            for rule in sorted((r for r in rules if r.file == name), key=lambda r: -r.span.start):
                begin = rule.span.start
                named = _ANNOTATIONS.search(text, 0, begin)
                begin = named.start() if named else begin
                text = text[:begin] + re.sub(r"[^\n]", " ", text[begin : rule.span.end]) + text[rule.span.end :]
            files.append((name, text))
        return graph_program(tuple(files))
