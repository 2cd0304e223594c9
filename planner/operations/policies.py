"""Checks plans against policies before and during an apply."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from planner.answers.documents.kind import is_document
from planner.answers.policy.enforcement import without_policy
from planner.answers.policy.facts.build import plan_facts
from planner.answers.policy.facts.relations import PolicyFacts, PolicyInputs
from planner.answers.policy.facts.surroundings import PlanSurroundings
from planner.answers.policy.judge import judge
from planner.answers.policy.model import Verdict, diagnostic
from planner.answers.policy.program import Policies, load_policies
from planner.answers.policy.sources import policy_files
from planner.answers.policy.standing_policies import own
from planner.foundation.support.disk import collector_paused
from planner.foundation.support.trace import as_step
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure
from planner.foundation.vocabulary.limits import walk_of
from planner.foundation.vocabulary.records import evolve
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.model.graph import Graph
from planner.logic.model.plan import PolicyRecord
from planner.logic.programs.actions import does
from planner.operations import graphs
from planner.operations.judge_documents import check_document, policies_of
from planner.operations.options import OperationOptions
from planner.operations.plan import L, MadePlan
from planner.operations.plan_files import open_or_make_plan
from planner.operations.policy_shapes import MISFITS, misfits_of

if TYPE_CHECKING:
    from planner.answers.policy.apply_guard import PolicyGuard
    from planner.answers.policy.two_valued import PlainProofs
    from planner.engine.walk.hooks import Hooks


def check(
    options: OperationOptions, plan_file: str | None, hooks: Hooks, processes: int = 1
) -> tuple[Verdict | None, list[Diagnostic]]:
    """The verdict of policies about a file (a plan file, or the output of `show -json`) or about a new plan, and
    diagnostics. The verdict is None on errors. Policies in the plan file are checked, too. A large JSON document is
    divided among at most `processes` processes. With 0, it is not divided, so that the cost of each rule can be
    measured."""
    if plan_file is not None and is_document(plan_file):
        return check_document(options, plan_file, "plan", processes)
    answer = open_or_make_plan(options, plan_file, hooks)
    if answer.complete is None:
        return None, list(answer.diagnostics)
    _, verdict, problems = judged(answer.complete)
    wrong = [evolve(problem, severity="error") for problem in problems if problem.code in MISFITS]
    if wrong:  # `policy check` reports misfits as errors, planning as warnings: a new provider version may cause them
        return None, [*answer.diagnostics, *wrong]
    return verdict, [*answer.diagnostics, *problems]


def judged_plainly(made: MadePlan[L]) -> tuple[Verdict | None, PlainProofs | None, list[Diagnostic]]:
    """The verdict of policies about a plan, and an object that proves findings with the rules as they are written; both
    are None if a policy is invalid. Also returns diagnostics. Raises Failure."""
    from planner.answers.policy.two_valued import PlainProofs

    policies, problems = policies_of(made.loaded.options, made.plan.policy, made.loaded.workspace, made)
    if policies is None:
        return None, None, problems
    verdict, facts = _judge(policies, made)
    return verdict, PlainProofs(policies, facts), problems


@as_step("judge")
def judged(made: MadePlan[L]) -> tuple[MadePlan[L], Verdict | None, list[Diagnostic]]:
    """Check a plan against policies. Returns the plan with the policies and their findings added, the verdict, and
    diagnostics. If a policy is invalid, the plan is unchanged and the verdict is None."""
    from planner.operations.plan_context import record_rows

    try:
        with collector_paused():
            policies, problems = policies_of(made.loaded.options, made.plan.policy, made.loaded.workspace, made)
            if policies is None:
                return made, None, problems
            problems += [evolve(problem, severity="warning") for problem in misfits_of(policies, made.loaded)]
            problems += without_policy(policies, made.loaded.options.policy_overrides)
            verdict, _ = _judge(policies, made)
    except Failure as failure:
        return made, None, failure.diagnostics
    findings = tuple((f.kind, f.code, f.address, f.message) for f in verdict.findings)
    record = PolicyRecord(
        policies.files, tuple(_overrides(made.loaded.options, made.plan.policy).items()), findings, record_rows(made)
    )
    return evolve(made, plan=evolve(made.plan, policy=record)), verdict, problems


STATEFUL = "protect_stateful"
"""the policy in the library whose rules determine which objects contain data"""
DATA_HELD = "planner.changes.data_held"


def data_held(made: MadePlan[L]) -> Mapping[str, tuple[str, str]]:
    """{address: ("holds" or "none", list or parameter that contains the type)} for the objects that a plan destroys or
    replaces. "holds" means that data is lost, according to the rules of protect_stateful. Objects of types that these
    rules do not know are omitted. The result is {} if no object is destroyed, or if the policy settings are invalid.
    (The policy check reports invalid settings.)"""
    if not any(does(change.action, "destroys") for change in made.plan.changes):
        return {}
    options, record = made.loaded.options, made.plan.policy
    named = dict.fromkeys((*options.standing_policies, *own(options.directory), *options.policies))
    words = (*(word for word in named if os.path.basename(word) in ("policy.toml", "waivers.toml")),)
    try:
        files = dict(policy_files((*words, f"builtin:{STATEFUL}"), made.loaded.workspace))
        if not words and record is not None:
            files |= {name: text for name, text in record.files if name.endswith("policy.toml")}
        policies, _ = load_policies(tuple(files.items()), workspace=made.loaded.workspace)
        if policies is None:
            return {}
        rows = evaluate(policies.modal_program, facts_of(made, policies.reads), [DATA_HELD])[DATA_HELD]
    except Failure:
        return {}
    return {str(address): (str(held), str(by)) for address, held, by in rows}


def apply_guard(made: MadePlan[L]) -> tuple[PolicyGuard | None, list[Diagnostic]]:
    """The object that checks policies while a plan is applied, and diagnostics. The object is None if policies deny the
    plan, or if a policy is invalid."""
    from planner.answers.policy.apply_guard import PolicyGuard

    options, record = made.loaded.options, made.plan.policy
    try:
        policies, problems = policies_of(options, record, made.loaded.workspace, made)
        if policies is None:
            return None, problems
        # a waiver must be valid when the change is applied, so waivers that have expired since planning are ignored
        clock = int(time.time())
        verdict, facts = _judge(policies, made, clock)
        if verdict.is_denied:
            return None, [*problems, *(d for d in diagnostics(verdict) if d.is_error)]
        return PolicyGuard(policies, facts, verdict, _overrides(options, record), clock), problems
    except Failure as failure:
        return None, failure.diagnostics


def diagnostics(verdict: Verdict) -> list[Diagnostic]:
    return [diagnostic(finding) for finding in verdict.findings]


def facts_of(made: MadePlan[L], reads: PolicyInputs) -> PolicyFacts:
    """The facts about a plan that policies read. `reads`: the relations that the policies read."""
    return plan_facts(made.plan, made.loaded.config, reads, lambda: plan_graph(made), surroundings(made))


# ---------------------------------------------------------------- pieces


def _overrides(options: OperationOptions, record: PolicyRecord | None) -> dict[str, str]:
    given = dict.fromkeys(options.policy_overrides, options.policy_reason)
    return {**(dict(record.overrides) if record is not None else {}), **given}


def _judge(policies: Policies, made: MadePlan[L], clock: int | None = None) -> tuple[Verdict, PolicyFacts]:
    """The verdict of policies about a plan, and the facts about the plan. `clock`: the time (in seconds since 1970) at
    which waivers must be valid; None means the time of the plan."""
    facts = facts_of(made, policies.reads)
    is_whole = not made.plan.limits.is_partial
    clock = _time_of(made) if clock is None else clock
    return judge(policies, facts, _overrides(made.loaded.options, made.plan.policy), clock, is_whole), facts


def _time_of(made: MadePlan[L]) -> int | None:
    """The time of a plan, in seconds since 1970: the time that is recorded with the policies of the plan, otherwise the
    timestamp of the plan. None if this is not a valid time."""
    recorded = made.plan.policy.facts if made.plan.policy is not None else ()
    text = next((row[1] for row in recorded if row[0] == "plan_time" and len(row) == 2), made.plan.timestamp)
    try:
        return int(datetime.fromisoformat(text).timestamp())
    except ValueError:
        return None


def surroundings(made: MadePlan[L]) -> PlanSurroundings:
    """The context of a plan for policies. It is the context that the plan contains, or the current context if the plan
    contains none."""
    from planner.operations.plan_context import record_rows, values_read

    rows = record_rows(made)
    return PlanSurroundings(rows, lambda: graphs.configuration_facts(made.loaded), lambda: values_read(made))


def plan_graph(made: MadePlan[L]) -> Graph:
    plan, loaded = made.plan, made.loaded
    known = loaded.derived.plan_graph
    if known is not None and not plan.limits.is_partial:
        return known
    return graphs.build(walk_of("plan", plan.mode), loaded, plan.prior_state)
