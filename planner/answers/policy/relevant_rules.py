"""Only the rules that an apply has to ask again, and whether one object can be judged by itself.

Asking again means evaluating policies whenever one of perhaps thousands of objects is about to change. Rules that speak
about one address only (as most do) are then evaluated over the facts about that address: time that does not grow with
the plan.
"""

from __future__ import annotations

from planner.answers.policy.facts.relations import KEYED
from planner.answers.policy.program import Policies
from planner.answers.policy.three_valued import VERDICTS, rewrite
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.records import frozen
from planner.language.syntax.rule_syntax import Constant, RuleVariable
from planner.logic.datalog.language.literals import atoms
from planner.logic.datalog.language.model import Rule
from planner.logic.programs.rule_files import load


@frozen(eq=False)
class Narrowed:
    """Policies with some of their denials. `is_local`: each denial rests on facts about its own address (and on those
    that are about none)."""

    policies: Policies
    is_local: bool


def narrowed(policies: Policies, codes: set[str]) -> Narrowed:
    """The policies with no verdicts but denials that may have one of these codes."""
    names = {rule.name for rule in policies.program.rules if rule.head.predicate == "deny" and _may_have(rule, codes)}
    modal, _ = rewrite(policies.program, names)
    assert modal is not None
    program, problems = load("policy", made=[modal.file])
    if program is None:
        raise Failure([d for d in problems if d.is_error])
    kept = [r for r in policies.program.rules if r.head.predicate not in VERDICTS or r.name in names]
    return Narrowed(
        Policies(
            policies.files,
            policies.program,
            modal,
            program,
            policies.packs,
            policies.given,
            policies.settings,
            policies.closed,
        ),
        _is_local(kept),
    )


def _may_have(rule: Rule, codes: set[str]) -> bool:
    code = rule.head.arguments[0]
    return not isinstance(code, Constant) or code.value in codes


def _is_local(rules: list[Rule]) -> bool:
    needed = set(VERDICTS)
    keyed = set(KEYED)
    changed = True
    while changed:
        changed = False
        for rule in rules:
            read = {atom.predicate for atom, _ in atoms(rule.body)}
            head = rule.head.predicate
            if head in needed and not read <= needed:
                needed |= read
                changed = True
            if head not in keyed and read & keyed:
                keyed.add(head)
                changed = True
    return all(_rule_is_local(rule, keyed) for rule in rules if rule.head.predicate in needed)


def _rule_is_local(rule: Rule, keyed: set[str]) -> bool:
    about = [atom.arguments[0] if atom.arguments else None for atom, _ in atoms(rule.body) if atom.predicate in keyed]
    if not about:
        return True
    if any(atom.predicate in VERDICTS for atom, _ in atoms(rule.body)):
        return False
    if rule.head.predicate in VERDICTS:
        about.append(rule.head.arguments[1])
    else:
        about.append(rule.head.arguments[0] if rule.head.arguments else None)
    return all(isinstance(term, RuleVariable) for term in about) and len({str(term) for term in about}) == 1
