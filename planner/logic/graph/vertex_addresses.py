"""Addresses in questions: in a column of vertices, an address means its vertex."""

from __future__ import annotations

from collections.abc import Mapping

from planner.foundation.vocabulary.diagnostic import Diagnostic, warning
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Span
from planner.language.syntax import rule_syntax as syntax
from planner.logic.datalog.ask.question import Query
from planner.logic.datalog.language.model import Predicate, atoms
from planner.logic.graph.build import Names, told_instead

VERTEX = "node"
"""the type of columns of vertices"""


def meant_query(names: Names, predicates: Mapping[str, Predicate], query: Query) -> tuple[Query, list[Diagnostic]]:
    """The query with every address in a column of vertices, or compared with a variable of one, replaced by the vertex
    it means; and warnings about constants that mean none."""
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
        """The arguments of an atom, each with whether it is in a column of vertices."""
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
            detail = told_instead(term.value, node)
            self.problems.append(warning("query.stands_for", "Vertex of several instances", detail, span))
            return syntax.Constant(node, term.start, term.end)
        detail = self.names.unknown(term.value)
        self.problems.append(warning("query.unknown_node", "No such vertex", detail, span))
        return term
