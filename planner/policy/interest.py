"""Which values do policies look at? Whoever reads `tags.Owner` of created buckets needs no other value of any object.

Read off the rules, and wide rather than narrow: for each literal about values, the attribute that its path begins with
(None: any), and what else its rule asks of the same address: the type, the action. What another predicate asks of its
first column counts where a rule reads that predicate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TypeAlias

from planner.datalog.engine.fact_base import FactBase
from planner.datalog.engine.program import Program
from planner.datalog.engine.terms import value_of
from planner.datalog.front.model import Rule
from planner.model.plan import ResourceChange
from planner.policy.values import OTHERS, VALUES, root_of
from planner.programs.actions import does
from planner.syntax.rule_syntax import (
    MEMBER,
    Aggregate,
    Atom,
    Builtin,
    Call,
    Comparison,
    Constant,
    Literal,
    Negation,
    Term,
    Variable,
)

READERS = (VALUES - set(OTHERS)) | {"prior", "unknown_after", "sensitive_at"}
"""the predicates about values; their columns begin with address and path"""
Kind: TypeAlias = tuple[str, str, str, str, bool]
"""what tells objects apart here: mode, type, action, reason, and whether arguments force a replacement"""
Condition: TypeAlias = Callable[[Kind], bool]
OUTPUT: Kind = ("output", "", "", "", False)


def kind_of(change: ResourceChange) -> Kind:
    return (change.mode, change.type, change.action, change.reason, bool(change.replace_paths))


class Interest:
    """What the rules of a program look at. `needed`: only rules for these predicates count. `given` are facts of
    the relations `of_packs`, which rules may derive, too."""

    def __init__(
        self,
        program: Program,
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
        self._conditions: dict[str, Condition] = {}
        self._known: dict[Kind, frozenset[str] | None] = {}

    def attributes(self, kind: Kind) -> frozenset[str] | None:
        """The attributes of objects of a kind that policies look at; None for all."""
        if kind not in self._known:
            roots_read: set[str] | None = set()
            for condition, roots in self.entries:
                if roots_read is not None and condition(kind):
                    roots_read = None if roots is None else roots_read | roots
            self._known[kind] = None if roots_read is None else frozenset(roots_read)
        return self._known[kind]

    def asks_why_unknown(self, kind: Kind) -> bool:
        """Whether policies ask why values of such objects are unknown."""
        return any(condition(kind) for condition in self._causes)

    @cached_property
    def _causes(self) -> list[Condition]:
        read = [(rule, atom) for rule in self.rules for atom in _atoms(rule.body)]
        return [self._condition(rule, a.arguments[0]) for rule, a in read if a.predicate == "unknown_because"]

    @cached_property
    def entries(self) -> list[tuple[Condition, frozenset[str] | None]]:
        """For each literal about values: whose, and which attributes."""
        return [
            (self._condition(rule, atom.arguments[0]), self._roots(rule, atom.arguments[1]))
            for rule in self.rules
            for atom in _atoms(rule.body)
            if atom.predicate in READERS
        ]

    # -------- whose values

    def _condition(self, rule: Rule, address: Term) -> Condition:
        """What a rule asks of the objects that an address can be."""
        if not isinstance(address, Variable):
            return _anything
        conditions = [
            self._asked(atom)
            for atom in rule.body
            if isinstance(atom, Atom) and atom.arguments and str(atom.arguments[0]) == address.name
        ]
        return _all(conditions)

    def _asked(self, atom: Atom) -> Condition:
        constants = {i: a.value for i, a in enumerate(atom.arguments) if isinstance(a, Constant)}
        if atom.predicate == "change":
            mode, type_ = constants.get(5), constants.get(1)
            return lambda k: k[0] != "output" and (mode is None or k[0] == mode) and (type_ is None or k[1] == type_)
        if atom.predicate == "action":
            action = constants.get(1)
            return lambda k: k[0] != "output" and (action is None or k[2] == action)
        if atom.predicate == "reason":
            reason = constants.get(1)
            return lambda k: bool(k[3]) and (reason is None or k[3] == reason)
        if atom.predicate == "replace_path":
            return lambda k: k[4]
        if atom.predicate == "output":
            return lambda k: k[0] == "output"
        if atom.predicate == "variable":
            return _nothing
        if atom.predicate == "acts" and constants.get(1) == "replace":
            return lambda k: does(k[2], "replaces")
        return self._derived(atom.predicate)

    def _derived(self, predicate: str) -> Condition:
        """What the rules of a predicate ask of its first column."""
        if predicate not in self._by_head or self.given.relation(predicate):
            return _anything
        if predicate not in self._conditions:
            self._conditions[predicate] = _anything  # while it is being found out, for recursive ones
            ways = [
                self._condition(rule, rule.head.arguments[0]) if rule.head.arguments else _anything
                for rule in self._by_head[predicate]
            ]
            self._conditions[predicate] = lambda k: any(way(k) for way in ways)
        return self._conditions[predicate]

    # -------- which attributes

    def _roots(self, rule: Rule, path: Term) -> frozenset[str] | None:
        """The names that a path can begin with; None for any."""
        if isinstance(path, Constant):
            return frozenset((root_of(str(path.value)),))
        if not isinstance(path, Variable):
            return None
        for literal in rule.body:
            if isinstance(literal, Builtin) and literal.relation == MEMBER and not literal.negated:
                listed = [a.value for a in literal.inputs if isinstance(a, Constant)]
                if str(literal.outputs[0]) == path.name and len(listed) == len(literal.inputs):
                    return frozenset(root_of(str(value)) for value in listed)
            if isinstance(literal, Comparison) and literal.operator == "=":
                for target, term in ((literal.left, literal.right), (literal.right, literal.left)):
                    if isinstance(target, Variable) and target.name == path.name:
                        start = _start(term)
                        if any(end in start for end in ".["):
                            return frozenset((root_of(start),))
            if isinstance(literal, Atom) and literal.predicate not in READERS:
                for column, argument in enumerate(literal.arguments):
                    if isinstance(argument, Variable) and argument.name == path.name:
                        constants = self._constants(literal.predicate, column)
                        if constants is not None:
                            return constants
        return None

    def _constants(self, predicate: str, column: int, around: frozenset[str] = frozenset()) -> frozenset[str] | None:
        """The attributes that a column of paths names, of a predicate that rests on nothing but facts; None where they
        cannot be told. `around` are the predicates that are asked about already."""
        rules = self._by_head.get(predicate, [])
        if predicate in around or (not rules and predicate not in self.of_packs):
            return None
        found = {root_of(str(row[column])) for row in self.given.relation(predicate)}
        for rule in rules:
            argument = rule.head.arguments[column]
            if not rule.body:
                found.add(root_of(str(value_of(argument, {}))))
                continue
            read = [a for a in rule.body if isinstance(a, Atom) and a.predicate not in READERS]
            ways = (
                self._constants(atom.predicate, i, around | {predicate})
                for atom in read
                for i, term in enumerate(atom.arguments)
                if isinstance(term, Variable) and isinstance(argument, Variable) and term.name == argument.name
            )
            known = next((way for way in ways if way is not None), None)
            if known is None:
                return None
            found |= known
        return frozenset(found)


def _start(term: Term) -> str:
    """The constant text that a joined text begins with."""
    while isinstance(term, Call) and term.function == "++":
        term = term.arguments[0]
    return str(term.value) if isinstance(term, Constant) else ""


def _atoms(body: Iterable[Literal]) -> list[Atom]:
    atoms: list[Atom] = []
    for literal in body:
        if isinstance(literal, Atom):
            atoms.append(literal)
        elif isinstance(literal, Negation):
            atoms.append(literal.atom)
        elif isinstance(literal, Aggregate):
            atoms += _atoms(literal.body)
    return atoms


def _anything(kind: Kind) -> bool:
    return True


def _nothing(kind: Kind) -> bool:
    return False


def _all(conditions: list[Condition]) -> Condition:
    return lambda kind: all(condition(kind) for condition in conditions)
