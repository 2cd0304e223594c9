"""What can hardly be meant in a policy although it can be run: it would say nothing, and look like a pass."""

from __future__ import annotations

from collections.abc import Iterator

from planner.foundation.vocabulary.diagnostic import Diagnostic, warning
from planner.foundation.vocabulary.span import Span
from planner.language.syntax.rule_syntax import Atom, Constant, RuleVariable
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language.literals import atoms
from planner.logic.datalog.language.model import Rule

VERTEX = "node"
"""the type of columns of vertices: in the graph of planning no instance is one"""
_INSTANCE = "instance"


def suspicions(program: RuleProgram) -> Iterator[Diagnostic]:
    """Warnings about rules of users: variables that stand for vertices in one place and for instances in another, and
    addresses that a relation has no rows of, so that the rule never derives anything."""
    for rule in program.rules:
        if not rule.is_core:
            yield from _vertices_as_instances(program, rule)
            yield from _without_rows(rule)


def _without_rows(rule: Rule) -> Iterator[Diagnostic]:
    for atom, _ in atoms(rule.body):
        address = atom.arguments[0] if atom.predicate in _OF_OBJECTS else None
        kind = str(address.value).partition(".")[0] if isinstance(address, Constant) else ""
        if kind in _NO_OBJECTS:
            instead = _NO_OBJECTS[kind].replace("{A}", str(address))
            detail = f"{atom.predicate} has rows of objects and root outputs, and {address} is neither: {instead}"
            span = Span(rule.span.source, atom.start, atom.end)
            yield warning("policy.no_rows", "No rows of this address", detail, span)


_OF_OBJECTS = frozenset(("planned", "prior", "size_of", "part", "json_value", "json_part"))
_NO_OBJECTS = {
    "var": 'the values of root variables are in configured({A}, "value", V).',
    "local": "policies do not see local values, but the arguments and outputs that have them.",
    "each": "policies see the instances, by their addresses.",
}


def _vertices_as_instances(program: RuleProgram, rule: Rule) -> Iterator[Diagnostic]:
    places: dict[str, dict[str, Atom]] = {}
    for atom, _ in atoms(rule.body):
        for column, term in zip(program.predicates[atom.predicate].columns, atom.arguments, strict=True):
            if isinstance(term, RuleVariable) and column.type.name in (VERTEX, _INSTANCE):
                places.setdefault(term.name, {}).setdefault(column.type.name, atom)
    for name, found in places.items():
        if len(found) == 2:
            vertex, instance = found[VERTEX], found[_INSTANCE]
            detail = (
                f"{name} is a vertex in {vertex.predicate}, but an instance in {instance.predicate}, and no vertex of "
                "the graph that policies see has the name of an instance: the rule never derives anything. "
                "node(N, _, Object), instance_of(A, Object) tell which vertex is about which instances."
            )
            span = Span(rule.span.source, vertex.start, vertex.end)
            yield warning("policy.no_vertices", "Not the names of vertices", detail, span)
