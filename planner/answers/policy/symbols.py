"""Symbols for unknown values, and conclusions about them in one case (see case_analysis.py).

A case consists of decisions about propositions: that a value exists, is equal to a constant, or passes a test. A
proposition needs no decision if it follows from earlier decisions or from known properties of the value (type,
beginning, bounds). The conclusions need not be complete: if a conclusion is missing, an impossible case is evaluated,
too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from planner.answers.policy.partly_known_json import KnownDocument, document_of_text
from planner.answers.policy.string_prefixes import is_found, known_parts, known_result, known_truth, prefix_of_result
from planner.foundation.values.json_codec import json_number
from planner.foundation.values.numbers import is_infinite
from planner.foundation.values.types import BOOL, NUMBER, STRING, Primitive
from planner.foundation.values.value import Unknown
from planner.foundation.vocabulary.records import frozen
from planner.logic.datalog.language.builtins import FUNCTIONS, KINDS, TESTS
from planner.logic.datalog.language.functions import COMPARISONS, incomparable
from planner.logic.datalog.language.values import FALSE, TRUE, Truth, is_a_number, number

Proposition: TypeAlias = tuple[Any, ...]
"""("there", ...), ("=", a, b), ("<", a, b), ("<=", a, b), ("test", name, arguments), ("is", value, type), ("defined",
function, arguments) or ("rows", ...)"""
Bound: TypeAlias = tuple[Any, bool] | None


@frozen(cache_hash=True)
class Symbol:
    """An unknown value. `key` identifies it: `("at", address, path)`, `("size", address, path)`, `("call", function,
    *arguments)` and others. `type`: symbol, number, truth or any. `is_local`: whether it is one of several elements;
    such a symbol means the same element only within one rule."""

    key: tuple[Any, ...]
    type: str = "any"
    is_local: bool = False

    def __str__(self) -> str:
        return f"{self.key[1]}.{self.key[2]}" if self.key[0] == "at" else str(self.key[0])


class NeedsDecision(Exception):
    """A proposition must be decided before the evaluation can continue."""

    def __init__(self, proposition: Proposition) -> None:
        super().__init__(proposition)
        self.proposition = proposition


_ASKED = {"json": "is_json", "json_element": "is_json", "yaml": "is_yaml", "yaml_element": "is_yaml"}
"""{built-in relation: test for the strings that it accepts}"""
_TYPES = {STRING: "symbol", NUMBER: "number", BOOL: "truth"}


def type_of(unknown: Unknown) -> str:
    """The type of an unknown value in rules: symbol, number, truth or any."""
    return _TYPES.get(unknown.type, "any") if isinstance(unknown.type, Primitive) else "any"


def kind_of(value: Any) -> str:
    """The type of a value in rules: symbol, number, truth or any."""
    if isinstance(value, Symbol):
        return value.type
    return "symbol" if type(value) is str else "truth" if type(value) is Truth else "number"


def symbols_in(value: Any) -> Iterator[Symbol]:
    """The symbols in a value, a computation or a proposition."""
    if isinstance(value, Symbol):
        yield value
        yield from symbols_in(value.key)
    elif type(value) is tuple:
        for part in value:
            yield from symbols_in(part)


class SymbolCase:
    """The decisions of one case, and their consequences. `unknown`: {(address, path): unknown value with its known
    properties}. `documents`: {(address, path): known parts of an unknown JSON string}."""

    def __init__(
        self,
        decisions: dict[Proposition, bool],
        unknown: dict[tuple[str, Any], Unknown],
        documents: dict[tuple[str, str], KnownDocument],
    ) -> None:
        self.decisions, self.unknown, self.documents = decisions, unknown, documents
        self.bound: dict[Symbol, Any] = {}
        self.ranges: dict[Symbol, tuple[Bound, Bound]] = {}
        """bounds of counts and sums over many objects"""
        self.is_flawed = False
        """whether a computation may have no value, so that the verdict may be broken"""
        for proposition, holds in decisions.items():
            if holds and proposition[0] == "=":
                self.bound[proposition[1]] = proposition[2]

    def kind(self, value: Any) -> str:
        """The type of a value in rules, if the decisions of this case are considered: symbol, number, truth or any."""
        known = kind_of(value)
        if known == "any":
            for wanted in ("number", "symbol"):
                if self.decisions.get(("is", value, wanted)):
                    return wanted
        return known

    # -------- values

    def resolved(self, value: Any) -> Any:
        """The value of a symbol if the decisions determine it, otherwise the symbol itself. A value that is not a
        symbol is returned unchanged."""
        if not isinstance(value, Symbol):
            return value
        return self._resolved(value, self.bound)

    def _resolved(self, value: Any, bound: dict[Symbol, Any]) -> Any:
        if not isinstance(value, Symbol):
            return value
        seen = 0
        while isinstance(value, Symbol) and value in bound and seen < 50:
            value, seen = bound[value], seen + 1
        if isinstance(value, Symbol) and value.key[0] == "call":
            _, function, *arguments = value.key
            known = [self._resolved(a, bound) for a in arguments]
            if function in FUNCTIONS and not any(isinstance(a, Symbol) for a in known):
                result = FUNCTIONS[function].function(*known)
                return value if result is None else result
        return value

    def computed(self, function: str, arguments: list[Any]) -> Any:
        """The result of a function; a symbol if the result is unknown, None if the function has no result."""
        values = [self.resolved(a) for a in arguments]
        if not any(isinstance(a, Symbol) for a in values):
            result = FUNCTIONS[function].function(*values)
            self.is_flawed |= result is None and not FUNCTIONS[function].seeks
            return result
        if function == "to_symbol" and self.kind(values[0]) == "symbol":
            return values[0]
        if isinstance(values[0], Symbol) and self.kind(values[0]) == "symbol":
            known = known_result(function, self.prefix(values[0]), tuple(values[1:]))
            if known is not None:
                return known
        entry = FUNCTIONS[function]
        for wanted, value in zip(entry.parameters, values, strict=True):
            if wanted != "any" and self.kind(value) not in (wanted, "any"):
                self.is_flawed = True
                return None
        is_total = not (entry.may_fail or entry.seeks)
        typed = all(w in ("any", self.kind(v)) for w, v in zip(entry.parameters, values, strict=True))
        if not (is_total and typed) and not self.holds(("defined", function, tuple(values))):
            self.is_flawed |= not (entry.seeks and typed)
            return None
        is_local = any(symbol.is_local for value in values for symbol in symbols_in(value))
        return Symbol(("call", function, *values), entry.result or "any", is_local)

    # -------- propositions

    def holds(self, proposition: Proposition) -> bool:
        """Whether a proposition holds. Raises NeedsDecision if the case does not decide it."""
        known = self.decisions.get(proposition)
        if known is None:
            known = self.implied(proposition)
        if known is None:
            raise NeedsDecision(proposition)
        return known

    def equal(self, a: Any, b: Any) -> bool:
        a, b = self.resolved(a), self.resolved(b)
        if not isinstance(a, Symbol) and not isinstance(b, Symbol):
            return bool(a == b)
        if a == b:
            return True
        if not isinstance(a, Symbol) or (isinstance(b, Symbol) and str(b.key) < str(a.key)):
            a, b = b, a
        return self.holds(("=", a, b))

    def ordered(self, operator: str, a: Any, b: Any) -> bool:
        """Whether a comparison such as a < b holds; False for values of different types. Raises NeedsDecision."""
        a, b = self.resolved(a), self.resolved(b)
        if not isinstance(a, Symbol) and not isinstance(b, Symbol):
            self.is_flawed |= incomparable(a, b)
            return COMPARISONS[operator](a, b)
        kinds = {self.kind(a), self.kind(b)}
        if "truth" in kinds or kinds == {"symbol", "number"}:
            self.is_flawed = True
            return False
        self.is_flawed |= "any" in kinds
        if operator in (">", ">="):
            a, b, operator = b, a, {">": "<", ">=": "<="}[operator]
        if "any" not in kinds and operator == "<=":
            return not self.holds(("<", b, a))
        return self.holds((operator, a, b))

    def tested(self, name: str, arguments: list[Any]) -> bool:
        values = tuple(map(self.resolved, arguments))
        if not any(isinstance(v, Symbol) for v in values):
            return bool(TESTS[name].function(*values))
        if name in ("is_symbol", "is_number"):
            wanted = name.removeprefix("is_")
            kind = self.kind(values[0])
            return kind == wanted if kind != "any" else self.holds(("is", values[0], wanted))
        for (_, kind), value in zip(TESTS[name].inputs, values, strict=True):
            if kind in KINDS and isinstance(value, Symbol):
                self.is_flawed |= not self.decisions.get(("test", KINDS[kind], (value,)))
        for wanted, value in zip(TESTS[name].parameters, values, strict=True):
            if wanted != "any" and self.kind(value) not in (wanted, "any"):
                return False
        if name == "incomparable" and "any" not in (kinds := {self.kind(v) for v in values}):
            return "truth" in kinds or len(kinds) > 1
        return self.holds(("test", name, values))

    # -------- consequences

    def implied(self, proposition: Proposition) -> bool | None:
        """Whether a proposition holds; None if neither earlier decisions nor known properties of values imply an
        answer."""
        kind = proposition[0]
        if kind == "there":
            return self._there(proposition)
        if kind == "=":
            return self._equal(proposition[1], proposition[2])
        if kind == "<":
            return self._less(proposition[1], proposition[2])
        if kind == "test" and proposition[1] == "starts_with":
            return self._begins(*proposition[2])
        if kind == "test" and proposition[1] == "matches":
            known = self._matches(*proposition[2])
            return self._tested(*proposition[1:]) if known is None else known
        if kind == "test":
            return self._tested(*proposition[1:])
        if kind == "rows" and proposition[1] in ("split", "captures"):
            return self._has_rows(*proposition[1:])
        if kind == "defined" and proposition[1] in _ASKED:
            return self.decisions.get(("test", _ASKED[proposition[1]], proposition[2]))
        if kind == "defined" and proposition[1] in ("sum", "min", "max"):
            kinds = {self.kind(value) for value in proposition[2]}
            return True if kinds == {"number"} or (kinds == {"symbol"} and proposition[1] != "sum") else None
        if kind == "defined" and proposition[1] in ("captures", "split"):
            text, pattern = proposition[2]
            is_text = type(pattern) is str and bool(pattern)
            return True if self.kind(text) == "symbol" and is_text else None
        if kind == "defined" and proposition[2] and self.kind(proposition[2][0]) == "symbol":
            text, *others = proposition[2]
            return True if is_found(proposition[1], self.prefix(text), tuple(others)) else None
        return None

    def _tested(self, name: str, arguments: tuple[Any, ...]) -> bool | None:
        """Whether a test holds; None if the known beginning of the string does not imply an answer."""
        text, *others = arguments
        begin = self.prefix(text) if isinstance(text, Symbol) and text.type == "symbol" else ""
        return known_truth(name, begin, tuple(others)) if begin else None

    def _has_rows(self, name: str, inputs: tuple[Any, ...], asked: tuple[Any, ...]) -> bool | None:
        """Whether `split` returns the requested part of a string, or `captures` returns a match; None if the known
        beginning of the string does not imply an answer."""
        text, pattern = inputs
        if name == "captures":
            return False if self.implied(("test", "matches", (text, pattern))) is False else None
        index = asked[0] if len(asked) == 1 else None
        return True if type(index) is int and 0 <= index < len(known_parts(self.prefix(text), pattern)) else None

    def _there(self, proposition: Proposition) -> bool | None:
        _, relation, address, path = proposition
        decided = self.decisions
        if relation in ("configured", "part") or relation == "json_value":
            planned = decided.get(("there", "planned", address, path))
            if relation == "configured" and planned is False:
                return False
            return True if relation == "part" and planned is True else None
        unknown = self.unknown.get((address, path))
        if relation == "size_of" and (address, path) in self.unknown:
            return True if unknown is not None and _is_there(unknown) else None
        if relation == "planned":
            if unknown is not None and _is_there(unknown) and type_of(unknown) != "any":
                return True
            if any(decided.get(("there", other, address, path)) is False for other in ("part",)):
                return False
            if any(decided.get(("there", other, address, path)) for other in ("configured",)):
                return True
        return None

    def _equal(self, a: Symbol, b: Any) -> bool | None:
        kinds = {self.kind(a), self.kind(b)} - {"any"}
        if len(kinds) > 1:
            return False
        if isinstance(b, Symbol):
            return None if self._may_be_equal(a, b) else False
        if a.type == "truth":
            other = FALSE if b == TRUE else TRUE
            return True if self.decisions.get(("=", a, other)) is False else None
        if type(b) is str and not (self._may_begin(a, b) and self._may_be_json(a, b)):
            return False
        lower, upper = self._bounds(a)
        if not _within(b, lower, upper):
            return False
        if lower is not None and upper is not None and lower == upper == (b, True):
            return True
        return False if self._contradicts(a, b) else None

    def _may_be_equal(self, a: Symbol, b: Symbol) -> bool:
        one, other = self.document(a), self.document(b)
        if one is not None and other is not None and not one.may_equal(other):
            return False
        begins = self.prefix(a), self.prefix(b)
        if not (begins[0].startswith(begins[1]) or begins[1].startswith(begins[0])):
            return False
        (low, high), (other_low, other_high) = self._bounds(a), self._bounds(b)
        return not (_apart(high, other_low) or _apart(other_high, low))

    def document(self, text: Any) -> KnownDocument | None:
        """The known parts of a JSON string with unknown parts; None for other values."""
        is_there = isinstance(text, Symbol) and text.key[0] == "at"
        return self.documents.get((text.key[1], text.key[2])) if is_there else None

    def _may_be_json(self, symbol: Symbol, text: str) -> bool:
        """Whether the value of a symbol may be this string, according to the known parts of its JSON."""
        document = self.document(symbol)
        if document is None:
            return True
        other = document_of_text(text)
        return other is not None and document.may_equal(other)

    def _contradicts(self, a: Symbol, b: Any) -> bool:
        """Whether an earlier decision would be wrong if the symbol `a` had the value `b`."""
        bound = {**self.bound, a: b}
        for proposition, decided in self.decisions.items():
            if proposition[0] not in ("=", "<", "<=", "test", "is", "defined") or a not in set(symbols_in(proposition)):
                continue
            truth = self._evaluated(proposition, bound)
            if truth is not None and truth != decided:
                return True
        return False

    def _evaluated(self, proposition: Proposition, bound: dict[Symbol, Any]) -> bool | None:
        """Whether a proposition holds if symbols have the values in `bound`. None if a symbol in it has no value, or if
        the proposition is that a built-in relation or an aggregate is defined."""
        kind, *rest = proposition
        if kind in ("test", "defined"):
            name, arguments = rest
        elif kind == "is":
            name, arguments = rest[1], (rest[0],)
        else:
            name, arguments = kind, tuple(rest)
        values = [self._resolved(argument, bound) for argument in arguments]
        if any(isinstance(value, Symbol) for value in values):
            return None
        if kind == "test":
            return bool(TESTS[name].function(*values))
        if kind == "is":
            return bool(kind_of(values[0]) == name)
        if kind == "defined":
            return FUNCTIONS[name].function(*values) is not None if name in FUNCTIONS else None
        return bool(COMPARISONS[name](*values))

    def _less(self, a: Any, b: Any) -> bool | None:
        if isinstance(a, Symbol) and isinstance(b, Symbol):
            return False if a == b else None
        symbol, limit = (a, b) if isinstance(a, Symbol) else (b, a)
        lower, upper = self._bounds(symbol)
        if symbol is a:
            if upper is not None and (upper[0] < limit or (upper[0] == limit and not upper[1])):
                return True
            return False if lower is not None and bool(lower[0] >= limit) else None
        if lower is not None and (lower[0] > limit or (lower[0] == limit and not lower[1])):
            return True
        return False if upper is not None and bool(upper[0] <= limit) else None

    def _bounds(self, symbol: Symbol) -> tuple[Bound, Bound]:
        """(lower bound, upper bound) of a symbol. Each is (value, whether it is inclusive), or None if there is no
        bound."""
        if symbol.type not in ("symbol", "number"):
            return None, None
        lower, upper = self._known_bounds(symbol)
        for proposition, holds in self.decisions.items():
            if proposition[0] != "<" or symbol not in proposition[1:]:
                continue
            _, left, right = proposition
            other = right if left == symbol else left
            if isinstance(other, Symbol) or kind_of(other) != symbol.type:
                continue
            if (left == symbol) == holds:
                upper = _tighter(upper, (other, not holds), -1)
            else:
                lower = _tighter(lower, (other, not holds), 1)
        if symbol.key[0] in ("size", "count") or symbol.key[:2] == ("call", "length"):
            lower, upper = _whole(lower, 1), _whole(upper, -1)
        return lower, upper

    def _known_bounds(self, symbol: Symbol) -> tuple[Bound, Bound]:
        kind, *rest = symbol.key
        if symbol in self.ranges:
            return self.ranges[symbol]
        if kind == "size":
            unknown = self.unknown.get((rest[0], rest[1]))
            refinement = unknown.refinement if unknown is not None else None
            most = refinement.max_length if refinement is not None else None
            least = (refinement.min_length or 0) if refinement is not None else 0
            return (least, True), (most, True) if most is not None else None
        if kind == "call" and rest[0] == "length":
            return (len(self.prefix(rest[1])), True), None
        if kind == "call" and rest[0] in ("+", "-", "sum", "min", "max") and symbol.type == "number":
            return self._computed_bounds(rest[0], [self.bounds_of(part) for part in rest[1:]])
        if kind == "at" and symbol.type == "number":
            unknown = self.unknown.get((rest[0], rest[1]))
            refinement = unknown.refinement if unknown is not None else None
            if refinement is not None:
                return _plain_bound(refinement.lower), _plain_bound(refinement.upper)
        return None, None

    def bounds_of(self, value: Any) -> tuple[Bound, Bound]:
        value = self.resolved(value)
        return self._bounds(value) if isinstance(value, Symbol) else ((value, True), (value, True))

    @staticmethod
    def _computed_bounds(function: str, parts: list[tuple[Bound, Bound]]) -> tuple[Bound, Bound]:
        """(lower bound, upper bound) of the result of an arithmetic function. `parts`: the bounds of its arguments."""
        if function == "-":
            (lower, upper), (other_lower, other_upper) = parts
            parts = [(lower, upper), (_negative(other_upper), _negative(other_lower))]
        lowers, uppers = zip(*parts, strict=True)
        if function in ("min", "max"):
            every, some = (uppers, lowers) if function == "max" else (lowers, uppers)
            choose = max if function == "max" else min
            given = [bound for bound in some if bound is not None]
            one = choose((b[0] for b in given), default=None)
            near: Bound = (one, True) if one is not None else None
            far: Bound = None if None in every else (choose(b[0] for b in every), True)
            return (near, far) if function == "max" else (far, near)
        return _sum(lowers), _sum(uppers)

    # -------- the beginnings of strings

    def prefix(self, value: Any) -> str:
        """The known beginning of a string; "" for other values, and if it is not known."""
        value = self.resolved(value)
        if not isinstance(value, Symbol):
            return value if type(value) is str else ""
        known = self._known_prefix(value)
        for proposition, holds in self.decisions.items():
            if holds and proposition[:2] == ("test", "starts_with") and proposition[2][0] == value:
                begin = self.resolved(proposition[2][1])
                if type(begin) is str and len(begin) > len(known):
                    known = begin
        return known

    def _known_prefix(self, symbol: Symbol) -> str:
        kind, *rest = symbol.key
        document = self.document(symbol)
        if document is not None:
            return document.begin
        if kind == "at" and symbol.type == "symbol":
            unknown = self.unknown.get((rest[0], rest[1]))
            return unknown.refinement.prefix if unknown is not None and unknown.refinement is not None else ""
        if kind == "path":
            return self.prefix(rest[0])
        if kind == "call" and rest[0] == "++":
            first, second = (self.resolved(part) for part in rest[1:])
            if not isinstance(first, Symbol):
                return str(first) + self.prefix(second)
            return self.prefix(first)
        if kind == "call" and len(rest) > 1:
            begin = self.prefix(rest[1])
            return prefix_of_result(rest[0], begin, tuple(map(self.resolved, rest[2:]))) if begin else ""
        if kind == "split" and len(rest) == 3 and type(rest[1][0]) is int:
            (text, separator), (index, *_), _ = rest
            return (known_parts(self.prefix(text), separator)[index:] or [""])[0]
        return ""

    def _may_begin(self, symbol: Symbol, text: str) -> bool:
        """Whether the value of a symbol may be this string, according to its known beginning."""
        begin = self.prefix(symbol)
        if not text.startswith(begin):
            return False
        return symbol.key[0] != "path" or len(text) > len(begin)

    def _begins(self, value: Any, prefix: Any) -> bool | None:
        if isinstance(prefix, Symbol) or type(prefix) is not str or not isinstance(value, Symbol):
            return None
        begin = self.prefix(value)
        if begin.startswith(prefix):
            return True
        if not prefix.startswith(begin):
            return False
        if value.key[0] == "path" and prefix[len(begin) : len(begin) + 1] not in (".", "["):
            return False
        return self._denied_before(value, prefix)

    def _matches(self, value: Any, pattern: Any) -> bool | None:
        """Whether a pattern matches a value; None if this is not known. It is known only if the pattern is ^ and a
        literal text, or begins with such a text that the known beginning of the value contradicts."""
        if type(pattern) is not str or not isinstance(value, Symbol) or value.type != "symbol" or "|" in pattern:
            return None
        match = _LITERAL.match(pattern)
        if match is None:
            return None
        begins = re.sub(r"\\(.)", r"\1", match[1])
        known = self._begins(value, begins) if begins else True
        if known is None and match.end() == len(pattern):
            return self.decisions.get(("test", "starts_with", (value, begins)))
        return known if not known or match.end() == len(pattern) else None

    def _denied_before(self, value: Symbol, prefix: str) -> bool | None:
        """False if an earlier decision excludes that a string begins with `prefix`, otherwise None."""
        for proposition, holds in self.decisions.items():
            if not holds and proposition[:2] == ("test", "starts_with") and proposition[2][0] == value:
                other = proposition[2][1]
                if type(other) is str and prefix.startswith(other):
                    return False
        return None


_LITERAL = re.compile(r"\^((?:[\w:/ -](?![*+?{])|\\[^\w](?![*+?{]))*)")


def _is_there(unknown: Unknown) -> bool:
    return unknown.refinement is not None and bool(unknown.refinement.not_null)


def _apart(upper: Bound, lower: Bound) -> bool:
    """Whether no value is within both bounds."""
    if upper is None or lower is None:
        return False
    return bool(upper[0] < lower[0] or (upper[0] == lower[0] and not (upper[1] and lower[1])))


def _within(value: Any, lower: Bound, upper: Bound) -> bool:
    if lower is not None and not (value > lower[0] or (value == lower[0] and lower[1])):
        return False
    return upper is None or bool(value < upper[0] or (value == upper[0] and upper[1]))


def _tighter(one: Bound, other: tuple[Any, bool], sign: int) -> Bound:
    """The narrower of two bounds: the greater of two lower bounds (`sign` 1), or the smaller of two upper bounds
    (`sign` -1). If both bounds have the same value, the result is inclusive only if both bounds are inclusive."""
    if one is None:
        return other
    if one[0] == other[0]:
        return (one[0], one[1] and other[1])
    return one if (one[0] > other[0]) == (sign > 0) else other


def _negative(bound: Bound) -> Bound:
    return None if bound is None else (bound[0] * -1, bound[1])


def _sum(bounds: tuple[Bound, ...]) -> Bound:
    given = [bound for bound in bounds if bound is not None]
    if len(given) != len(bounds):
        return None
    return sum((value for value, _ in given), 0), all(is_met for _, is_met in given)


def _whole(bound: Bound, sign: int) -> Bound:
    """The bound of an integer, converted to an inclusive bound. `sign`: 1 for a lower, -1 for an upper bound."""
    if bound is None or type(bound[0]) is not int or bound[1]:
        return bound
    return bound[0] + sign, True


def _plain_bound(bound: Any) -> Bound:
    """The bound in the refinement of an unknown value, if it is a number that rules support; otherwise None (no
    bound)."""
    if bound is None or is_infinite(bound[0]):
        return None
    exact = json_number(bound[0])
    value = exact if exact.__class__ is int else number(exact)
    return (value, bound[1]) if is_a_number(value) else None
