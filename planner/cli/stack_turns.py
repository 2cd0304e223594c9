"""Deployments that somebody has to approve, several at a time: all are planned, the plans are shown one after the other
and asked about, and what is approved is applied; then those of which something was deferred have their next turn."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from planner.cli.flags import Arguments
from planner.cli.stack_pool import Job, spread
from planner.cli.stack_reports import reported
from planner.cli.stack_work import JobResult, StackWork, Turn
from planner.foundation.vocabulary.diagnostic import Diagnostics, error, has_errors
from planner.foundation.vocabulary.records import evolve
from planner.logic.programs.actions import Counts
from planner.render.diff_block import SchemaLookup
from planner.render.view import View
from planner.workflows.batch.deployment_plans import differences, save
from planner.workflows.stacks.approval import Approval, approval
from planner.workflows.stacks.policy import judged
from planner.workflows.stacks.report import show_plan, tell_applied, tell_approval, tell_outputs
from planner.workflows.stacks.rounds import MOST_ROUNDS, Deploying, Rounds, deploy

if TYPE_CHECKING:
    from planner.language.config.stack_files.model import Deployment
    from planner.workflows.batch.reports.deployments import DeploymentReport
    from planner.workflows.stacks.steps import DeploymentPlan


def in_turns(jobs: list[Job], view: View, ask: Callable[[str], bool]) -> Iterator[JobResult]:
    """What is said of the deployments, turn after turn. `ask`: whether somebody approves the plan of a deployment."""
    workers = jobs[0].arguments["workers"]
    with TemporaryDirectory(prefix="planner-") as folder:
        turns = {job.deployment: Turn(os.path.join(folder, job.deployment)) for job in jobs}
        parts: dict[str, DeploymentReport] = {}

        def kept(said: JobResult, is_last: bool) -> JobResult:
            """Without the report of the turn, which is told with the last one of the deployment."""
            if said.part is not None:
                before = parts.get(said.deployment)
                parts[said.deployment] = said.part if before is None else merged(before, said.part)
            return evolve(said, part=parts.get(said.deployment) if is_last else None)

        for _ in range(MOST_ROUNDS):
            approved: list[Job] = []
            planned = [evolve(job, turn=turns[job.deployment]) for job in jobs]
            for job, said in zip(planned, spread(planned, plan, workers, view, True), strict=True):
                if not said.code and not said.is_approved and not ask(job.deployment):
                    view.about(deployment=job.deployment).log("\nApply cancelled.")
                    said = evolve(said, code=1)
                approved += [] if said.code else [job]
                yield kept(said, bool(said.code))
            jobs = []
            for job, said in zip(approved, spread(approved, apply, workers, view, False), strict=True):
                goes_on = said.is_partial and not said.code
                yield kept(said, not goes_on)
                if goes_on:
                    before = turns[job.deployment]
                    turns[job.deployment] = Turn(before.file, before.number + 1, said.done)
                    jobs.append(job)
            if not jobs:
                return
        for job in jobs:
            detail = f"After {MOST_ROUNDS} rounds there is more to do in the deployment {job.deployment}."
            yield JobResult(
                job.deployment, (error("stack.no_progress", "Deployment does not come to an end", detail),), 1
            )


def plan(deployment: Deployment, arguments: Arguments, work: StackWork) -> JobResult:
    """Plan a deployment, show the plan and keep it."""
    assert work.turn is not None
    told = Diagnostics()
    said = JobResult(deployment.name, code=1, part=reported(arguments, deployment.name, []))
    whole = work.view.about(deployment=deployment.name)
    with told.until_an_error():
        runner = work.session.runner(deployment, work.options, whole.hooks)
        try:
            found = runner.plan()
            said = evolve(said, part=reported(arguments, deployment.name, [found]))
            told.check(found.diagnostics)
            show_plan(found, work.view, work.terminal, SchemaLookup(runner.schemas).resource_schema)
            judgement = judged(work.policies, found)
            told.check([*Rounds().problems(found), *judgement])
            rules = approval(work.session.flow, deployment, found, work.turn.number, judgement)
            tell_approval(rules, whole)
            save(found, work.turn.file, work.session.encryption.plan)
            is_approved = not found.can_apply or bool(rules.by)
            said = evolve(said, code=0, is_approved=is_approved)
        finally:
            told += runner.release()
    return evolve(said, told=tuple(told), code=int(said.code or has_errors(told)))


def apply(deployment: Deployment, arguments: Arguments, work: StackWork) -> JobResult:
    """Do what was approved: plan once more, with the states locked, and apply that if it says nothing else."""
    assert work.turn is not None
    turn: Turn = work.turn
    told = Diagnostics()
    whole = work.view.about(deployment=deployment.name)

    class Comparing(Deploying):
        def approves(self, plan: DeploymentPlan, found: Approval) -> bool:
            other = differences(turn.file, plan, work.session.encryption.plan)
            if not other:
                return True
            lines = "".join(f"\n  - {address}: another {how}" for address, how in other)
            detail = f"The plan of {deployment.name} has changed since it was approved:{lines}\n\nNothing was applied."
            told.append(error("stack.not_approved", "Not what was approved", detail))
            return False

    said = JobResult(deployment.name, code=1)
    with told.until_an_error():
        deployed = deploy(work.session, deployment, work.options, whole.hooks, Comparing(), work.policies, told, 1)
        done = Counts(*turn.done)
        for one in deployed.plans:
            for step in one.steps:
                done = done.plus(step.counts)
        part = reported(arguments, deployment.name, deployed.plans) if deployed.plans else None
        code = int(not deployed.is_done)
        said = JobResult(deployment.name, code=code, part=part, is_partial=deployed.is_partial, done=done)
        if deployed.is_done and not deployed.is_partial:
            tell_applied(deployment.name, done, deployed.plans[-1].mode, whole, work.terminal)
            tell_outputs(deployment.name, deployed.outputs, whole, arguments["show-sensitive"])
    return evolve(said, told=tuple(told))


def merged(before: DeploymentReport, after: DeploymentReport) -> DeploymentReport:
    """The report of a deployment after another turn: what was done in one before stays done."""
    now = {unit["unit"]: unit for unit in after.units}
    done = {unit["unit"]: unit for unit in before.units if unit["outcome"] in ("applied", "forgotten")}
    kept = {name: unit for name, unit in done.items() if name not in now or now[name]["outcome"] == "unchanged"}
    units = sorted({**now, **kept}.values(), key=lambda unit: (unit["wave"], unit["unit"]))
    edges = tuple(sorted({*before.edges, *after.edges}))
    texts = {**after.texts, **{name: text for name, text in before.texts.items() if name in kept}}
    return evolve(after, units=tuple(units), edges=edges, texts=texts)
