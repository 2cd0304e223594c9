"""Checks the expectations of runs about policies and about queries. Only test files with planner's own suffix can have
them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from attrs import evolve

from planner.answers.policy.judge import code_places
from planner.answers.policy.model import Verdict
from planner.foundation.vocabulary.address import parse_resource_instance
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.span import Span
from planner.language.config.test_files.model import PolicyExpectation, QueryExpectation, TestRun
from planner.language.config.variables import RootVariable
from planner.logic.model.plan import Plan
from planner.operations.judge_documents import policies_of
from planner.operations.load import Loaded
from planner.operations.options import OperationOptions, Options
from planner.operations.plan import MadePlan
from planner.operations.policies import judged_plainly
from planner.operations.query import answers_about
from planner.workflows.testing.coverage import NOTHING, Reached
from planner.workflows.testing.results import object_addresses

_MOST = 5
_QUIET = ("info",)


def answers(
    run: TestRun,
    made: Plan,
    loaded: Loaded[Options],
    variables: Mapping[str, RootVariable],
    policies: tuple[tuple[str, ...], tuple[str, ...]],
) -> list[Diagnostic]:
    """Errors for policies and queries whose results differ from the expected results, and the diagnostics of evaluating
    them."""
    plan = _as_made(made, loaded, variables, policies)
    problems: list[Diagnostic] = []
    try:
        if run.policies:
            verdict, _, item = judged_plainly(plan)
            problems += item
            for expected in run.policies if verdict is not None else ():
                problems += _diagnostics(expected, verdict, made)
    except Failure as failure:
        problems += failure.diagnostics
    for query in run.queries:
        try:
            problems += _answer(query, plan)
        except Failure as failure:
            problems += _placed(failure.diagnostics, query)
    return problems


def _as_made(
    made: Plan,
    loaded: Loaded[Options],
    variables: Mapping[str, RootVariable],
    policies: tuple[tuple[str, ...], tuple[str, ...]],
) -> MadePlan[Loaded[OperationOptions]]:
    named, standing = policies
    directory, rules = loaded.options.directory, loaded.options.rules
    options = OperationOptions(directory=directory, rules=rules, policies=named, standing_policies=standing)
    whole = Loaded(options, loaded.workspace, loaded.given, loaded.config, loaded.schemas, loaded.rules)
    return MadePlan(made, whole, dict(variables))


def policy_places(loaded: Loaded[Options], policies: tuple[tuple[str, ...], tuple[str, ...]]) -> dict[str, Span]:
    """{code: the first place that declares it} for the active policies; empty if policies have errors."""
    named, standing = policies
    options = OperationOptions(directory=loaded.options.directory, policies=named, standing_policies=standing)
    try:
        item, _ = policies_of(options, None, loaded.workspace)
    except Failure:
        return {}
    return {} if item is None else code_places(item)


def policies_reached(
    made: Plan,
    loaded: Loaded[Options],
    variables: Mapping[str, RootVariable],
    policies: tuple[tuple[str, ...], tuple[str, ...]],
) -> Reached:
    """The coverage of policies by a run: "objecting" for a policy with a finding about the plan, "silent" for a policy
    without. A policy whose findings are all undecided is left out. Empty if the policies cannot be evaluated."""
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


def _diagnostics(expected: PolicyExpectation, verdict: Verdict | None, made: Plan) -> list[Diagnostic]:
    assert verdict is not None
    about = [f for f in verdict.findings if f.code == expected.code and _is_meant(expected.address, f.address)]
    if expected.code not in verdict.codes and not about:
        detail = f"No policy has the code {expected.code}.{did_you_mean(expected.code, verdict.codes)}"
        if not verdict.codes:
            detail += " There are no policies: name some with -policy=DIR, or put policies into .planner/policies."
        return [error("test.no_policy", "Unknown policy", detail, expected.span)]
    if not about and expected.address is not None:
        known = {*_objects(made), *(f.address for f in verdict.findings)}
        if not any(_is_meant(expected.address, address) for address in known):
            detail = f"The plan has no object {expected.address}.{did_you_mean(expected.address, known)}"
            return [error("test.no_object", "Unknown object", detail, expected.span)]
    findings = [f for f in about if f.kind not in _QUIET]
    if any(f.kind == expected.verdict for f in about) or (expected.verdict == "pass" and not findings):
        return []
    lines = "".join(f"\n  - {f.kind} {f.code}: {f.address} {f.message}" for f in findings[:_MOST])
    object_ = f" about {expected.address}" if expected.address else ""
    detail = f"Expected the verdict {expected.verdict}{object_}, but the policies "
    detail += f"returned:{lines}" if lines else "all passed."
    return [error("test.policy_failed", "Test policy verdict failed", detail, expected.span)]


def _is_meant(asked: str | None, address: str) -> bool:
    """Whether an expectation applies to `address`. The first argument is the address in the expectation. If it has no
    instance key, the expectation applies to all instances of the object; if it is None, to all addresses."""
    return asked is None or address == asked or address.startswith(f"{asked}[")


def _objects(made: Plan) -> Iterator[str]:
    """The addresses about which policies can have findings: objects, outputs, provider configurations and module
    instances."""
    states = [made.prior_state, *([] if made.planned_state is None else [made.planned_state])]
    objects = {c.address for c in made.changes}.union(*({a for a, _ in object_addresses(state)} for state in states))
    yield from objects
    yield from (f"output.{output.name}" for output in made.outputs)
    yield from (address for address, _ in made.providers)
    yield from {str(parse_resource_instance(address).module) for address in objects}


def _placed(problems: Iterable[Diagnostic], query: QueryExpectation) -> Iterator[Diagnostic]:
    """The diagnostics of a query, with the query's place in the test file."""
    for problem in problems:
        yield evolve(problem, subject=query.span, detail=f"{problem.detail}\n\nThe query is {query.question}")


def _answer(query: QueryExpectation, plan: MadePlan[Loaded[OperationOptions]]) -> list[Diagnostic]:
    item, problems = answers_about(plan, query.question)
    problems = list(_placed(problems, query))
    if has_errors(problems):
        return problems
    count = len(item.rows)
    if count == query.rows or (query.rows is None and count):
        return problems
    wanted = "at least one" if query.rows is None else str(query.rows)
    rows = "".join(f"\n  - {', '.join(map(str, row))}" for row in item.rows[:_MOST] if row)
    detail = f"{query.message}\n\n" if query.message else ""
    detail += f"{query.question} has {count} answer{'' if count == 1 else 's'}, and not {wanted}.{rows}"
    return [*problems, error("test.query_failed", "Test query failed", detail, query.span)]
