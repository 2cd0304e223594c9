"""The library in an asyncio program: `await planner.aio.plan("live")`. Each call runs in a thread; cancelling the task
stops the call like an interrupt stops a command, and waits until running work has ended."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from planner.api.arguments import Paths, expect
from planner.api.configuration import load
from planner.api.fleet import FleetPlan
from planner.api.fleet import fleet as fleet_of
from planner.api.plan import ApplyResult, Plan
from planner.api.session import Stop, in_thread
from planner.api.tests import TestReport, run_tests
from planner.foundation.vocabulary.diagnostic import Diagnostic


async def plan(
    directory: str | os.PathLike[str] = ".",
    *,
    variables: Mapping[str, Any] | None = None,
    var_files: Paths = (),
    workspace: str = "",
    rules: Paths = (),
    stop: Stop | None = None,
    **options: Any,
) -> Plan:
    """Like planner.load(...).plan(...): `options` are those of Configuration.plan. Raises Failure."""

    def work(stop: Stop) -> Plan:
        configuration = load(directory, variables=variables, var_files=var_files, workspace=workspace, rules=rules)
        return configuration.plan(stop=stop, **options)

    return await in_thread(work, stop)


async def validate(directory: str | os.PathLike[str] = ".", **options: Any) -> tuple[Diagnostic, ...]:
    """Like planner.load(...).validate(): `options` are those of load."""
    return await in_thread(lambda stop: load(directory, **options).validate())


async def apply(plan: Plan, on_event: Callable[[Any], None] | None = None) -> ApplyResult:
    """Like Plan.apply; `on_event` is called in threads of the walk. Raises Failure."""
    expect("plan", plan, Plan, "a planner.Plan")
    return await in_thread(lambda stop: plan.apply(on_event, stop))


async def fleet(directory: str | os.PathLike[str] = ".", *words: str, **options: Any) -> FleetPlan:
    """Like planner.fleet(...).plan(...): `words` and `options` are those of Fleet.plan. Raises Failure."""
    return await in_thread(lambda stop: fleet_of(directory).plan(*words, stop=stop, **options))


async def run(directory: str | os.PathLike[str] = ".", **options: Any) -> TestReport:
    """Like planner.test. Raises Failure."""
    return await in_thread(lambda stop: run_tests(directory, stop=stop, **options))


test = run
