"""Commands about deployments of a stack: plans of those that a query is about, and the work on each of several, in this
process or in others (stack_pool.py), with what is shown and written about all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planner.api.base import OperationOptions
from planner.api.making import Making
from planner.cli.finish import json_text, write_page
from planner.cli.flags import Arguments
from planner.cli.options import plan_calls
from planner.cli.review import FORMS, Review
from planner.cli.stack_options import check_words, surroundings
from planner.cli.views import open_view
from planner.engine.walk.hooks import Hooks
from planner.foundation.support.exact_json import dumps
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, has_errors
from planner.foundation.vocabulary.limits import Mode
from planner.foundation.vocabulary.records import evolve, frozen
from planner.language.config.stack_files.model import Deployment
from planner.logic.programs.actions import Counts
from planner.render.terminal import Terminal
from planner.render.view import BothViews, HumanView, View
from planner.workflows.stacks.deployments import ServiceStandIns
from planner.workflows.stacks.opened_stack import OpenedStack, open_named, opened
from planner.workflows.stacks.policy import DeploymentPolicies, standing_policies
from planner.workflows.stacks.steps import DeploymentPlan

if TYPE_CHECKING:
    from planner.workflows.batch.reports.deployments import DeploymentReport
    from planner.workflows.batch.reports.review import UnitReviews

FEW = 3
"""this process works on so few deployments faster than others start"""


# Plans for a query: nothing is shown while they are made, nothing locked or applied.


@frozen(eq=False)
class PendingDeployment:
    """A deployment that a query is about, and its plan."""

    session: OpenedStack
    deployment: Deployment
    plan: DeploymentPlan


def plans_of(
    arguments: Arguments,
    diagnostics: Diagnostics,
    keeps_values: bool = False,
    judges: bool = True,
    is_single: bool = False,
) -> list[PendingDeployment]:
    """The plans of the chosen deployments. `keeps_values`: the causes of their changes will be looked up; `judges`: the
    plan of each component is judged by policies; `is_single`: several deployments are an error. Raises Failure."""
    names = arguments["deployment"]
    options = evolve(plan_calls(Making, arguments).options, lock=False, keeps_values=keeps_values)
    if not judges:
        options = evolve(options, policies=(), standing_policies=())
    session, problems = opened(surroundings(arguments))
    diagnostics += problems
    pending = []
    for deployment in [session.only(names)] if is_single else session.chosen(names):
        runner = session.runner(deployment, options, Hooks())
        try:
            plan = runner.plan()
        finally:
            diagnostics += runner.release()
        diagnostics += [d for d in plan.diagnostics if d not in diagnostics]
        pending.append(PendingDeployment(session, deployment, plan))
    return pending


# The work on each of several deployments.


@frozen(eq=False)
class Turn:
    """A round of a deployment whose plan is approved in another process: the `file` that the plan is kept in, the
    number of the round (from 0), and the changes of the rounds before."""

    file: str
    number: int = 0
    done: Counts = Counts()


@frozen(eq=False)
class StackWork:
    """The input of the work on a deployment. `turn`: the single round that is planned or applied; None: all."""

    session: OpenedStack
    policies: DeploymentPolicies | None
    options: OperationOptions
    view: View
    terminal: Terminal
    turn: Turn | None = None


@frozen(eq=False)
class DeploymentResult:
    """The result of the work on a deployment. `code`: the exit code."""

    deployment: str
    diagnostics: tuple[Diagnostic, ...] = ()
    code: int = 0
    has_changes: bool = False
    documents: tuple[dict[str, Any], ...] = ()
    """the plans as data, for -report"""
    is_approved: bool = False
    """whether the plan needs no approval"""
    is_partial: bool = False
    """whether something is deferred"""
    done: Counts = Counts()
    report: DeploymentReport | None = None


Do = Callable[["Deployment", Arguments, StackWork], DeploymentResult]
Spread = Callable[[list[str], "ServiceStandIns", "View"], Iterable[DeploymentResult]]
"""does the work on deployments in other processes"""


def options_of(arguments: Arguments, mode: Mode) -> OperationOptions:
    """The options of the work on each component; reports have causes, which need values."""
    return evolve(plan_calls(Making, arguments, mode).options, keeps_values=bool(Review(arguments)))


def work_on(
    arguments: Arguments, terminal: Terminal, command: str, mode: Mode, do: Do, spread: Spread
) -> tuple[int, list[DeploymentResult]]:
    """Do the work on the chosen deployments, show their diagnostics and write reports: the exit code, and the
    results."""
    check_words(arguments)
    options = options_of(arguments, mode)
    view = open_view(arguments, terminal)
    diagnostics, begun = Diagnostics(), time.time()
    results: list[DeploymentResult] = []
    owner: dict[int, str] = {}
    with diagnostics.until_an_error():
        around = surroundings(arguments)
        session = open_named(around, diagnostics)
        diagnostics += session.left_behind()
        policies = standing_policies(".")
        chosen = session.chosen(arguments["deployment"])
        if len(chosen) > FEW and arguments["workers"] != 1:
            coming = spread([deployment.name for deployment in chosen], around, view)
        else:
            work = StackWork(session, policies, options, view, terminal)
            coming = (do(deployment, arguments, work) for deployment in chosen)
        for result in coming:
            begin = len(diagnostics)
            diagnostics += [d for d in result.diagnostics if d not in diagnostics]
            owner |= dict.fromkeys(range(begin, len(diagnostics)), result.deployment)
            results.append(result)
    _show_problems(diagnostics, owner, view)
    code = view.finish(_write_reports(arguments, command, results, diagnostics, begun))
    return int(code or has_errors(diagnostics)), results


def _show_problems(diagnostics: list[Diagnostic], owner: Mapping[int, str], view: View) -> None:
    """Show the diagnostics. `owner`: the deployments that they are about, by their numbers."""
    if isinstance(view, BothViews):
        for one in view.views:
            _show_problems(diagnostics, owner, one)
    elif isinstance(view, HumanView):  # which puts like ones together
        view.diagnostics(diagnostics)
    else:
        for number, problem in enumerate(diagnostics):
            (view.about(deployment=owner[number]) if number in owner else view).diagnostics([problem])


# Reports about deployments in files.


def reviews_of(arguments: Arguments, plan: DeploymentPlan, work: StackWork) -> UnitReviews | None:
    """The reviews of the components of a plan that was not applied yet; None where no report is written."""
    if not any(arguments[form] for form in FORMS):
        return None
    from planner.workflows.batch.reports.component_reviews import component_reviews

    return component_reviews(plan, work.session.stack)


def applied_reviews(
    plans: Sequence[DeploymentPlan], reviews: Sequence[UnitReviews | None]
) -> Sequence[UnitReviews | None]:
    """The reviews of plans, with the outcome of each change where one was applied."""
    if not any(one is not None for one in reviews):
        return reviews
    from planner.workflows.batch.reports.component_reviews import applied

    return [
        applied(plan, one) if one is not None and any(step.applied for step in plan.steps) else one
        for plan, one in zip(plans, reviews, strict=True)
    ]


def report_of(
    arguments: Arguments,
    deployment: str,
    plans: Sequence[DeploymentPlan],
    reviews: Sequence[UnitReviews | None] = (),
) -> DeploymentReport | None:
    """The part of a deployment in reports, from its plans, round after round; None where no report is written."""
    if not any(arguments[form] for form in FORMS):
        return None
    from planner.workflows.batch.reports.deployments import part_of
    from planner.workflows.batch.reports.review import UnitReviews

    whole = UnitReviews()
    for one in reviews:
        whole = whole.and_later(one) if one is not None else whole
    part = part_of(deployment, plans, whole)
    if not arguments["html"]:
        return part
    from planner.workflows.batch.reports.deployment_page import with_page

    return with_page(part, plans)


def _write_reports(
    arguments: Arguments, command: str, results: list[DeploymentResult], diagnostics: list[Diagnostic], begun: float
) -> list[Diagnostic]:
    """Write the requested reports; what went wrong. Those with values are for their owner alone."""
    problems: list[Diagnostic] = []
    subject = Review(arguments, "stacks").subject
    if subject is not None:
        from planner.workflows.batch.reports.deployments import stack_report, stack_reviews
        from planner.workflows.batch.reports.review import fleet_review

        parts = [result.report for result in results if result.report is not None]
        document = stack_report(command, parts, diagnostics, begun)
        review = fleet_review(document, stack_reviews(parts), subject)
        if arguments["markdown"]:
            from planner.workflows.batch.reports.markdown import markdown

            problems += write_page(arguments["markdown"], markdown(document, {}, review))
        if arguments["review"]:
            problems += write_page(arguments["review"], json_text(review))
        if arguments["html"]:
            from planner.workflows.batch.reports.deployment_page import stack_page

            problems += write_page(arguments["html"], stack_page(document, parts, review), 0o600)
    if arguments.get("report"):
        from planner.render.diagnostics_json import diagnostic_json
        from planner.workflows.stacks.report import FORMAT

        whole = {
            "format_version": FORMAT,
            "deployments": [document for result in results for document in result.documents],
            "errored": has_errors(diagnostics),
            "diagnostics": [diagnostic_json(d) for d in diagnostics],
        }
        problems += write_page(arguments["report"], dumps(whole).decode() + "\n", 0o600)
    return problems
