"""Mutants: rules with one small mistake each. Good cases notice every one of them: some case comes out otherwise.

A mutant leaves out a literal, or `not`, turns a comparison around its border, or changes a constant. Those that are no
longer rules (a variable without a value) do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.foundation.vocabulary.records import frozen
from planner.language.syntax import rule_syntax as syntax
from planner.language.syntax.rule_parse import tokens_of
from planner.logic.datalog.language.model import Rule

_TURNED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "=": "!=", "!=": "="}
"""comparisons at whose border a mistake is made"""


@frozen
class Mutant:
    """A mistake in a file: the text from `start` to `end` (code points) is replaced by `text`; `what` describes it."""

    rule: str
    file: str
    start: int
    end: int
    text: str
    what: str

    def of(self, text: str) -> str:
        """The text of the file with the mistake."""
        return text[: self.start] + self.text + text[self.end :]


def mutants(rules: Iterable[Rule]) -> Iterator[Mutant]:
    """All mutants of some rules, in the order of their places."""
    for rule in rules:
        text = rule.span.source.text
        for literal in rule.body:
            yield from _of_literal(rule, text, literal, len(rule.body) > 1)


def _of_literal(rule: Rule, text: str, literal: syntax.Literal, may_go: bool) -> Iterator[Mutant]:
    start, end = literal.start, literal.end
    if end <= start:
        return
    written = text[start:end]

    def made(at: int, until: int, new: str, what: str) -> Mutant:
        return Mutant(rule.name, rule.file, at, until, new, what)

    if may_go:
        yield made(*_with_comma(text, start, end), "", f"without {written}")
    if isinstance(literal, syntax.Negation) and written.startswith("not"):
        atom = literal.atom
        yield made(start, end, text[atom.start : atom.end], f"{text[atom.start : atom.end]} in the place of {written}")
    if isinstance(literal, syntax.Test) and written.startswith("not"):
        yield made(start, end, written.removeprefix("not").lstrip(), f"without the not of {written}")
    if isinstance(literal, syntax.Comparison) and literal.operator in _TURNED:
        yield from _turn(rule, text, literal)
    for constant in _constants(literal):
        new = _other(constant)
        if new and start <= constant.start < constant.end <= end:
            changed = text[start : constant.start] + new + text[constant.end : end]
            yield made(constant.start, constant.end, new, f"{changed} in the place of {written}")


def _with_comma(text: str, start: int, end: int) -> tuple[int, int]:
    """The place of a literal, with the comma behind it, or else the one before."""
    for _, word, at, until in tokens_of(text[end : end + 200]):
        if word == ",":
            return start, end + until
        if not word.startswith("/"):
            break
        del at
    comma = text.rfind(",", 0, start)
    return (comma, end) if comma >= 0 else (start, end)


def _turn(rule: Rule, text: str, literal: syntax.Comparison) -> Iterator[Mutant]:
    if literal.operator == "=" and not _compares(literal):
        return
    for _, word, at, until in tokens_of(text[literal.start : literal.end]):
        if word == literal.operator:
            new = _TURNED[word]
            place = literal.start + at, literal.start + until
            written = text[literal.start : literal.end]
            what = f"{written[:at]}{new}{written[until:]} in the place of {written}"
            yield Mutant(rule.name, rule.file, *place, new, what)
            return


def _compares(literal: syntax.Comparison) -> bool:
    """Whether an equation compares with a constant, and does not give a name to a value."""
    return any(isinstance(side, syntax.Constant) for side in literal.children())


def _constants(literal: syntax.Literal) -> list[syntax.Constant]:
    read = literal.atom if isinstance(literal, syntax.Negation) else literal
    terms = [] if isinstance(read, syntax.Aggregate | syntax.Builtin) else read.children()
    return [term for term in terms if isinstance(term, syntax.Constant)]


def _other(constant: syntax.Constant) -> str:
    """Another constant of the kind."""
    value = constant.value
    if isinstance(value, bool):
        return "false" if value else "true"
    if isinstance(value, str):
        return syntax.quote(f"{value}?")
    return str(value + 1) if isinstance(value, int) else ""
