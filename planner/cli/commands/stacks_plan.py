"""`stacks plan`: the changes that applying deployments of a stack would make."""

from __future__ import annotations

from collections.abc import Iterable

from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import DESTROY, JSON_LINES, SINCE
from planner.cli.stack_options import REPORTS, SHARED, WORKERS
from planner.cli.stack_work import DeploymentResult, StackWork, Turn, report_of, reviews_of, work_on
from planner.foundation.vocabulary.diagnostic import Diagnostics, has_errors
from planner.foundation.vocabulary.limits import Mode
from planner.foundation.vocabulary.records import evolve
from planner.language.config.stack_files.model import Deployment
from planner.render.diff_block import SchemaLookup
from planner.render.terminal import Terminal
from planner.render.view import View
from planner.workflows.stacks.approval import approval
from planner.workflows.stacks.deployments import ServiceStandIns
from planner.workflows.stacks.policy import judged
from planner.workflows.stacks.steps import DeploymentPlan

USAGE = "[options]"
HELP = """Plans the deployments of the stack in the working directory, each component with the planned values of its
dependencies. Parts that cannot be planned yet are deferred, with the reason.

With -json, the output is that of `planner plan -json`, with the deployment and the component on each line."""
FLAGS = (
    Flag("detailed-exitcode", "bool", "Exit with 2 when there are changes."),
    DESTROY,
    Flag(
        "component",
        "list",
        "Only this component (an instance, all of them, a child stack) and its dependencies. May be repeated.",
        value="ADDRESS",
    ),
    Flag("report", "string", "Write the plans as one JSON document to this file.", value="FILE"),
    SINCE,
    *REPORTS,
    WORKERS,
    *SHARED,
    *JSON_LINES,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
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
