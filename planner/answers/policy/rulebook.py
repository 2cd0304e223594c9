"""The reference of the product's rules: its programs, rules and predicates."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from typing import Any

from planner.answers.policy.program import load_policies
from planner.answers.policy.sources import policy_files
from planner.answers.policy.standing_policies import own
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.records import evolve, frozen
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language.builtins import FUNCTIONS, RELATIONS, TESTS, BuiltinPredicate
from planner.logic.datalog.language.link import first_sentence
from planner.logic.datalog.language.model import Predicate, Rule
from planner.logic.datalog.language.spaces import nearest
from planner.logic.datalog.tools.describe import Description, PredicateGraph, describe, predicate_graph
from planner.logic.graph.build import graph_program
from planner.logic.programs.rule_programs import batch_program, product_program


def _policy() -> RuleProgram:
    policies, problems = load_policies(())
    if policies is None:
        raise Failure(problems)
    return policies.program


PROGRAMS: tuple[str, ...] = (
    "graph",
    "decisions",
    "moves",
    "causes",
    "policy",
    "batch",
    "limits",
    "relevance",
    "verdicts",
    "testing",
    "stacks",
    "deployments",
    "renewal",
    "renames",
    "postponed",
    "discover",
)
"""names of programs, which are sets of rules that are evaluated together; a file that belongs to several programs is
listed with the first of them"""
_ASKED_BY_WHY = frozenset(("decisions", "causes", "moves", "relevance"))


def program(name: str) -> RuleProgram:
    """The program of this name. Raises Failure for an unknown name."""
    if name not in PROGRAMS:
        detail = f"The programs are: {', '.join(PROGRAMS)}."
        raise Failure(error("rules.unknown_program", f"There is no program {name}", detail))
    apart: dict[str, Callable[[], RuleProgram]] = {"graph": graph_program, "policy": _policy, "batch": batch_program}
    return apart[name]() if name in apart else product_program(name)


def rules() -> Iterator[tuple[str, Rule]]:
    """(program, rule) in the order of programs and files."""
    for name, files in _files().items():
        yield from ((name, rule) for rule in program(name).rules if rule.file in files)


def _files() -> dict[str, set[str]]:
    """{program: its rule files, without the files of programs before it}."""
    result: dict[str, set[str]] = {}
    seen: set[str] = set()
    for name in PROGRAMS:
        files = {p.span.filename for p in program(name).predicates.values()} | {r.file for r in program(name).rules}
        result[name] = files - seen
        seen |= files
    return result


def rule_json(name: str, rule: Rule) -> dict[str, Any]:
    """A rule as in `rules list -json`, format 1.0."""
    return {
        "name": rule.name,
        "text": rule.text,
        "reason": rule.reason,
        "predicate": rule.head.predicate,
        "file": rule.file,
        "line": rule.line,
        "program": name,
    }


# ---------------------------------------------------------------- predicates


@frozen
class PredicateEntry:
    """A predicate with the rules that derive and read it. `programs`: the programs that contain the predicate. `given`:
    the programs in which the predicate is an input. The declaration in `description` is the one of the first
    program."""

    programs: tuple[str, ...]
    given: tuple[str, ...]
    description: Description

    @property
    def predicate(self) -> Predicate:
        return self.description.predicate

    @property
    def meaning(self) -> str:
        """The first sentence or line of the doc comment."""
        return first_sentence(self.predicate) or self.predicate.doc.split("\n")[0]


def entries() -> list[PredicateEntry]:
    """The predicates of all programs, sorted by name."""
    described: dict[str, dict[str, Description]] = {}
    for name in PROGRAMS:
        for description in describe(program(name)).values():
            described.setdefault(description.predicate.name, {})[name] = description
    return [_entry(described[name]) for name in sorted(described)]


def _entry(described: dict[str, Description]) -> PredicateEntry:
    """The entry of one predicate, combined from its programs."""
    first = next(iter(described.values()))
    rules = {rule.name: rule for d in described.values() for rule in d.rules}
    readers = {rule.name: rule for d in described.values() for rule in d.readers}
    natives = dict.fromkeys(name for d in described.values() for name in d.natives)
    given = tuple(name for name, d in described.items() if d.predicate.is_input)
    together = Description(first.predicate, tuple(rules.values()), tuple(readers.values()), tuple(natives))
    return PredicateEntry(tuple(described), given, together)


def entry_of(name: str) -> PredicateEntry:
    """The entry of a predicate, which may also be declared in the policies of the working directory. Raises Failure if
    the name is ambiguous, or if the predicate does not exist. In the last case, the message contains the most similar
    name."""
    everything = entries()
    for entry in everything:
        if entry.predicate.name == name:
            return entry
    own = _own_entries()
    items = [entry for entry in own if name == entry.predicate.name or entry.predicate.name.endswith(f".{name}")]
    if len(items) == 1:
        return items[0]
    if items:
        several = " and ".join(entry.predicate.name for entry in items)
        raise Failure(error("rules.ambiguous", "Ambiguous predicate name", f"There are {several}."))
    known = (*(e.predicate.name for e in (*everything, *own)), *(one.name for one in built_in()))
    raise Failure(_unknown(name, iter(known)))


def _own_entries() -> list[PredicateEntry]:
    """The predicates of the policies in the working directory; [] if the policies cannot be read."""
    try:
        words = own(os.curdir)
        policies, _ = load_policies(policy_files(words)) if words else (None, ())
    except Failure:
        return []
    if policies is None:
        return []
    described = describe(policies.program).values()
    return [_entry({"policy": d}) for d in described if not d.predicate.is_core]


def built_in(name: str | None = None) -> list[BuiltinPredicate]:
    """The built-in predicates with this name; if it is None, all built-in predicates, ordered by family."""
    items = [*TESTS.values(), *FUNCTIONS.values(), *RELATIONS.values()]
    if name is not None:
        return [one for one in items if one.name == name]
    families = list(dict.fromkeys(one.family for one in items))
    return sorted(items, key=lambda one: (families.index(one.family), one.name))


def built_in_json(one: BuiltinPredicate) -> dict[str, Any]:
    """A built-in predicate as in `rules doc -json`, format 1.0."""
    kind = "relation" if one.outputs else "function" if one.result else "test"
    return {
        "name": one.name,
        "kind": kind,
        "family": one.family,
        "declaration": one.declaration,
        "inputs": [{"name": name, "type": kind} for name, kind in one.inputs],
        "outputs": [{"name": name, "type": kind} for name, kind in one.outputs],
        "result": one.result,
        "meaning": one.meaning,
        "example": one.example,
        "without_value": one.failing,
    }


def not_of_graphs(problem: Diagnostic, known: Collection[str]) -> Diagnostic:
    """The error about a relation that graphs do not have, with hints: the programs that have the relation, and the
    commands of these programs. If no program has the relation, and no name in `known` is similar, the error names the
    most similar relation of policies. Other problems are returned unchanged."""
    if problem.code != "rules.unknown_predicate" or problem.subject is None:
        return problem
    name = problem.subject.text.removeprefix("not ").partition("(")[0].strip().removeprefix("policy.")
    programs = [p for p in PROGRAMS if name in program(p).predicates]
    if not programs and not nearest(name, known):
        return evolve(problem, detail=problem.detail + _near_in_policies(name))
    if not programs or "graph" in programs:
        return problem
    detail = f"{name} is a relation of the rules of {' and '.join(programs)}, not of graphs."
    if set(programs) & _ASKED_BY_WHY:
        detail += f" To explain one of its facts: planner why '{name}(...)'"
    if "policy" in programs:
        detail += " Rules about it are policies: put them into .planner/policies, or into files that -policy names."
    if "batch" in programs:
        detail += " To query it: planner batch query"
    if "deployments" in programs:
        detail += " To query it for a deployment of a stack: planner stacks query"
    return evolve(problem, summary="Not a relation of graphs", detail=detail)


def _near_in_policies(name: str) -> str:
    known = program("policy").predicates
    hint = nearest(name, known)
    meant = next((p for other, p in known.items() if hint and f" {other}?" in hint), None)
    return f"{hint} Policies have {meant.declaration}." if meant is not None else ""


def _unknown(name: str, known: Iterator[str]) -> Diagnostic:
    detail = f"There is no predicate {name}.{nearest(name, known)} To list them all: planner rules doc"
    return error("rules.unknown_predicate", "Unknown predicate", detail)


def entry_json(entry: PredicateEntry) -> dict[str, Any]:
    """A predicate as in `rules doc -json`, format 1.0."""
    predicate, description = entry.predicate, entry.description
    native = {"operator": predicate.operator, "inputs": list(predicate.inputs)} if predicate.operator else None
    return {
        "name": predicate.name,
        "program": entry.programs[0],
        "programs": list(entry.programs),
        "columns": [{"name": c.name, "type": c.type.name, "base": c.type.base} for c in predicate.columns],
        "meaning": entry.meaning,
        "doc": predicate.doc,
        "file": predicate.span.filename,
        "line": predicate.span.line,
        "input": predicate.is_input,
        "output": predicate.is_output,
        "open": predicate.is_open,
        "native": native,
        "rules": [{"name": rule.name, "text": rule.text} for rule in description.rules],
        "read_by": [rule.name for rule in description.readers],
        "native_readers": list(description.natives),
    }


def dependency_graphs(of: str | None = None) -> dict[str, PredicateGraph]:
    """{program: dependencies of its predicates}. If `of` is given, only the dependencies of this predicate, in the
    programs that contain it. Raises Failure for an unknown name."""
    if of is None:
        return {name: predicate_graph(program(name)) for name in PROGRAMS}
    entry = entry_of(of)
    return {name: predicate_graph(program(name), of) for name in entry.programs}
