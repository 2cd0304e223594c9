"""Whether objects can be judged apart from each other: whether what rules say of one rests on the facts about it alone,
and on those that are about none. Then a plan can be judged piece by piece, whatever pieces are made of it.

Read off the rules. A relation that reads facts about objects has a column for the address that a row is about, and each
of its rules joins all such relations by one variable, which stands in that column of the head. So what holds of an
address is what is derived where its facts are. Rows that name it elsewhere may be wrong, for facts are missing there:
verdicts must not rest on such a row alone, but also on one that only the facts about the address give.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cache

from planner.answers.policy.bounded_cost import is_tame
from planner.answers.policy.library import own_files
from planner.answers.policy.planned_values import MAYBE
from planner.answers.policy.program import Policies
from planner.answers.policy.three_valued import VERDICTS, written_name
from planner.answers.policy.values_read import Interest, Kind
from planner.language.syntax.rule_syntax import Atom, RuleVariable, Term
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language.literals import atoms
from planner.logic.datalog.language.model import Predicate, Rule

OF_ONE = frozenset(
    (
        *("change", "action", "undecided", "reason", "replace_path", "moved_from", "instance_of", "import_block"),
        *("output", "planned", "prior", "size_of", "part", "unknown_after", "maybe", "maybe_exact", "maybe_open"),
    )
)
"""the relations whose first column is the address, and whose rows come from what a plan says of that object alone"""
OF_NONE = frozenset(("now",))
"""the relations that say the same wherever one looks"""
_OPERATORS = frozenset(("json_parts", "json_values"))
"""those whose rows about an address come from rows about it"""


def can_be_judged_apart(policies: Policies) -> bool:
    """Whether what the policies say of a plan is what they say of its pieces."""
    names, given = policies.reads.predicates, policies.given
    written, modal = policies.program, policies.modal_program
    return (
        (not own_files(policies.files) or is_tame(written.rules))  # else they are tried out on the whole
        and is_apart(modal, (*policies.modal.verdicts, "judged"), names, given)
        and is_apart(written, (*VERDICTS, "judged"), names, given)
        and _could_needs_unknowns(policies)
    )


def kinds_that_matter(policies: Policies) -> Callable[[Kind], bool]:
    """Of policies that judge objects apart: whether they can say something of objects of a kind."""
    told = {*policies.modal.verdicts, "judged"}
    modal = policies.modal_program
    interest = Interest(modal, frozenset(), policies.given, policies.packs.relations)
    conditions = [interest.condition(r, r.head.arguments[1]) for r in modal.rules if r.head.predicate in told]
    return cache(lambda kind: any(condition(kind) for condition in conditions))


def _could_needs_unknowns(policies: Policies) -> bool:
    """Whether nothing could hold, of an object without unknown values, but what does hold: then it does not matter
    whether another one has some. So each rule for what could hold asks for an unknown value, or is the rule as it is
    written."""
    written = {rule.name: rule for rule in policies.program.rules}
    could = set(policies.modal.could.values())
    unsure = {*MAYBE, *policies.modal.doubts}
    for rule in policies.modal_program.rules:
        if rule.head.predicate not in could or any(isinstance(x, Atom) and x.predicate in unsure for x in rule.body):
            continue
        origin = written.get(written_name(rule.name))
        said = {str(literal) for literal in rule.body if not isinstance(literal, Atom)}
        if origin is None or any(str(x) not in said for x in origin.body if not isinstance(x, Atom)):
            return False
        if sum(isinstance(x, Atom) for x in rule.body) < sum(isinstance(x, Atom) for x in origin.body):
            return False
    return True


def is_apart(program: RuleProgram, wanted: Collection[str], reads: Collection[str], given: FactBase) -> bool:
    """Whether the relations `wanted` have the rows (with the address in the second column) that they have in the pieces
    of a plan, taken together, and each has the same derivations. `reads` are the relations that are read of a plan,
    `given` the facts that are there beside it."""
    if not OF_ONE.union(OF_NONE).issuperset(reads) or any(given.relation(name) for name in (*OF_ONE, *wanted)):
        return False
    needed = program.needed(wanted)
    predicates = [p for p in program.predicates.values() if p.number in needed]
    about = _about([r for r in program.rules if program.predicates[r.head.predicate].number in needed], predicates)
    return about is not None and about.is_sound(wanted, given)


class _About:
    """The relations about objects, with the column of the address."""

    def __init__(self, rules: list[Rule], column: dict[str, int]) -> None:
        self.rules, self.column = rules, column

    def is_sound(self, wanted: Collection[str], given: FactBase) -> bool:
        told = {rule.head.predicate for rule in self.rules}.intersection(wanted)
        return (
            all(map(self._joins, self.rules))
            and all(self.column.get(name) == 1 for name in told)
            and told <= self._only_there(given)
        )

    def _joins(self, rule: Rule) -> bool:
        """Whether one variable stands in all columns of addresses."""
        terms = [self.address(atom) for atom, _ in atoms(rule.body) if atom.predicate in self.column]
        if terms:
            terms.append(self.address(rule.head))
        return len({_name(term) for term in terms}) < 2 and None not in map(_name, terms)

    def address(self, atom: Atom) -> Term | None:
        at = self.column.get(atom.predicate)
        return None if at is None else atom.arguments[at]

    def _only_there(self, given: FactBase) -> set[str]:
        """The relations that have rows about an address only where its facts are."""
        found = set(OF_ONE) | (self.column.keys() - {rule.head.predicate for rule in self.rules})
        while True:
            more = {name for name in self.column.keys() - found if not given.relation(name)}
            for rule in self.rules:
                if not any(isinstance(x, Atom) and x.predicate in found for x in rule.body):
                    more.discard(rule.head.predicate)
            if not more:
                return found
            found |= more


def _about(rules: list[Rule], predicates: Iterable[Predicate]) -> _About | None:
    """The relations about objects; None where an operator mixes what is about several."""
    column = dict.fromkeys(OF_ONE, 0)
    operated = [p for p in predicates if p.operator is not None]
    changed = True
    while changed:
        changed = False
        for predicate in operated:
            if predicate.name not in column and any(name in column for name in predicate.inputs):
                if predicate.operator not in _OPERATORS:
                    return None
                column[predicate.name] = 0
                changed = True
        for rule in rules:
            head = rule.head
            if head.predicate in column:
                continue
            read = [atom for atom, _ in atoms(rule.body) if atom.predicate in column]
            if read:
                address = _name(read[0].arguments[column[read[0].predicate]])
                places = [i for i, term in enumerate(head.arguments) if address is not None and _name(term) == address]
                if not places:
                    return None
                column[head.predicate] = places[0]
                changed = True
    return _About(rules, column)


def _name(term: Term | None) -> str | None:
    return term.name if isinstance(term, RuleVariable) else None
