"""Detects mistakes in queries that are visible only in the data: a name in a column of vertices is not a vertex, or a
constant does not occur in the relation. Such a query would return fewer rows than intended, without an error."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from planner.foundation.vocabulary.address import AddressError, ModuleAddress, parse_address
from planner.foundation.vocabulary.diagnostic import Diagnostic, warning
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Span
from planner.language.syntax import rule_syntax as syntax
from planner.language.syntax.rule_syntax import Atom, Constant, RuleVariable, Term, quote
from planner.logic.datalog.ask.question import Query
from planner.logic.datalog.language.model import Column, Predicate, atoms
from planner.logic.datalog.language.values import encode
from planner.logic.graph.build import Names, substitution_note

_OF_OBJECTS = frozenset(("instance", "object"))
"""types of columns that are checked even if the answer is not empty, because only some of their values are names of
vertices"""
_FEW = 12  # maximum number of listed values
_SEVERAL = 10_000  # maximum number of values among which a similar value is searched
_WORD = re.compile(r"[\w-]+")


def mismatches(
    predicates: Mapping[str, Predicate], relations: Mapping[str, Collection[Any]], query: Query, is_answered: bool
) -> list[Diagnostic]:
    """Warnings about a query. `relations` must contain `vertex` and the relations in the query. `is_answered`: whether
    the answer has rows; then fewer checks are made."""
    look = _ConditionCheck(predicates, relations, query)
    problems = list(look.no_vertices(is_answered))
    return problems if is_answered or problems else list(look.constants())


class _ConditionCheck:
    def __init__(
        self, predicates: Mapping[str, Predicate], relations: Mapping[str, Collection[Any]], query: Query
    ) -> None:
        self.predicates, self.relations, self.query = predicates, relations, query
        self.given = [literal for literal in query.literals if isinstance(literal, Atom)]

    def columns(self, atom: Atom) -> list[tuple[int, Term, Column]]:
        columns = self.predicates[atom.predicate].columns
        return [(i, term, columns[i]) for i, term in enumerate(atom.arguments)]

    def values(self, atom: Atom, at: int) -> set[Any]:
        """The values of the column `at` in the rows that contain the constants of an atom."""
        wanted = [(i, encode(t.value)) for i, t in enumerate(atom.arguments) if isinstance(t, Constant)]
        return {row[at] for row in self.relations[atom.predicate] if all(row[i] == value for i, value in wanted)}

    def no_vertices(self, is_answered: bool) -> Iterator[Diagnostic]:
        """Warnings about variables that are used for vertices in one literal and for addresses of another type in
        another literal."""
        places = self.places()
        if not places:
            return
        vertices = {row[0] for row in self.relations["vertex"]}
        for atom in self.given:
            for at, term, column in self.columns(atom):
                if not isinstance(term, RuleVariable) or term.name not in places or not _is_address(column):
                    continue
                if is_answered and column.type.name not in _OF_OBJECTS:
                    continue
                others, values = places[term.name], self.values(atom, at)
                missing = sorted(values - vertices)
                in_place = {row[others[1]] for row in self.relations[others[0]]}
                if missing and in_place and in_place <= vertices:
                    del places[term.name]
                    yield self.no_vertex(term, atom, column, others[0], missing)

    def places(self) -> dict[str, tuple[str, int]]:
        """{variable: (predicate, column)} for each variable in a column of vertices; if there are several such columns,
        the first."""
        result: dict[str, tuple[str, int]] = {}
        for atom, _ in atoms(self.query.literals):
            for at, term, column in self.columns(atom):
                if isinstance(term, RuleVariable) and column.type.name == VERTEX:
                    result.setdefault(term.name, (atom.predicate, at))
        return result

    def no_vertex(self, term: RuleVariable, atom: Atom, column: Column, other: str, missing: list[str]) -> Diagnostic:
        some = quote(missing[0])
        tells = "instance_node(node, instance)" if column.type.name == "instance" else "vertex(node, _, _, object)"
        detail = (
            f"{term.name} is a vertex in {other}, but in {atom.predicate} an {column.type.name}, such as {some}, which "
            f"is not the name of a vertex. To get its vertices, use {tells}; for other columns see "
            f'"planner rules doc {atom.predicate}".'
        )
        span = Span(self.query.rules[0].span.source, term.start, term.end)
        return warning("query.no_vertices", "Not vertex names", detail, span)

    def constants(self) -> Iterator[Diagnostic]:
        """Warnings about strings that do not occur in their column and are probably mistakes. Columns of vertices are
        not checked."""
        for atom in self.given:
            rows = self.relations[atom.predicate]
            for at, term, column in self.columns(atom):
                if not isinstance(term, Constant) or not isinstance(term.value, str) or column.type.name == VERTEX:
                    continue
                values = {row[at] for row in rows}
                instead = self.instead(term.value, atom, column, values) if term.value not in values else ""
                if instead:
                    detail = f"No row of {atom.predicate} has {term} as its {column.name}. {instead}"
                    span = Span(self.query.rules[0].span.source, term.start, term.end)
                    yield warning("query.no_such_value", "No row has this value", detail, span)

    def instead(self, text: str, atom: Atom, column: Column, values: set[Any]) -> str:
        """A suggestion for a constant that does not occur in its column; "" if the constant may be correct."""
        texts = sorted(value for value in values if isinstance(value, str))
        if column.type.name == "word":
            known = text in _WORD.findall(self.predicates[atom.predicate].doc.partition("Example")[0])
            return "" if known or not texts else f"The column has {', '.join(quote(text) for text in texts[:_FEW])}."
        if len(texts) > _SEVERAL:
            return ""
        about = next((row[3] for row in self.relations["vertex"] if row[0] == text), text)
        resource = _without_keys(about)
        same = next((other for other in texts if resource and resource in (other, _without_keys(other))), None)
        return f"Did you mean {quote(same)}?" if same else did_you_mean(text, texts).strip()


def _without_keys(text: str) -> str | None:
    """The address of the resource to which an address belongs; None if the text is not the address of a resource or
    instance."""
    try:
        address = parse_address(text)
    except AddressError:
        return None
    return None if isinstance(address, ModuleAddress) else str(address.config)


def _is_address(column: Column) -> bool:
    return VERTEX in column.type.ancestors[1:]


# Replaces addresses in queries: in a column of vertices, they denote their vertices.

VERTEX = "node"  # the type of columns with vertices


def meant_query(names: Names, predicates: Mapping[str, Predicate], query: Query) -> tuple[Query, list[Diagnostic]]:
    """(query with vertices in place of addresses, warnings). Addresses are replaced in columns of vertices and in
    comparisons with variables of such columns. There are warnings about constants there that do not mean a vertex."""
    reader = _VertexReader(names, predicates, query)
    rules = tuple(evolve(rule, body=tuple(map(reader.literal, rule.body))) for rule in query.rules)
    return evolve(query, rules=rules), reader.problems


class _VertexReader:
    def __init__(self, names: Names, predicates: Mapping[str, Predicate], query: Query) -> None:
        self.names, self.predicates, self.source = names, predicates, query.rules[0].span.source
        self.problems: list[Diagnostic] = []
        self.vertices = {
            term.name
            for atom, _ in atoms(query.literals)
            for term, is_vertex in self.columns(atom)
            if is_vertex and isinstance(term, syntax.RuleVariable)
        }

    def columns(self, atom: syntax.Atom) -> list[tuple[syntax.Term, bool]]:
        columns = self.predicates[atom.predicate].columns
        return [(term, c.type.name == VERTEX) for term, c in zip(atom.arguments, columns, strict=True)]

    def literal(self, literal: syntax.Literal) -> syntax.Literal:
        if isinstance(literal, syntax.Atom):
            return self.atom(literal)
        if isinstance(literal, syntax.Comparison) or (
            isinstance(literal, syntax.Builtin) and literal.relation == syntax.MEMBER
        ):
            first, *others = literal.children()
            is_meant = self.is_vertex(first) or (isinstance(literal, syntax.Comparison) and self.is_vertex(others[0]))
            return literal.mapped(self.meant) if is_meant else literal
        return literal.mapped(self.literal)

    def is_vertex(self, term: syntax.Term) -> bool:
        return isinstance(term, syntax.RuleVariable) and term.name in self.vertices

    def atom(self, atom: syntax.Atom) -> syntax.Atom:
        terms = tuple(self.meant(term) if is_vertex else term for term, is_vertex in self.columns(atom))
        return syntax.Atom(atom.predicate, terms, atom.start, atom.end)

    def meant(self, term: syntax.Term) -> syntax.Term:
        if not isinstance(term, syntax.Constant) or not isinstance(term.value, str):
            return term
        node = self.names.meant.get(term.value)
        if node is not None:
            return syntax.Constant(node, term.start, term.end)
        span = Span(self.source, term.start, term.end)
        node = self.names.stand_in(term.value)
        if node is not None:
            detail = substitution_note(term.value, node)
            self.problems.append(warning("query.stands_for", "Answer about all instances together", detail, span))
            return syntax.Constant(node, term.start, term.end)
        detail = self.names.unknown(term.value)
        self.problems.append(warning("query.unknown_node", "No such vertex", detail, span))
        return term
