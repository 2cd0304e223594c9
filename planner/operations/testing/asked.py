"""What runs ask of policies and of the graph of their plan, in files of our own suffix."""

from __future__ import annotations

from collections.abc import Mapping

from planner.config.test_files.model import PolicyExpectation, QueryExpectation, TestRun
from planner.config.variables import RootVariable
from planner.model.plan import Plan
from planner.operations.loading import Loaded
from planner.operations.options import OperationOptions, Options
from planner.operations.plan import Made
from planner.operations.policies import judged_plainly
from planner.operations.policy_documents import policies_of
from planner.operations.query import answers_about
from planner.operations.testing.coverage import NOTHING, Reached
from planner.policy.judge import code_places
from planner.policy.model import Verdict
from planner.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.vocabulary.nearest import did_you_mean
from planner.vocabulary.span import Span

_MOST = 5
_QUIET = ("info",)


def answers(
    run: TestRun,
    made: Plan,
    loaded: Loaded[Options],
    variables: Mapping[str, RootVariable],
    policies: tuple[tuple[str, ...], tuple[str, ...]],
) -> list[Diagnostic]:
    """Where policies say something else of the plan of a run than they are to say, or questions have other answers."""
    plan = _as_made(made, loaded, variables, policies)
    problems: list[Diagnostic] = []
    try:
        if run.policies:
            verdict, _, found = judged_plainly(plan)
            problems += found
            for expected in run.policies if verdict is not None else ():
                problems += _said(expected, verdict)
        for query in run.queries:
            problems += _answered(query, plan)
    except Failure as failure:
        problems += failure.diagnostics
    return problems


def _as_made(
    made: Plan,
    loaded: Loaded[Options],
    variables: Mapping[str, RootVariable],
    policies: tuple[tuple[str, ...], tuple[str, ...]],
) -> Made[Loaded[OperationOptions]]:
    named, standing = policies
    directory, rules = loaded.options.directory, loaded.options.rules
    options = OperationOptions(directory=directory, rules=rules, policies=named, standing_policies=standing)
    whole = Loaded(options, loaded.workspace, loaded.given, loaded.config, loaded.schemas, loaded.rules)
    return Made(made, whole, dict(variables))


def policy_places(loaded: Loaded[Options], policies: tuple[tuple[str, ...], tuple[str, ...]]) -> dict[str, Span]:
    """The codes of the policies that count, with the first place that gives each; none when they are wrong."""
    named, standing = policies
    options = OperationOptions(directory=loaded.options.directory, policies=named, standing_policies=standing)
    try:
        found, _ = policies_of(options, None, loaded.workspace)
    except Failure:
        return {}
    return {} if found is None else code_places(found)


def policies_reached(
    made: Plan,
    loaded: Loaded[Options],
    variables: Mapping[str, RootVariable],
    policies: tuple[tuple[str, ...], tuple[str, ...]],
) -> Reached:
    """Which policies object to the plan of a run, and which have nothing to say; nothing of those that cannot tell."""
    try:
        verdict, _, _ = judged_plainly(_as_made(made, loaded, variables, policies))
    except Failure:
        return NOTHING
    if verdict is None:
        return NOTHING
    objecting = {f.code for f in verdict.findings if f.kind != "undecided"}
    unclear = {f.code for f in verdict.findings} - objecting
    return frozenset(
        (("policy", code, 0), "objecting" if code in objecting else "silent") for code in verdict.codes.keys() - unclear
    )


def _said(expected: PolicyExpectation, verdict: Verdict | None) -> list[Diagnostic]:
    assert verdict is not None
    about = [f for f in verdict.findings if f.code == expected.code and expected.address in (None, f.address)]
    if expected.code not in verdict.codes and not about:
        detail = f"No policy has the code {expected.code}.{did_you_mean(expected.code, verdict.codes)}"
        return [error("test.no_policy", "Unknown policy", detail, expected.span)]
    told = [f for f in about if f.kind not in _QUIET]
    if any(f.kind == expected.verdict for f in about) or (expected.verdict == "pass" and not told):
        return []
    said = "".join(f"\n  - {f.kind} {f.code}: {f.address} {f.message}" for f in told[:_MOST])
    object_ = f" about {expected.address}" if expected.address else ""
    detail = f"Policies were to say {expected.verdict}{object_}, and "
    detail += f"said:{said}" if said else "had nothing to object."
    return [error("test.policy_failed", "Test policy verdict failed", detail, expected.span)]


def _answered(query: QueryExpectation, plan: Made[Loaded[OperationOptions]]) -> list[Diagnostic]:
    found, problems = answers_about(plan, query.question)
    if has_errors(problems):
        return problems
    count = len(found.rows)
    if count == query.rows or (query.rows is None and count):
        return problems
    wanted = "at least one" if query.rows is None else str(query.rows)
    rows = "".join(f"\n  - {', '.join(map(str, row))}" for row in found.rows[:_MOST] if row)
    detail = f"{query.message}\n\n" if query.message else ""
    detail += f"{query.question} has {count} answer{'' if count == 1 else 's'}, and not {wanted}.{rows}"
    return [*problems, error("test.query_failed", "Test query failed", detail, query.span)]
