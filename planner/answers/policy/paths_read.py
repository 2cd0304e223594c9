"""The paths that policies read, as patterns, and the use of patterns while visiting a value. A pattern is a tuple of
steps: names, indexes, EACH for any element and, as the last step, BELOW for everything from there. For example,
("ingress", EACH, "cidr_blocks") means ingress[0].cidr_blocks, ingress[1].cidr_blocks..."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import product
from typing import Any, TypeAlias

from planner.language.syntax import rule_syntax as syntax
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.language.model import Rule, listed_values, name_of

EACH, BELOW = None, ...
Pattern: TypeAlias = tuple[Any, ...]
Patterns: TypeAlias = frozenset[Pattern]
Body: TypeAlias = tuple[syntax.Literal, ...]
_STEP = re.compile(r"\.?([^\W\d][\w-]*)|\[(0|[1-9][0-9]{0,9})\]")
_MOST = 200
"""maximum number of patterns of a term; if there are more, each pattern is replaced by its first step and BELOW"""


class Looked:
    """The parts that policies read at a path. `here`: whether policies read the value itself, its size, or the names of
    its parts. `all`: whether policies read everything at the path and below. `parts`: {name or index: the parts that
    policies read there}."""

    __slots__ = ("_each", "all", "here", "parts")

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        patterns = set(patterns)
        firsts = {pattern[0] for pattern in patterns if pattern}
        self.all = BELOW in firsts
        self.here = self.all or () in patterns
        self.parts: dict[Any, Looked] = {}
        self._each: Looked | None = None
        if self.all:
            return
        for first in firsts:
            below = Looked(pattern[1:] for pattern in patterns if pattern and pattern[0] in (first, EACH))
            if first is EACH:
                self._each = below
            else:
                self.parts[first] = below

    def names(self, held: Iterable[Any]) -> Iterable[Any]:
        """The names among `held` at which policies read values, perhaps with further names."""
        return held if self.all or self._each is not None else [name for name in held if name in self.parts]

    def within(self, held: Collection[str]) -> Iterable[tuple[Any, Looked]]:
        """(name, parts that policies read there) for each name among `held` at which policies read values."""
        each = self if self.all else self._each
        if each is not None:
            return [(name, self.parts.get(name, each)) for name in held]
        return [(name, below) for name, below in self.parts.items() if name in held]

    def within_list(self, length: int) -> Iterable[tuple[int, Looked]]:
        """(index, parts that policies read there) for each index, in a list of this length, at which policies read
        values."""
        each = self if self.all else self._each
        if each is not None:
            return [(i, self.parts.get(i, each)) for i in range(length)]
        return [(i, below) for i, below in self.parts.items() if i.__class__ is int and i < length]

    def at(self, name: Any) -> Looked | None:
        """The parts that policies read of the element or attribute `name`; None if policies do not read it."""
        return self if self.all else self.parts.get(name, self._each)


EVERYTHING = Looked([(BELOW,)])


class PathTerms:
    """Finds the paths that may be values of terms in rules. `values`: returns the possible values of a term; None if
    they are not known. `readers`: the predicates about values. `of_packs`: the relations of packs."""

    def __init__(
        self,
        rules: Mapping[str, list[Rule]],
        given: FactBase,
        of_packs: frozenset[str],
        readers: frozenset[str],
        values: Callable[[Body, syntax.Term], frozenset[Any] | None],
    ) -> None:
        self._rules, self._given, self._of_packs = rules, given, of_packs
        self._readers, self._values = readers, values

    def patterns(self, body: Body, term: syntax.Term, around: frozenset[str] = frozenset()) -> Patterns | None:
        """The patterns of the paths that may be values of a term; None if any path may be its value. `around`: the
        variables and columns whose paths are being determined."""
        result = self._concatenation(body, term, around) if _is_join(term) else self._single(body, term, around)
        if result is None or any(pattern[:1] in ((), (EACH,), (BELOW,)) for pattern in result):
            return None
        return result if len(result) <= _MOST else frozenset((pattern[0], BELOW) for pattern in result)

    def _single(self, body: Body, term: syntax.Term, around: frozenset[str]) -> Patterns | None:
        if isinstance(term, syntax.Constant):
            return _all_read([term.value])
        if not isinstance(term, syntax.RuleVariable) or term.name in around:
            return None
        within = around | {term.name}
        for literal in body:
            result: Patterns | None = None
            if isinstance(literal, syntax.Builtin):
                listed = listed_values(literal, term)
                result = None if listed is None else _all_read(listed)
            elif isinstance(literal, syntax.Comparison) and literal.operator == "=":
                equal = [other for one, other in literal.sides if name_of(one) == term.name]
                result = self.patterns(body, equal[0], within) if equal else None
            elif isinstance(literal, syntax.Atom) and literal.predicate == "part":
                if name_of(literal.arguments[3]) == term.name:
                    outer = self.patterns(body, literal.arguments[1], within)
                    result = outer and frozenset(map(_each, outer))
            elif isinstance(literal, syntax.Atom) and literal.predicate not in self._readers:
                columns = [i for i, argument in enumerate(literal.arguments) if name_of(argument) == term.name]
                result = self._of_column(literal.predicate, columns[0], around) if columns else None
            if result is not None:
                return result
        return None

    def _of_column(self, predicate: str, column: int, around: frozenset[str]) -> Patterns | None:
        """The patterns of the paths in a column of a predicate; None if any path may be there."""
        rules = self._rules.get(predicate, [])
        name = f"{predicate}/{column}"
        if name in around or (not rules and predicate not in self._of_packs):
            return None
        result = _all_read(row[column] for row in self._given.relation(predicate))
        for rule in rules:
            # the variables of the other rule are unrelated to the variables of this rule
            within = frozenset(one for one in around if "/" in one) | {name}
            more = self.patterns(rule.body, rule.head.arguments[column], within)
            if more is None or result is None:
                return None
            result |= more
        return result

    def _concatenation(self, body: Body, term: syntax.Term, around: frozenset[str]) -> Patterns | None:
        """The patterns of the paths that may be values of a concatenation of known strings, or of a path and known
        strings. None if the paths of its first operand that is not a known string cannot be determined."""
        parts = _flat(term)
        begin, rest = self._known_beginning(body, parts)
        if begin != [""] or not rest:
            return _all_read(begin, not rest)
        first = self.patterns(body, rest[0], around)
        if first is None:
            return None
        ends, rest = self._known_beginning(body, rest[1:])
        if all(end[:1] in (".", "[") for end in ends):
            behind = [_read(end, not rest) for end in ends]
            return frozenset(_with(one, more) for one in first for more in behind)
        return frozenset((*one[:-1], BELOW) for one in first)  # the last name in a beginning may be incomplete

    def _known_beginning(self, body: Body, parts: list[syntax.Term]) -> tuple[list[str], list[syntax.Term]]:
        """(strings that the operands before the first unknown operand may form together, remaining operands)."""
        items: list[list[str]] = []
        many = 1
        for part in parts:
            values = self._values(body, part)
            texts = [value for value in values if type(value) is str] if values else []
            many *= len(texts)
            if values is None or len(texts) != len(values) or not 0 < many <= _MOST:
                break
            items.append(sorted(texts))
        return ["".join(texts) for texts in product(*items)], parts[len(items) :]


def _is_join(term: syntax.Term) -> bool:
    return isinstance(term, syntax.RuleCall) and term.function == "++"


def _flat(term: syntax.Term) -> list[syntax.Term]:
    if isinstance(term, syntax.RuleCall) and term.function == "++":
        return [part for argument in term.arguments for part in _flat(argument)]
    return [term]


def _each(outer: Pattern) -> Pattern:
    return _with(outer, (EACH,))


def _with(outer: Pattern, more: Pattern) -> Pattern:
    return outer if outer[-1] is BELOW else (*outer, *more)


def _all_read(texts: Iterable[Any], is_whole: bool = True) -> Patterns:
    return frozenset(_read(str(text), is_whole) for text in texts)


def _read(text: str, is_whole: bool = True) -> Pattern:
    """The pattern of a path. If the path continues after `text` (not `is_whole`), or if its form is not supported, the
    result is a pattern for all paths with this beginning."""
    steps: list[Any] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None or (match[1] and not match[1].replace("-", "_").isidentifier()):
            has_ended = text.startswith('["', at) or (not is_whole and text[at:] in (".", "["))
            return (*(steps if has_ended else steps[:-1]), BELOW)
        steps.append(match[1] if match[1] is not None else int(match[2]))
        at = match.end()
    return tuple(steps) if is_whole else (*steps[:-1], BELOW)
