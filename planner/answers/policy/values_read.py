"""Determines the values that policies read. For example, a policy about `tags.Owner` of created buckets reads no other
values. The result may contain more values than policies read. For each literal about values, the result contains two
things: the paths that the literal may read (None: any path), and the conditions of its rule on the same address, such
as the type and the action of the object. If the rule reads another predicate, the conditions of the rules of that
predicate on its first column are included."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from typing import Any, TypeAlias

from planner.answers.policy.paths_read import EVERYTHING, Looked, PathTerms, Pattern, Patterns
from planner.answers.policy.planned_values import OTHERS, VALUES
from planner.language.syntax import rule_syntax as syntax
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.engine.interpret import value_of
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language.model import Rule, atoms, listed_values, name_of
from planner.logic.model.plan import ResourceChange
from planner.logic.programs.actions import does, steps

READERS = (VALUES - set(OTHERS)) | {"prior", "unknown_after", "sensitive_at"}
"""predicates about values, whose first columns are the address and the path"""
Kind: TypeAlias = tuple[str, str, str, str, bool]
"""the properties of an object on which conditions depend: (mode, type, action, reason, whether arguments force a
replacement)"""
ANY_REASON = "*"
"""a reason that is not known yet"""
Condition: TypeAlias = Callable[[Kind], bool]
Body: TypeAlias = tuple[syntax.Literal, ...]


class _Beginning(frozenset[Any]):
    """The set of all strings with a common beginning."""

    text: str

    def __new__(cls, text: str) -> _Beginning:
        made = super().__new__(cls, (cls, text))
        made.text = text
        return made

    def __contains__(self, value: object) -> bool:
        return str(value).startswith(self.text)

    def __and__(self, other: Any) -> frozenset[Any]:
        return self if isinstance(other, _Beginning) else frozenset(value for value in other if value in self)

    def __rand__(self, other: Any) -> frozenset[Any]:
        return self.__and__(other)


Values: TypeAlias = "frozenset[Any] | None"
"""the possible values of a term; None: any value"""
Bound: TypeAlias = "Mapping[str, frozenset[Any]]"
Columns: TypeAlias = tuple[tuple[int, frozenset[Any]], ...]
_UNBOUND: Bound = {}
OUTPUT: Kind = ("output", "", "", "", False)


def kind_of(change: ResourceChange) -> Kind:
    return (change.mode, change.type, change.action, change.reason, bool(change.replace_paths))


class Interest:
    """The values that policies read. `needed`: only the rules for these predicates are considered. `given`: the facts
    of the relations `of_packs`; rules may derive further rows of these relations."""

    def __init__(
        self,
        program: RuleProgram,
        needed: frozenset[str],
        given: FactBase | None = None,
        of_packs: frozenset[str] = frozenset(),
    ) -> None:
        self.of_packs = of_packs
        self.given = given if given is not None else FactBase({}, {})
        self.rules = [rule for rule in program.rules if rule.head.predicate in needed]
        self._by_head: dict[str, list[Rule]] = {}
        for rule in program.rules:
            self._by_head.setdefault(rule.head.predicate, []).append(rule)
        self._conditions: dict[tuple[str, Columns], Condition] = {}
        self._terms = PathTerms(self._by_head, self.given, of_packs, READERS, self._listable)
        self._known: dict[Kind, Looked] = {}

    def attributes(self, kind: Kind) -> frozenset[str] | None:
        """The attributes that policies read of objects of a kind; None for all attributes."""
        looked = self.looked(kind)
        return None if looked.all else frozenset(looked.parts)

    def looked(self, kind: Kind) -> Looked:
        """The values that policies read of objects of a kind."""
        if kind not in self._known:
            read: set[Pattern] | None = set()
            for condition, patterns in self.entries:
                if read is not None and condition(kind):
                    read = None if patterns is None else read | patterns
            self._known[kind] = EVERYTHING if read is None else Looked(read)
        return self._known[kind]

    def asks_why_unknown(self, kind: Kind) -> bool:
        """Whether policies read the reasons why values of these objects are unknown."""
        return any(condition(kind) for condition in self._causes)

    @cached_property
    def _causes(self) -> list[Condition]:
        read = [(rule, atom) for rule in self.rules for atom, _ in atoms(rule.body)]
        return [self.condition(rule, a.arguments[0]) for rule, a in read if a.predicate == "unknown_because"]

    @cached_property
    def entries(self) -> list[tuple[Condition, Patterns | None]]:
        """(condition on the owner of the value, patterns of the paths) for each literal about values."""
        return [
            (self.condition(rule, atom.arguments[0]), self._terms.patterns(body, atom.arguments[1]))
            for rule in self.rules
            for atom, body in _scoped(rule.body)
            if atom.predicate in READERS
        ]

    # -------- the owners of values

    def condition(self, rule: Rule, address: syntax.Term, bound: Bound = _UNBOUND) -> Condition:
        """The condition of a rule on the object at an address. `bound`: the possible values of variables."""
        if not isinstance(address, syntax.RuleVariable):
            return _anything
        conditions = [
            self._condition_on(atom, self._columns(rule, atom, bound))
            for atom in rule.body
            if isinstance(atom, syntax.Atom) and atom.arguments and str(atom.arguments[0]) == address.name
        ]
        return lambda kind: all(condition(kind) for condition in conditions)

    def _columns(self, rule: Rule, atom: syntax.Atom, bound: Bound) -> Columns:
        """(index, possible values) of each column of an atom, except the first, whose possible values are known."""
        items = ((i, self._values(rule.body, term, bound)) for i, term in enumerate(atom.arguments) if i)
        return tuple((i, values) for i, values in items if values is not None)

    def _condition_on(self, atom: syntax.Atom, columns: Columns) -> Condition:
        may = dict(columns)
        first = may.get(1)
        if atom.predicate == "change":
            modes = may.get(5)
            return lambda k: k[0] != "output" and (modes is None or k[0] in modes) and (first is None or k[1] in first)
        if atom.predicate == "action":
            return lambda k: k[0] != "output" and (first is None or k[2] in first)
        if atom.predicate == "reason":
            return lambda k: bool(k[3]) and (first is None or k[3] == ANY_REASON or k[3] in first)
        if atom.predicate == "replace_path":
            return lambda k: k[4]
        if atom.predicate == "output":
            return lambda k: k[0] == "output"
        if atom.predicate == "variable":
            return _nothing
        if atom.predicate == "acts":
            return lambda k: k[0] != "output" and any(first is None or act in first for act in _acts(k[2]))
        return self._rule_conditions(atom.predicate, columns)

    def _rule_conditions(self, predicate: str, columns: Columns) -> Condition:
        """The condition of the rules of a predicate on its first column, if other columns have the values in
        `columns`."""
        if predicate not in self._by_head or self.given.relation(predicate):
            return _anything
        key = predicate, columns
        if key not in self._conditions:
            self._conditions[key] = _anything  # used for recursive predicates until the conditions are computed
            ways = []
            for rule in self._by_head[predicate]:
                bound = self._bindings(rule, columns)
                if bound is not None:
                    arguments = rule.head.arguments
                    ways.append(self.condition(rule, arguments[0], bound) if arguments else _anything)
            self._conditions[key] = lambda k: any(way(k) for way in ways)
        return self._conditions[key]

    @staticmethod
    def _bindings(rule: Rule, columns: Columns) -> Bound | None:
        """{variable: possible values} in a rule if columns of its head have the values in `columns`; None if they
        cannot have these values."""
        bound: dict[str, frozenset[Any]] = {}
        for i, values in columns:
            term = rule.head.arguments[i]
            if isinstance(term, syntax.Constant):
                if term.value not in values:
                    return None
            elif isinstance(term, syntax.RuleVariable):
                bound[term.name] = bound.get(term.name, values) & values
        return bound

    def _values(self, body: Body, term: syntax.Term, bound: Bound, around: frozenset[str] = frozenset()) -> Values:
        """The possible values of a term; None if they are not known. `around`: the predicates whose values are being
        determined."""
        if isinstance(term, syntax.Constant):
            return frozenset((term.value,))
        if not isinstance(term, syntax.RuleVariable):
            return None
        if term.name in bound:
            return bound[term.name]
        for literal in body:
            result: Values = None
            if isinstance(literal, syntax.Builtin):
                result = listed_values(literal, term)
            elif isinstance(literal, syntax.Test):
                result = _begins(literal, term)
            elif isinstance(literal, syntax.Comparison) and literal.operator == "=":
                equal = (x for y, x in literal.sides if name_of(y) == term.name and isinstance(x, syntax.Constant))
                result = next((frozenset((x.value,)) for x in equal), None)
            elif isinstance(literal, syntax.Atom) and literal.predicate not in READERS:
                columns = [i for i, argument in enumerate(literal.arguments) if name_of(argument) == term.name]
                result = self._of_column(literal.predicate, columns[0], around) if columns else None
            if result is not None:
                return result
        return None

    def _of_column(self, predicate: str, column: int, around: frozenset[str]) -> Values:
        """The values in a column of a predicate; None if they cannot be listed."""
        rules = self._by_head.get(predicate, [])
        if predicate in around or (not rules and predicate not in self.of_packs):
            return None
        possible = {row[column] for row in self.given.relation(predicate)}
        for rule in rules:
            argument = rule.head.arguments[column]
            values = (
                self._values(rule.body, argument, _UNBOUND, around | {predicate})
                if rule.body
                else frozenset((value_of(argument, {}),))
            )
            if values is None or isinstance(values, _Beginning):
                return None
            possible |= values
        return frozenset(possible)

    # -------- paths

    def _listable(self, body: Body, term: syntax.Term) -> Values:
        """The possible values of a term; None if they cannot be listed."""
        values = self._values(body, term, _UNBOUND)
        return None if isinstance(values, _Beginning) else values


def _begins(literal: syntax.Test, term: syntax.RuleVariable) -> Values:
    """The set of the strings with the beginning that a test requires of a variable; None for other tests."""
    if literal.function not in ("starts_with", "matches") or literal.negated:
        return None
    subject, text = literal.arguments
    if name_of(subject) != term.name or not isinstance(text, syntax.Constant):
        return None
    beginning = str(text.value) if literal.function == "starts_with" else _beginning(str(text.value))
    return _Beginning(beginning) if beginning else None


def _beginning(pattern: str) -> str:
    """The literal text after ^ with which each match of a regular expression begins; "" if there is none."""
    match = _ANCHORED.match(pattern)
    if match is None:
        return ""
    outer, before = re.sub(r"\\.|\[[^\]]*\]", "", pattern), ""
    while outer != before:
        outer, before = re.sub(r"\([^()]*\)", "", outer), outer
    text, repeated = match.groups()
    return "" if set("|()[]") & set(outer) else text[:-1] if repeated else text


_ANCHORED = re.compile(r"\^([A-Za-z0-9_]+)([*?{])?")


@cache
def _acts(action: str) -> frozenset[str]:
    """The acts of an action, as in the relation `acts`: {"create", "delete", "replace"} for "create-then-delete"."""
    return frozenset((*steps(action), *(["replace"] if does(action, "replaces") else [])))


def _scoped(body: Body) -> Iterator[tuple[syntax.Atom, Body]]:
    """(atom, literals that hold together with it) for each atom of a body."""
    for literal in body:
        if isinstance(literal, syntax.Atom):
            yield literal, body
        elif isinstance(literal, syntax.Negation):
            yield literal.atom, body
        elif isinstance(literal, syntax.Aggregate):
            for atom, inner in _scoped(literal.body):
                yield atom, (*inner, *body)


def _anything(kind: Kind) -> bool:
    return True


def _nothing(kind: Kind) -> bool:
    return False
