"""Rules with alternatives to rules without: `p :- a, (b ; c).` is `p :- a, b.` and `p :- a, c.`"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.span import Source, Span
from planner.language.syntax.rule_syntax import Aggregate, Either, Literal, RuleSyntax, Written

MOST_ALTERNATIVES = 200
"""of one rule, multiplied out"""


def expand_alternatives(statement: RuleSyntax) -> tuple[list[tuple[Literal, ...]], list[Diagnostic]]:
    """The bodies of a rule, one for each way through its alternatives; none when there are too many."""
    return expanded_body(statement.body, statement.source)


def expanded_body(body: tuple[Written, ...], source: Source) -> tuple[list[tuple[Literal, ...]], list[Diagnostic]]:
    """The bodies without alternatives that a body expands to."""
    inside = [node for literal in body for node in _within_braces(literal)]
    if inside:
        detail = "Between the braces of an aggregate there are no alternatives. Derive them as a predicate first."
        return [], [
            error("rules.form", "Alternatives inside an aggregate", detail, Span(source, x.start, x.end))
            for x in inside
        ]
    number = _count(body)
    if number > MOST_ALTERNATIVES:
        detail = (
            f"The alternatives of this rule multiply to {number}; there are at most {MOST_ALTERNATIVES}. "
            "Name some of them as a predicate of their own."
        )
        place = Span(source, body[0].start, body[-1].end)
        return [], [error("rules.too_long", "Too many alternatives", detail, place)]
    return list(_bodies(body)), []


def _within_braces(literal: Written) -> Iterator[Either]:
    if isinstance(literal, Aggregate):
        written: tuple[Written, ...] = literal.body
        yield from (inner for inner in written if isinstance(inner, Either))
    elif isinstance(literal, Either):
        for body in literal.alternatives:
            for inner in body:
                yield from _within_braces(inner)


def _count(body: Iterable[Written]) -> int:
    number = 1
    for literal in body:
        if isinstance(literal, Either):
            number *= sum(map(_count, literal.alternatives))
    return number


def _bodies(body: tuple[Written, ...]) -> Iterator[tuple[Literal, ...]]:
    choices: list[list[tuple[Literal, ...]]] = [
        [chosen for alternative in literal.alternatives for chosen in _bodies(alternative)]
        if isinstance(literal, Either)
        else [(literal,)]
        for literal in body
    ]
    for chosen in product(*choices):
        yield tuple(literal for part in chosen for literal in part)


def written_body(body: tuple[Written, ...]) -> str:
    """The body as rule text; alternatives of the whole need no parentheses."""
    if len(body) == 1 and isinstance(body[0], Either):
        return str(body[0])[1:-1]
    return ", ".join(map(str, body))
