"""Plans and policies together: judge a plan, and keep watch while it is applied."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attrs import evolve

from planner.operations import graphs
from planner.operations.session import Options, Session
from planner.support.collector import collector_paused
from planner.vocabulary.diagnostic import Diagnostic, Failure, has_errors

if TYPE_CHECKING:
    from planner.model.graph import Graph
    from planner.model.plan import Plan, PolicyRecord
    from planner.pipeline import Planned
    from planner.policy.facts import PolicyFacts
    from planner.policy.guard import PolicyGuard
    from planner.policy.library import Entry
    from planner.policy.model import Verdict
    from planner.policy.program import Files, Policies
    from planner.walk.hooks import Hooks


def check(options: Options, plan_file: str | None, hooks: Hooks) -> tuple[Verdict | None, list[Diagnostic]]:
    """What policies say about the plan in a file, or about one made for it. Those that a plan file was made with count
    as well."""
    from planner import pipeline

    planned = pipeline.planned(options, plan_file, hooks)
    if planned.plan is None or has_errors(planned.diagnostics):
        return None, list(planned.diagnostics)
    _, verdict, problems = judged(planned)
    return verdict, [*planned.diagnostics, *problems]


def judged(planned: Planned) -> tuple[Planned, Verdict | None, list[Diagnostic]]:
    """A plan with its policies and what they say on record; no verdict when a policy is wrong."""
    assert planned.plan is not None
    try:
        with collector_paused():
            policies, problems = _policies(planned.session, planned.plan.policy)
            if policies is None:
                return planned, None, problems
            verdict, _ = _judge(policies, planned.session, planned.plan)
    except Failure as failure:
        return planned, None, failure.diagnostics
    record = _record(policies.files, _overrides(planned.session.options, planned.plan.policy), verdict)
    return evolve(planned, plan=evolve(planned.plan, policy=record)), verdict, problems


def apply_guard(session: Session, plan: Plan) -> tuple[PolicyGuard | None, list[Diagnostic]]:
    """What watches over an apply; no guard when policies deny the plan or are wrong."""
    from planner.policy.guard import PolicyGuard

    try:
        policies, problems = _policies(session, plan.policy)
        if policies is None:
            return None, problems
        verdict, facts = _judge(policies, session, plan)
        if verdict.is_denied:
            return None, [*problems, *(d for d in diagnostics(verdict) if d.is_error)]
        return PolicyGuard(policies, facts, verdict, _overrides(session.options, plan.policy)), problems
    except Failure as failure:
        return None, failure.diagnostics


def library() -> list[Entry]:
    """The policies that come with planner."""
    from planner.policy.library import library

    return library()


def diagnostics(verdict: Verdict) -> list[Diagnostic]:
    """What policies say as errors and warnings."""
    from planner.policy.report import diagnostic

    return [diagnostic(finding) for finding in verdict.findings]


# ---------------------------------------------------------------- pieces


def _policies(session: Session, record: PolicyRecord | None) -> tuple[Policies | None, list[Diagnostic]]:
    """The organisation's policies, those on record and those that the options name. Raises Failure."""
    from planner.policy.library import policy_files
    from planner.policy.program import load_policies

    standing = policy_files(session.options.standing_policies)
    texts = {text for _, text in standing}
    recorded = {name: text for name, text in (record.files if record is not None else ()) if text not in texts}
    files = {**recorded, **dict(policy_files(session.options.policies)), **dict(standing)}
    return load_policies(tuple(files.items()), frozenset(dict(standing)))


def _overrides(options: Options, record: PolicyRecord | None) -> dict[str, str]:
    given = dict.fromkeys(options.policy_overrides, options.policy_reason)
    return {**(dict(record.overrides) if record is not None else {}), **given}


def _judge(policies: Policies, session: Session, plan: Plan) -> tuple[Verdict, PolicyFacts]:
    from planner.policy.facts import plan_facts
    from planner.policy.judge import judge

    assert session.config is not None
    facts = plan_facts(plan, session.config, policies.reads, lambda: _graph(session, plan))
    return judge(policies, facts, _overrides(session.options, plan.policy)), facts


def _graph(session: Session, plan: Plan) -> Graph:
    """The plan graph, for policies that read it."""

    remembered = session.memory.get("graph of the plan")
    if remembered is not None and not plan.targets and not plan.excludes:
        return cast("Graph", remembered)
    walk = "plan-destroy" if plan.mode == "destroy" else "plan"
    unlimited = evolve(session, options=evolve(session.options, targets=(), excludes=()))
    return graphs.build(walk, unlimited, plan.prior_state)


def _record(files: Files, overrides: dict[str, str], verdict: Verdict) -> PolicyRecord:
    from planner.model.plan import PolicyRecord

    said = tuple((f.kind, f.code, f.address, f.message) for f in verdict.findings)
    return PolicyRecord(files, tuple(overrides.items()), said)
