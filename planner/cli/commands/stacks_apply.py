"""`stacks apply`: execute plans of deployments, round after round until nothing is deferred."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from planner.cli.approval import ask
from planner.cli.commands.stacks_plan import plan as plan_deployment
from planner.cli.flags import Arguments, Flag
from planner.cli.options import DESTROY, INPUT, JSON_LINES, may_ask
from planner.cli.stack_options import REPORTS, SHARED, WORKERS
from planner.cli.stack_work import DeploymentResult, StackWork, report_of, reviews_of, work_on
from planner.foundation.vocabulary.diagnostic import Diagnostics, error
from planner.foundation.vocabulary.limits import Mode
from planner.foundation.vocabulary.records import evolve
from planner.language.config.stack_files.model import Deployment
from planner.render.diff_block import SchemaLookup
from planner.render.terminal import Terminal
from planner.render.view import View
from planner.workflows.stacks.approval import Approval
from planner.workflows.stacks.deploy import Runner, difference_lines
from planner.workflows.stacks.deployments import ServiceStandIns
from planner.workflows.stacks.steps import DeploymentPlan

if TYPE_CHECKING:
    from planner.workflows.batch.reports.review import UnitReviews

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


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 on errors and when an answer was no."""
    return apply(arguments, terminal, bool(arguments["destroy"]))


def apply(arguments: Arguments, terminal: Terminal, destroys: bool) -> int:
    """Apply the chosen deployments."""
    mode: Mode = "destroy" if destroys else "normal"

    def spread_applies(names: list[str], around: ServiceStandIns, view: View) -> Iterable[DeploymentResult]:
        from planner.cli.stack_pool import in_turns, jobs_of, spread

        jobs = jobs_of(names, arguments, around, mode, view)
        if arguments["auto-approve"]:
            return spread(jobs, _deploy, view, False)
        return in_turns(jobs, view, plan_deployment, _deploy, lambda name: _approved(name, arguments, terminal))

    command = "destroy" if destroys else "apply"
    code, results = work_on(arguments, terminal, command, mode, _deploy, spread_applies)
    return int(code or any(result.code for result in results))


def _deploy(deployment: Deployment, arguments: Arguments, work: StackWork) -> DeploymentResult:
    """Deploy one, round after round; in a turn the single round whose plan was approved. The code is 1 when the answer
    was no, or something failed."""
    from planner.workflows.batch.deployment_plans import differences
    from planner.workflows.stacks.report import show_plan, tell_applied, tell_approval, tell_outputs
    from planner.workflows.stacks.rounds import Deploying, deploy

    view, terminal, turn = work.view, work.terminal, work.turn
    whole = view.about(deployment=deployment.name)
    diagnostics = Diagnostics()
    plans: list[DeploymentPlan] = []
    reviews: list[UnitReviews | None] = []

    class Asking(Deploying):
        def planned(self, runner: Runner, plan: DeploymentPlan) -> None:
            plans.append(plan)
            reviews.append(reviews_of(arguments, plan, work))
            show_plan(plan, view, terminal, SchemaLookup(runner.schemas).resource_schema)

        def approves(self, plan: DeploymentPlan, found: Approval) -> bool:
            tell_approval(found, whole)
            is_approved = bool(found.by) or arguments["auto-approve"]
            if plan.can_apply and not is_approved and not _approved(plan.deployment, arguments, terminal):
                whole.log("\nApply cancelled.")
                return False
            return True

    class Comparing(Deploying):
        """The plan was approved in another process: it is applied if the new plan is the same."""

        def approves(self, plan: DeploymentPlan, found: Approval) -> bool:
            assert turn is not None
            other = differences(turn.file, plan, work.session.encryption.plan)
            if not other:
                plans.append(plan)
                reviews.append(reviews_of(arguments, plan, work))
                return True
            lines = difference_lines(other)
            detail = f"The plan of {deployment.name} has changed since it was approved:{lines}\n\nNothing was applied."
            diagnostics.append(error("stack.not_approved", "The plan differs from the approved one", detail))
            return False

    result = DeploymentResult(deployment.name, code=1)
    listener, most = (Asking(), 0) if turn is None else (Comparing(), 1)
    with diagnostics.until_an_error():  # the others are deployed all the same
        deployed = deploy(
            work.session, deployment, work.options, whole.hooks, listener, work.policies, diagnostics, most
        )
        done = deployed.counts if turn is None else turn.done.plus(deployed.counts)
        result = evolve(result, code=int(not deployed.is_done), is_partial=deployed.is_partial, done=done)
        if deployed.is_done and not deployed.is_partial:
            tell_applied(deployment.name, done, deployed.plans[-1].mode, whole, terminal)
            tell_outputs(deployment.name, deployed.outputs, whole, arguments["show-sensitive"])
    report = report_of(arguments, deployment.name, plans, reviews) if plans or turn is None else None
    return evolve(result, diagnostics=tuple(diagnostics), report=report)


def _approved(deployment: str, arguments: Arguments, terminal: Terminal) -> bool:
    question = f"Do you want to perform these actions in the deployment {deployment}?"
    remark = "Everything described above will be done.\nOnly 'yes' will be accepted to approve."
    return ask(question, remark, terminal, may_ask(arguments)) == "yes"
