"""Finds fixes that remove an edge, a path or another derived row of a graph: the smallest sets of lines, command line
options and users' rules to remove. Each set is verified by deriving the graph without it."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterator
from typing import Any, Generic, TypeVar

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
"""predicates whose facts come from a line, an option or an entry in the state, except declarations"""
_ANNOTATIONS = re.compile(r"(?:@\w+\(\"(?:[^\"\\]|\\.)*\"\)\s*)+\Z")


@frozen(order=False)
class FixLocation:
    """An item of a fix, which can be removed or changed. `kind`: line, option, state, rule, variable, value, missing,
    action, text, file, object or first. `key`: identifies the item. `text`: describes it. `source`: its position, in
    the proof format; None if there is none."""

    kind: str
    key: str
    text: str = field(eq=False)
    source: dict[str, Any] | None = field(eq=False, default=None)

    @property
    def json(self) -> dict[str, Any]:
        return {"kind": self.kind, "text": self.text, **({"source": self.source} if self.source else {})}


@frozen
class Fix:
    """Items that must be changed together. `checked`: whether the fix was tried and is effective. `note`: remarks, or
    the reason why the fix was not checked."""

    places: tuple[FixLocation, ...]
    checked: bool
    note: str = ""

    @property
    def json(self) -> dict[str, Any]:
        note = {"note": self.note} if self.note else {}
        return {"places": [place.json for place in self.places], "checked": self.checked, **note}


@frozen
class Fixes:
    """The fixes that were found, the smallest first. `limit`: why the search was incomplete. `stuck`: why there are no
    fixes."""

    fixes: tuple[Fix, ...] = ()
    limit: str = ""
    stuck: str = ""

    @classmethod
    def of(cls, sets: HittingSets[FixLocation], stuck: str, note: str = "") -> Fixes:
        """The fixes in the result of a search, which were checked by deriving the graph again. `stuck`: the reason if
        there are no fixes. `note`: a remark about each fix."""
        limits = {
            "sets": f"There may be more fixes; these are the {len(sets.sets)} smallest.",
            "proofs": "The search was stopped early.",
        }
        fixes = tuple(Fix(places, True, note) for places in sets.sets)
        is_stuck = sets.is_stuck or not (fixes or sets.limit)
        return cls(fixes, limits.get(sets.limit, ""), stuck if is_stuck else "")


def place_of(source: Any, owner: str) -> FixLocation | None:
    """The item for a source. All references of one object (`owner`) in one line are a single item. None for a source
    that users cannot edit."""
    if isinstance(source, Span):
        written = source_json(source)
        key = f"{source.filename}:{written['line']:06}:{owner}"
        return FixLocation("line", key, f"{source.filename}:{written['line']}: {written['snippet'].strip()}", written)
    if isinstance(source, CommandLine):
        return FixLocation("option", source.argument, source.argument, source_json(source))
    if isinstance(source, StateEntry):
        return FixLocation("state", source.address, f"the record of {source.address} in the state", source_json(source))
    return None


def fact_fixes(graph: Graph, predicate: str, row: Row, own: Files) -> Fixes:
    search = _Removals(graph, predicate, row, own)
    stuck = (
        "There is no line, option or rule to remove: the result follows from the declared and planned objects alone."
    )
    most = proofs_for(len(graph.database.facts))
    return Fixes.of(smallest_sets(search.proof_without, order, most_proofs=most), stuck)


def order(place: FixLocation) -> str:
    """The sort key of an item: lines come first, sorted by file and number."""
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
        """The program without these rules of the user. In the rule files, the texts of the rules are replaced by
        blanks."""
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


# Finds the smallest sets of items whose removal invalidates a fact: minimal hitting sets of the items in its proofs.
# Reiter's tree is searched level by level. If a proof remains after some items were removed, the items of this proof
# are the candidates for the next removal. Otherwise the removed items are a result. So every set is verified by
# deriving again. Because smaller sets come first, every item in a set is necessary.


MAX_SETS = 10
MAX_PROOFS = 200  # maximum number of derivations, after which the search gives up

_MAX_FACTS = 1_000_000  # maximum total number of facts in all derivations of a search

K = TypeVar("K", bound=Hashable)


@frozen
class HittingSets(Generic[K]):
    """The result of a search for smallest sets. `sets`: the smallest first, each sorted. `limit`: the limit that ended
    the search early, "sets" or "proofs"; "" if these are all sets. `is_stuck`: whether there is no set because a proof
    contains no removable items."""

    sets: tuple[tuple[K, ...], ...] = ()
    limit: str = ""
    is_stuck: bool = False


def smallest_sets(
    proof_without: Callable[[frozenset[K]], Collection[K] | None],
    order: Callable[[K], str] = str,
    most_sets: int = MAX_SETS,
    most_proofs: int = MAX_PROOFS,
) -> HittingSets[K]:
    """The smallest sets of items after whose removal there is no proof. `proof_without`: returns the items of a proof
    that does not use the given items; None if there is no such proof. `order`: returns the sort key of an item.
    `most_sets`, `most_proofs`: limits of the search."""
    items: list[frozenset[K]] = []
    known: list[frozenset[K]] = []
    waiting: deque[frozenset[K]] = deque([frozenset()])
    seen: set[frozenset[K]] = set(waiting)
    proofs = 0
    while waiting:
        removed = waiting.popleft()
        if any(one <= removed for one in items):
            continue
        places = next((places for places in known if not places & removed), None)
        if places is None:
            if proofs >= most_proofs:
                return HittingSets(_sort(items, order), "proofs")
            proofs += 1
            proved = proof_without(removed)
            if proved is None:
                items.append(removed)
                if len(items) >= most_sets:
                    return HittingSets(_sort(items, order), "sets" if waiting else "")
                continue
            places = frozenset(proved)
            if not places:
                if not removed:
                    return HittingSets(is_stuck=True)
                continue
            known.append(places)
        for place in sorted(places, key=order):
            further = removed | {place}
            if further not in seen:
                seen.add(further)
                waiting.append(further)
    return HittingSets(_sort(items, order), is_stuck=not items)


def proofs_for(facts: int) -> int:
    """The maximum number of derivations of a search over this number of facts."""
    return max(10, min(MAX_PROOFS, _MAX_FACTS // max(facts, 1)))


def _sort(found: Collection[frozenset[K]], order: Callable[[K], str]) -> tuple[tuple[K, ...], ...]:
    sets = [tuple(sorted(one, key=order)) for one in found]
    return tuple(sorted(sets, key=lambda one: (len(one), [order(place) for place in one])))
