"""Plan, apply and destroy deployments of a stack."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from planner.cli.approval import ask
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import DESTROY, INPUT, JSON_LINES, SINCE, may_ask
from planner.cli.stack_options import REPORTS, SHARED, WORKERS
from planner.cli.stack_work import DeploymentResult, StackWork, Turn, applied_reviews, report_of, reviews_of, work_on
from planner.foundation.vocabulary.diagnostic import Diagnostics, error, has_errors
from planner.foundation.vocabulary.limits import Mode
from planner.foundation.vocabulary.records import evolve
from planner.language.config.stack_files.model import Deployment
from planner.render.diff_block import SchemaLookup
from planner.render.terminal import Terminal
from planner.render.view import View
from planner.workflows.stacks.approval import Approval, approval
from planner.workflows.stacks.deploy import Runner, difference_lines
from planner.workflows.stacks.deployments import ServiceStandIns
from planner.workflows.stacks.policy import judged
from planner.workflows.stacks.steps import DeploymentPlan

if TYPE_CHECKING:
    from planner.workflows.batch.reports.review import UnitReviews


@command(
    "[options]",
    """Plans the deployments of the stack in the working directory, each component with the planned values of its
dependencies. Parts that cannot be planned yet are deferred, with the reason.

With -json, the output is that of `planner plan -json`, with the deployment and the component on each line.""",
    (
        Flag("detailed-exitcode", "bool", "Exit with 2 when there are changes."),
        DESTROY,
        Flag(
            "component",
            "list",
            "Plan only this component (an instance, all of them, a child stack) and its dependencies. May be repeated.",
            value="ADDRESS",
        ),
        Flag("report", "string", "Write the plans as one JSON document to this file.", value="FILE"),
        SINCE,
        *REPORTS,
        WORKERS,
        *SHARED,
        *JSON_LINES,
    ),
)
def stacks_plan(arguments: Arguments, terminal: Terminal) -> int:
    """0, 1 on errors; with -detailed-exitcode 2 when there is something to do."""
    if arguments["component"] and arguments["destroy"]:
        detail = "Everything in a deployment is destroyed: components cannot be chosen."
        raise UsageError("Conflicting options", detail)
    mode: Mode = "destroy" if arguments["destroy"] else "normal"

    def spread_plans(names: list[str], around: ServiceStandIns, view: View) -> Iterable[DeploymentResult]:
        from planner.cli.stack_pool import jobs_of, spread

        return spread(jobs_of(names, arguments, around, mode, view), plan, view, True)

    code, results = work_on(arguments, terminal, "plan", mode, plan, spread_plans)
    return code or (2 if arguments["detailed-exitcode"] and any(result.has_changes for result in results) else 0)


def plan(deployment: Deployment, arguments: Arguments, work: StackWork) -> DeploymentResult:
    """Plan a deployment, and show the plan; that of a turn is kept, to be approved in another process."""
    from planner.workflows.stacks.report import deployment_json, show_plan

    diagnostics = Diagnostics()
    result = DeploymentResult(deployment.name, report=report_of(arguments, deployment.name, []))
    with diagnostics.until_an_error():  # the others are planned all the same
        runner = work.session.runner(deployment, work.options, work.view.about(deployment=deployment.name).hooks)
        try:
            plan = runner.plan(only=arguments.get("component", ()))
            result = evolve(
                result,
                has_changes=plan.can_apply or plan.is_partial,
                report=report_of(arguments, deployment.name, [plan], [reviews_of(arguments, plan, work)]),
                documents=(deployment_json(plan),) if arguments.get("report") else (),
            )
            diagnostics.check(plan.diagnostics)
            show_plan(plan, work.view, work.terminal, SchemaLookup(runner.schemas).resource_schema)
            if work.turn is None:
                diagnostics += judged(work.policies, plan)
            else:
                result = evolve(result, is_approved=_keep(deployment, plan, work, work.turn, diagnostics))
        finally:
            diagnostics += runner.release()
    return evolve(result, diagnostics=tuple(diagnostics), code=int(has_errors(diagnostics)))


def _keep(deployment: Deployment, plan: DeploymentPlan, work: StackWork, turn: Turn, diagnostics: Diagnostics) -> bool:
    """Keep a plan in the file of its turn; whether it needs no approval. Raises Failure."""
    from planner.workflows.batch.deployment_plans import save
    from planner.workflows.stacks.report import tell_approval
    from planner.workflows.stacks.rounds import Rounds

    judgement = judged(work.policies, plan)
    diagnostics.check([*Rounds().problems(plan), *judgement])
    approved = approval(work.session.flow, deployment, plan, turn.number, judgement)
    tell_approval(approved, work.view.about(deployment=deployment.name))
    save(plan, turn.file, work.session.encryption.plan)
    return not plan.can_apply or bool(approved.by)


@command(
    "[options]",
    """Plans deployments of the stack, shows the plans, prompts for approval, and applies them. A deployment with
deferred parts is planned again, round after round, until none is left.

With -json, the output is that of `planner apply -json`, with the deployment and the component on each line.""",
    (
        Flag("auto-approve", "bool", "Apply without prompting for approval."),
        DESTROY,
        INPUT,
        *REPORTS,
        WORKERS,
        *SHARED,
        *JSON_LINES,
    ),
)
def stacks_apply(arguments: Arguments, terminal: Terminal) -> int:
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
        return in_turns(jobs, view, plan, _deploy, lambda name: _approved(name, arguments, terminal))

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
    shown = applied_reviews(plans, reviews)
    report = report_of(arguments, deployment.name, plans, shown) if plans or turn is None else None
    return evolve(result, diagnostics=tuple(diagnostics), report=report)


def _approved(deployment: str, arguments: Arguments, terminal: Terminal) -> bool:
    question = f"Do you want to perform these actions in the deployment {deployment}?"
    remark = "Everything described above will be done.\nOnly 'yes' will be accepted to approve."
    return ask(question, remark, terminal, may_ask(arguments)) == "yes"


@command(
    "[options]",
    """Makes a plan to destroy all objects of deployments of the stack, prompts for approval, and applies it:
dependents before their dependencies.""",
    (
        Flag("auto-approve", "bool", "Destroy without prompting for approval."),
        INPUT,
        *REPORTS,
        WORKERS,
        *SHARED,
        *JSON_LINES,
    ),
)
def stacks_destroy(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 on errors and when an answer was no."""
    return apply(arguments, terminal, True)
