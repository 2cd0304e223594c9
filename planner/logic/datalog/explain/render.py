"""Formats literals and reasons with values in place of variables. Defines the entries of proofs that are not proofs of
other rows."""

from __future__ import annotations

import re
from typing import Any

from planner.language.syntax import rule_syntax as syntax
from planner.logic.datalog.engine.interpret import Assignment
from planner.logic.datalog.language.model import Rule
from planner.logic.datalog.language.values import Row, Value, decode


class Absence:
    """A negation in a proof: the relation `predicate` has no row that matches `pattern`. None means any value."""

    __slots__ = ("pattern", "predicate")

    def __init__(self, predicate: str, pattern: tuple[Value | None, ...]) -> None:
        self.predicate, self.pattern = predicate, pattern


class Condition:
    """A test or computation in a proof, with values: `a != b`."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class AggregateValue:
    """An aggregate in a proof: its text with the values of outer variables, and its result."""

    __slots__ = ("text", "value")

    def __init__(self, text: str, value: Any) -> None:
        self.text, self.value = text, value


def plain(value: Value) -> str:
    """The value as text. A string is quoted only if it is empty, contains a line break, or begins or ends with white
    space."""
    if type(value) is str:
        return value if value and value == value.strip() and "\n" not in value else syntax.quote(value)
    return repr(value)


LONGEST = 200  # maximum number of characters shown of an input of a built-in relation


def short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _term(term: syntax.Term, assignment: Assignment) -> str:
    if isinstance(term, syntax.RuleVariable):
        return plain(assignment[term.name]) if term.name in assignment else term.name
    if isinstance(term, syntax.Constant):
        return plain(term.value) if type(term.value) is str else str(term)
    if isinstance(term, syntax.RuleCall):
        arguments = [_term(a, assignment) for a in term.arguments]
        if len(arguments) == 2 and not term.function.isidentifier():
            return f"{arguments[0]} {term.function} {arguments[1]}"
        return f"{term.function}({', '.join(arguments)})"
    return str(term)


def render(literal: syntax.Literal, assignment: Assignment) -> str:
    """The text of a literal with values in place of bound variables. For an aggregate, it is only the part after
    `=`."""
    if isinstance(literal, syntax.Atom):
        return f"{literal.predicate}({', '.join(_term(a, assignment) for a in literal.arguments)})"
    if isinstance(literal, syntax.Negation):
        return f"not {render(literal.atom, assignment)}"
    if isinstance(literal, syntax.Comparison):
        return f"{_term(literal.left, assignment)} {literal.operator} {_term(literal.right, assignment)}"
    if isinstance(literal, syntax.Test):
        negation = "not " if literal.negated else ""
        return f"{negation}{literal.function}({', '.join(_term(a, assignment) for a in literal.arguments)})"
    if isinstance(literal, syntax.Builtin):
        inputs, outputs = ([_term(a, assignment) for a in terms] for terms in (literal.inputs, literal.outputs))
        if literal.relation == syntax.MEMBER:
            return f"{outputs[0]} {'not ' if literal.negated else ''}in [{', '.join(inputs)}]"
        shown = [short(text) for text in inputs] + outputs
        return f"{'not ' if literal.negated else ''}{literal.relation}({', '.join(shown)})"
    assert isinstance(literal, syntax.Aggregate)
    of = "" if literal.expression is None else f" {_term(literal.expression, assignment)}"
    return f"{literal.function}{of} : {{ {', '.join(render(x, assignment) for x in literal.body)} }}"


def reason_text(rule: Rule, assignment: Assignment) -> str:
    """The reason of a rule with values in its braces; the text of the rule if it has no reason."""
    if not rule.reason:
        return rule.text

    def value(match: re.Match[str]) -> str:
        name = match[1]
        return plain(assignment[name]) if name in assignment else match[0]

    return re.sub(r"\{(\w+)\}", value, rule.reason)


def json_row(predicate: str, row: Row | tuple[Value | None, ...]) -> list[Any]:
    """A row in the JSON of proofs, such as `["edge", "a", "b"]`; null means any value."""
    return [predicate, *(None if value is None else decode(value) for value in row)]
