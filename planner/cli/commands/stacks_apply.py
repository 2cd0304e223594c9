"""`stacks apply`: do what plans of deployments say, round after round until nothing is deferred."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from planner.cli.approval import ask
from planner.cli.commands.stacks_plan import SHARED, WORKERS, check_words, show_problems, surroundings
from planner.cli.flags import Arguments, Flag
from planner.cli.options import DESTROY, INPUT, JSON_LINES, may_ask, operation_options
from planner.cli.stack_reports import REPORTS, reported, write_reports
from planner.cli.stack_work import JobResult, StackResults, StackWork, is_worth_it
from planner.cli.views import open_view, usage_error_lines
from planner.foundation.vocabulary.diagnostic import Diagnostics, has_errors
from planner.logic.programs.actions import Counts
from planner.render.diff_block import SchemaLookup
from planner.render.terminal import Terminal
from planner.workflows.stacks.opened_stack import open_named
from planner.workflows.stacks.policy import standing_policies

if TYPE_CHECKING:
    from planner.language.config.stack_files.model import Deployment
    from planner.operations.options import OperationOptions
    from planner.render.view import View
    from planner.workflows.stacks.approval import Approval
    from planner.workflows.stacks.deploy import Runner
    from planner.workflows.stacks.deployments import ServiceStandIns
    from planner.workflows.stacks.steps import DeploymentPlan

USAGE = "[options]"
HELP = """Plans deployments of the stack, shows the plans, prompts for approval, and applies them. A deployment with
deferred parts is planned again, round after round, until none is left.

With -json, the output is that of `planner apply -json`, with the deployment and the component on each line."""
FLAGS = (
    Flag("auto-approve", "bool", "Apply without a prompt for approval."),
    DESTROY,
    INPUT,
    *REPORTS,
    WORKERS,
    *SHARED,
    *JSON_LINES,
)
usage_error = usage_error_lines


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 on errors and when an answer was no."""
    return apply(arguments, terminal, bool(arguments["destroy"]))


def apply(arguments: Arguments, terminal: Terminal, destroys: bool) -> int:
    """Apply the chosen deployments, one after the other."""
    check_words(arguments)
    options = operation_options(arguments, "destroy" if destroys else "normal")
    view = open_view(arguments, terminal)
    told = Diagnostics()
    begun = time.time()
    gathered = StackResults(told)
    code = 0
    with told.until_an_error():
        around = surroundings(arguments)
        session = open_named(around, told)
        told += session.left_behind()
        policies = standing_policies(".")
        chosen = session.chosen(arguments["deployment"])
        if is_worth_it(len(chosen), arguments):
            found = _spread([deployment.name for deployment in chosen], arguments, around, options, view, terminal)
        else:
            work = StackWork(session, policies, options, view, terminal)
            found = (_one(deployment, arguments, work) for deployment in chosen)
        for said in found:
            gathered.take(said)
            code |= said.code
    show_problems(told, gathered.parts, view)
    code |= view.finish(write_reports(arguments, "destroy" if destroys else "apply", gathered.reports, told, begun))
    return int(code or has_errors(told))


def _spread(
    names: list[str],
    arguments: Arguments,
    around: ServiceStandIns,
    options: OperationOptions,
    view: View,
    terminal: Terminal,
) -> Iterable[JobResult]:
    from planner.cli.stack_pool import jobs_of, spread
    from planner.cli.stack_turns import in_turns

    jobs = jobs_of(names, arguments, around, options.mode, view)
    if arguments["auto-approve"]:
        return spread(jobs, _one, arguments["workers"], view, False)
    return in_turns(jobs, view, lambda deployment: _approved(deployment, arguments, terminal))


def _one(deployment: Deployment, arguments: Arguments, work: StackWork) -> JobResult:
    """Deploy one. The code is 1 when the answer was no, or something failed."""
    told = Diagnostics()
    code = 1
    plans: list[DeploymentPlan] = []
    with told.until_an_error():  # the others are deployed all the same
        code = _deploy(deployment, arguments, work, told, plans)
    return JobResult(deployment.name, tuple(told), code, part=reported(arguments, deployment.name, plans))


def _deploy(
    deployment: Deployment, arguments: Arguments, work: StackWork, told: Diagnostics, plans: list[DeploymentPlan]
) -> int:
    """Round after round; `plans` are what was shown. Raises Failure."""
    from planner.workflows.stacks.report import show_plan, tell_applied, tell_approval, tell_outputs
    from planner.workflows.stacks.rounds import Deploying, deploy

    view, terminal = work.view, work.terminal
    whole = view.about(deployment=deployment.name)

    class Asking(Deploying):
        def planned(self, runner: Runner, plan: DeploymentPlan) -> None:
            plans.append(plan)
            show_plan(plan, view, terminal, SchemaLookup(runner.schemas).resource_schema)

        def approves(self, plan: DeploymentPlan, found: Approval) -> bool:
            tell_approval(found, whole)
            is_approved = bool(found.by) or arguments["auto-approve"]
            if plan.can_apply and not is_approved and not _approved(plan.deployment, arguments, terminal):
                whole.log("\nApply cancelled.")
                return False
            return True

    deployed = deploy(work.session, deployment, work.options, whole.hooks, Asking(), work.policies, told)
    if not deployed.is_done:
        return 1
    done = Counts()
    for plan in deployed.plans:
        for step in plan.steps:
            done = done.plus(step.counts)
    tell_applied(deployment.name, done, deployed.plans[-1].mode, whole, terminal)
    tell_outputs(deployment.name, deployed.outputs, whole, arguments["show-sensitive"])
    return 0


def _approved(deployment: str, arguments: Arguments, terminal: Terminal) -> bool:
    question = f"Do you want to perform these actions in the deployment {deployment}?"
    remark = "Everything described above will be done.\nOnly 'yes' will be accepted to approve."
    return ask(question, remark, terminal, may_ask(arguments)) == "yes"
