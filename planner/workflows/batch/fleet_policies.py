"""Policies that check the plans of all units of a fleet together. They come from the fleet's directory and from the
organisation's policies, and are evaluated in every plan, apply and destroy of the fleet. Denied plans are neither saved
nor applied."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from planner.answers.policy.combined_plans import policy_files, three_valued, verdict_of
from planner.answers.policy.facts.units import contents_needed, fact_value
from planner.answers.policy.model import Finding, Verdict, diagnostic
from planner.answers.policy.standing_policies import FLEET, organisation, own
from planner.answers.policy.three_valued import Modal
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.records import evolve, frozen
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase, FactBuilder
from planner.logic.datalog.engine.program import RuleProgram
from planner.workflows.batch.analyse import Analysis
from planner.workflows.batch.facts import fleet_source
from planner.workflows.batch.model import FinishedUnit, Fleet
from planner.workflows.batch.unit_options import UnitArguments

_OF_PACKS = (
    "packs check the plans of single units: name them in a unit's .planner/policy.toml or with batch plan "
    "-policy=PACK. Policies about all plans together belong in rule files outside of packs."
)


@frozen(eq=False)
class FleetPolicies:
    """The compiled policies that check all plans of a fleet together. `contents`: the relations with the content of
    plans that the policies read."""

    modal: Modal
    program: RuleProgram
    problems: tuple[Diagnostic, ...]
    contents: tuple[str, ...]

    def verdict(self, analysis: Analysis, done: Mapping[str, FinishedUnit], arguments: UnitArguments) -> Verdict:
        """The findings about the plans of a batch. `arguments`: the command line, which may accept denials."""
        database = evaluate(self.program, with_contents(analysis, done), self.modal.verdicts)
        verdict = verdict_of(self.modal, self.program, database, fleet_source)
        return Verdict(tuple(_with_override(finding, arguments) for finding in verdict.findings))


def _with_override(finding: Finding, arguments: UnitArguments) -> Finding:
    if finding.kind != "deny" or finding.code not in arguments.overrides:
        return finding
    return evolve(finding, kind="overridden", reason=arguments.reason)


def load_policies(fleet: Fleet, rules: Iterable[tuple[str, str]], words: tuple[str, ...]) -> FleetPolicies:
    """The policies that always apply, and the policies that `words` names (paths or names as in -policy). `rules`: the
    user's rules, as (name, source), which the policies can use. Raises Failure for an invalid name, or if there are no
    policies."""
    theirs = policy_files(organisation("batch_policies", os.environ), _OF_PACKS)
    known = dict(rules)
    ours = {**known, **dict(policy_files((*own(fleet.root, FLEET), *words), _OF_PACKS))}
    if not theirs and not any(name not in known for name in ours):
        detail = "Name files or directories with -policy, or put rules into .planner/batch-policies."
        raise Failure(error("batch.no_policies", "No policies", detail))
    files = {**ours, **dict(theirs)}
    modal, program, problems = three_valued(tuple(files.items()), frozenset(dict(theirs)), "batch")
    return FleetPolicies(modal, program, tuple(problems), contents_needed(program, modal.verdicts))


def with_contents(analysis: Analysis, done: Mapping[str, FinishedUnit]) -> FactBase:
    """The facts about the fleet, with the facts about the plan and the outcome of each unit."""
    builder = FactBuilder(analysis.database.facts)
    for unit, end in done.items():
        builder.add("status", unit, end.outcome)
        builder.add("about_unit", unit)
        for other in analysis.before.get(unit, ()):
            if other in done:
                builder.add("earlier", unit, other, done[other].outcome)
        if end.result is not None:
            builder.add("result", unit, end.result.result)
            if end.result.is_partial:
                builder.add("defers", unit)
            for rule in end.result.approved_by:
                builder.add("approved_by", unit, rule)
            for output in end.result.changed:
                builder.add("changed_output", unit, output)
            for output, path in end.result.unknown:
                builder.add("unknown_output", unit, output, path)
            for awaited in end.result.rests_on:
                builder.add("waits_for_output", unit, *awaited)
        for name, rows in (end.result.facts if end.result is not None else {}).items():
            for row in rows:
                if None not in row:
                    builder.add(name, unit, *map(fact_value, row))
    return builder.build()


def diagnostics(findings: Iterable[Finding]) -> list[Diagnostic]:
    """Findings as diagnostics. A finding's address is a unit here, not an object, so the diagnostics have no
    address."""
    return [evolve(diagnostic(finding), address=None) for finding in findings]
