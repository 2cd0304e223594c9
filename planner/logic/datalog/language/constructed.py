"""Constructs the syntax of rules in Python: terms, literals and rule files. A constructed file also has a text, which
is not parsed, but printed by `why`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.foundation.vocabulary.span import Source
from planner.language.syntax.rule_syntax import (
    Aggregate,
    Atom,
    ColumnSyntax,
    Comparison,
    Constant,
    Declaration,
    Directive,
    Literal,
    Name,
    Negation,
    RuleCall,
    RuleFile,
    RuleSyntax,
    RuleVariable,
    Statement,
    Term,
    Test,
    Wildcard,
)


def variable(name: str) -> RuleVariable:
    return RuleVariable(name, 0, 0)


def anything() -> Wildcard:
    return Wildcard(0, 0)


def constant(value: str | int) -> Constant:
    return Constant(value, 0, 0)


def call(function: str, *arguments: Term) -> RuleCall:
    return RuleCall(function, arguments, 0, 0)


def concatenation(first: Term, *others: Term) -> Term:
    for other in others:
        first = call("++", first, other)
    return first


def atom(predicate: str, *arguments: Term) -> Atom:
    return Atom(predicate, arguments, 0, 0)


def absent(negated: Atom) -> Negation:
    return Negation(negated, 0, 0)


def holds(function: str, *arguments: Term, negated: bool = False) -> Test:
    return Test(function, arguments, negated, 0, 0)


def compared(left: Term, operator: str, right: Term) -> Comparison:
    return Comparison(operator, left, right, 0, 0)


def count_of(result: str, body: Iterable[Literal]) -> Aggregate:
    return Aggregate(variable(result), "count", None, tuple(body), 0, 0)


def distinct(body: Iterable[Literal]) -> tuple[Literal, ...]:
    """The literals without duplicates; literals with the same text are duplicates."""
    return tuple({str(literal): literal for literal in body}.values())


class MadeFile:
    """A rule file under construction."""

    def __init__(self, name: str) -> None:
        self._source = Source(name, "")
        self._statements: list[Statement] = []
        self._lines: list[str] = []
        self._length = 0

    def declare(
        self,
        name: str,
        columns: Sequence[tuple[str, str]],
        doc: str,
        directive: str = "output",
        operator: str = "",
        inputs: Sequence[str] = (),
    ) -> None:
        """Add a `.decl` declaration with its directive or, if `operator` is given, a `.native` declaration. `columns`:
        (name, type) of each column."""
        shown = ", ".join(f"{column}: {kind}" for column, kind in columns)
        lines = [f"/// {line}" for line in doc.splitlines()]
        if operator:
            lines.append(f".native {name}({shown}) = {operator}({', '.join(inputs)})")
        else:
            lines += [f".decl {name}({shown})", f".{directive} {name}"]
        start, end = self._add("\n".join(lines))
        syntax = tuple(ColumnSyntax(column, Name(kind, 0, 0), 0, 0) for column, kind in columns)
        native = Name(operator, 0, 0) if operator else None
        read = tuple(Name(other, 0, 0) for other in inputs)
        named = Name(name, start, end)
        self._statements.append(Declaration(named, syntax, native, read, doc, self._source, start, end))
        if not operator:
            self._statements.append(Directive(directive, (Name(name, 0, 0),), self._source, start, end))

    def rule(self, name: str, reason: str, head: Atom, body: Iterable[Literal]) -> None:
        """Add a rule. Duplicate literals are left out."""
        literals = distinct(body)
        given = [("name", constant(name)), *([("reason", constant(reason))] if reason else [])]
        tail = f" :- {', '.join(map(str, literals))}" if literals else ""
        before = " ".join(f"@{key}({value})" for key, value in given) + "\n"
        start, end = self._add(f"{before}{head}{tail}.")
        annotations = tuple((Name(key, 0, 0), value) for key, value in given)
        placed = Atom(head.predicate, head.arguments, start + len(before), end)
        self._statements.append(RuleSyntax(annotations, placed, literals, self._source, start, end))

    def _add(self, text: str) -> tuple[int, int]:
        start = self._length
        self._lines.append(text)
        self._length += len(text) + 1
        return start, start + len(text)

    def file(self) -> RuleFile:
        """A rule file with all declarations and rules that were added so far."""
        self._source.text = "\n".join(self._lines) + "\n"
        return RuleFile(self._source, list(self._statements), True)
