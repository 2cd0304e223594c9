"""What policies might say of objects that a plan leaves for a later one: a policy that no object has been shown to has
not passed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.answers.policy.facts.deferred import DeferredResource
from planner.answers.policy.facts.relations import KEYED
from planner.answers.policy.program import Policies
from planner.answers.policy.three_valued import VERDICTS
from planner.answers.policy.values_read import ANY_REASON, Interest
from planner.language.syntax.rule_syntax import Constant
from planner.logic.datalog.language.literals import atoms
from planner.logic.programs.actions import actions

_OF_OTHERS = frozenset(("output", "variable", "check_result"))


def undecided(policies: Policies, later: Iterable[DeferredResource]) -> Iterator[tuple[str, int, DeferredResource]]:
    """The verdicts (name, number of the rule) that might be given about an object that is left."""
    program = policies.program
    interest = Interest(program, frozenset(), policies.given, policies.packs.relations)
    later = list(later)
    for rule in program.rules if later else ():
        if rule.head.predicate not in VERDICTS:
            continue
        about = rule.head.arguments[1]
        if isinstance(about, Constant):
            if not _reads_objects(policies, rule.number):
                continue
            met = later[:1]
        else:
            condition = interest.condition(rule, about)
            met = [one for one in later if any(condition((one.mode, one.type, a, ANY_REASON, True)) for a in actions())]
        yield from ((rule.head.predicate, rule.number, one) for one in met)


def _reads_objects(policies: Policies, number: int) -> bool:
    """Whether a rule rests on anything that is said of objects."""
    program = policies.program
    needed = program.needed({atom.predicate for atom, _ in atoms(program.rules[number].body)})
    return any(p.number in needed and p.name in KEYED - _OF_OTHERS for p in program.predicates.values())
