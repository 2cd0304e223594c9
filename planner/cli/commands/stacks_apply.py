"""`stacks plan`, `stacks apply` and `stacks destroy`."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from planner.api.base import OperationOptions
from planner.api.making import Making
from planner.cli.approval import ask
from planner.cli.finish import json_text, write_page
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import DESTROY, INPUT, JSON_LINES, SERVED, SINCE, may_ask, plan_calls
from planner.cli.review import FORMS, Review
from planner.cli.stack_options import REPORTS, SHARED, WORKERS, check_words, surroundings
from planner.cli.views import open_view
from planner.foundation.support.exact_json import dumps
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, error, has_errors
from planner.foundation.vocabulary.limits import Mode
from planner.foundation.vocabulary.records import evolve
from planner.language.config.stack_files.model import Deployment
from planner.render.diff_block import SchemaLookup
from planner.render.terminal import Terminal
from planner.render.view import BothViews, HumanView, View
from planner.workflows.batch.stack_run import DeploymentResult, Do, StackBatch, StackWork, Turn
from planner.workflows.stacks.approval import Approval, approval
from planner.workflows.stacks.deploy import Runner, difference_lines
from planner.workflows.stacks.opened_stack import open_named
from planner.workflows.stacks.policy import judged, standing_policies
from planner.workflows.stacks.rounds import Deploying, Rounds, deploy
from planner.workflows.stacks.steps import DeploymentPlan

if TYPE_CHECKING:
    from planner.render.page.document import Page
    from planner.workflows.batch.reports.deployments import DeploymentReport
    from planner.workflows.batch.reports.review import UnitReviews

FEW = 3
"""maximum number of deployments for which planning in this process is faster than in new processes"""


@command(
    "[options]",
    """Plans the deployments of the stack in the working directory, each component with the planned values of its
dependencies. Components and blocks that cannot be planned yet are deferred, and the reason is printed.

With -json, the output is that of `planner plan -json`, with the deployment and the component on each line.

With -serve the page of -html is served to browsers on this machine until Ctrl-C, at an address with a secret token,
and is updated when files of the stack are saved.""",
    (
        Flag("detailed-exitcode", "bool", "Exit with 2 when there are changes."),
        DESTROY,
        Flag(
            "component",
            "list",
            "Plan only this component (an instance, all of its instances, a child stack), with its dependencies. May be"
            " repeated.",
            value="ADDRESS",
        ),
        Flag("report", "string", "Write the plans as one JSON document to this file.", value="FILE"),
        *SERVED,
        SINCE,
        *REPORTS,
        WORKERS,
        *SHARED,
        *JSON_LINES,
    ),
)
def stacks_plan(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, 2 if there are changes and -detailed-exitcode is set, and 0 otherwise."""
    if arguments["component"] and arguments["destroy"]:
        detail = "All components of a deployment are destroyed: you cannot select some of them."
        raise UsageError("Conflicting options", detail)
    mode: Mode = "destroy" if arguments["destroy"] else "normal"
    do = partial(_plan, arguments)
    if arguments["serve"]:
        return _serve(arguments, terminal, mode, do)
    code, results = _work_on(arguments, terminal, "plan", mode, do, lambda batch, names: batch.plan(names, do))
    return code or (2 if arguments["detailed-exitcode"] and any(result.has_changes for result in results) else 0)


def _serve(arguments: Arguments, terminal: Terminal, mode: Mode, do: Do) -> int:
    """Serve the page until an interrupt, then return 0."""
    from planner.cli.live_server import LiveReport, quiet_terminal, serve
    from planner.workflows.batch.reports.deployment_page import page_of_stack
    from planner.workflows.batch.reports.deployments import stack_report
    from planner.workflows.batch.reports.html import below

    outputs = ("report", "json", "json-into", *FORMS, "detailed-exitcode")
    if named := [name for name in outputs if arguments.get(name)]:
        raise UsageError(
            "Conflicting options", f"The served page shows a new plan when files change: remove -{named[0]}."
        )
    arguments.values["html"] = True  # the page shows the data that is collected for an HTML report

    def make() -> tuple[Page | None, str, list[Diagnostic], list[str]]:
        begun = time.time()
        quiet = quiet_terminal()
        view = open_view(arguments, quiet)
        results, problems, _ = _results(arguments, quiet, view, mode, do, lambda batch, names: batch.plan(names, do))
        parts = [result.report for result in results if result.report is not None]
        if not parts:
            return None, "", problems, []
        document = stack_report("plan", parts, problems, begun)
        return page_of_stack(document, parts), below(document), problems, []

    live = LiveReport(f"Stack {os.path.basename(os.getcwd())}", make, partial(_answer, arguments))
    return serve(live, arguments["port"], terminal)


_OF_DEPLOYMENT = re.compile(r"([\w-]+):(?: +(.*))?$", re.DOTALL)


def _answer(served: Arguments, kind: str, text: str, words: list[str], is_full: bool, terminal: Terminal) -> None:
    """Answer a question on the served page. The question may begin with the name of a deployment and a colon, as names
    on the page do."""
    from planner.cli.commands.stacks_query import stacks_query
    from planner.cli.commands.stacks_why import stacks_why

    asked = stacks_query if kind == "query" else stacks_why
    arguments = served.like(asked)
    if (match := _OF_DEPLOYMENT.match(text)) is not None:
        arguments.values["deployment"] = (match[1],)
        text = match[2] or ""
    arguments.words = [text] if kind == "query" else [word for one in words for word in _without_deployment(one)]
    if kind != "query":
        arguments.values.update({"not": kind == "why-not", "full": is_full})
    assert asked.run is not None
    asked.run(arguments, terminal)


def _without_deployment(word: str) -> list[str]:
    match = _OF_DEPLOYMENT.match(word)
    return [word] if match is None else [match[2]] if match[2] else []


def _plan(arguments: Arguments, deployment: Deployment, work: StackWork) -> DeploymentResult:
    """Plan a deployment, and show the plan. If `work.turn` is set, the plan is also stored, so that another process can
    apply it after approval."""
    from planner.workflows.stacks.report import deployment_json, show_plan

    diagnostics = Diagnostics()
    result = DeploymentResult(deployment.name, report=_report_of(arguments, deployment.name, []))
    with diagnostics.until_an_error():  # errors do not prevent plans of other deployments
        runner = work.session.runner(deployment, work.options, work.view.about(deployment=deployment.name).hooks)
        try:
            plan = runner.plan(only=arguments.get("component", ()))
            result = evolve(
                result,
                has_changes=plan.can_apply or plan.is_partial,
                report=_report_of(arguments, deployment.name, [plan], [_reviews_of(arguments, plan, work)]),
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
    """Store a plan in the file of this round (`turn`). Returns True if no prompt is needed, because the deployment's
    checks approve the plan or because the plan cannot be applied. Raises Failure if policies deny the plan, or if the
    plan makes no progress."""
    from planner.workflows.batch.deployment_plans import save
    from planner.workflows.stacks.report import tell_approval

    judgement = judged(work.policies, plan)
    diagnostics.check([*Rounds().problems(plan), *judgement])
    approved = approval(work.session.flow, deployment, plan, turn.number, judgement)
    tell_approval(approved, work.view.about(deployment=deployment.name))
    save(plan, turn.file, work.session.encryption.plan)
    return not plan.can_apply or bool(approved.by)


@command(
    "[options]",
    """Plans deployments of the stack, shows the plans, prompts for approval, and applies them. A deployment with
deferred parts is planned again, round after round, until no part is deferred.

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
    """Returns 1 on errors, and if the user does not approve the plan."""
    return apply(arguments, terminal, bool(arguments["destroy"]))


def apply(arguments: Arguments, terminal: Terminal, destroys: bool) -> int:
    """Run `stacks apply` or `stacks destroy`."""
    mode: Mode = "destroy" if destroys else "normal"
    do = partial(_deploy, arguments)

    def spread(batch: StackBatch, names: list[str]) -> None:
        if arguments["auto-approve"]:
            batch.deploy(names, do)
        else:
            plan = partial(_plan, arguments)
            batch.deploy_in_turns(names, plan, do, lambda name: _approved(name, arguments, terminal))

    code, results = _work_on(arguments, terminal, "destroy" if destroys else "apply", mode, do, spread)
    return int(code or any(result.code for result in results))


def _deploy(arguments: Arguments, deployment: Deployment, work: StackWork) -> DeploymentResult:
    """Plan and apply a deployment in rounds. If `work.turn` is set, only the round whose plan was approved is run. The
    exit code is 1 if approval was denied or something failed."""
    from planner.workflows.batch.deployment_plans import differences
    from planner.workflows.stacks.report import show_plan, tell_applied, tell_approval, tell_outputs

    view, terminal, turn = work.view, work.terminal, work.turn
    whole = view.about(deployment=deployment.name)
    diagnostics = Diagnostics()
    plans: list[DeploymentPlan] = []
    reviews: list[UnitReviews | None] = []

    class Asking(Deploying):
        def planned(self, runner: Runner, plan: DeploymentPlan) -> None:
            plans.append(plan)
            reviews.append(_reviews_of(arguments, plan, work))
            show_plan(plan, view, terminal, SchemaLookup(runner.schemas).resource_schema)

        def approves(self, plan: DeploymentPlan, decision: Approval) -> bool:
            tell_approval(decision, whole)
            is_approved = bool(decision.by) or arguments["auto-approve"]
            if plan.can_apply and not is_approved and not _approved(plan.deployment, arguments, terminal):
                whole.log("\nApply cancelled.")
                return False
            return True

    class Comparing(Deploying):
        """Applies the new plan only if it equals the plan that was approved in another process."""

        def approves(self, plan: DeploymentPlan, decision: Approval) -> bool:
            assert turn is not None
            other = differences(turn.file, plan, work.session.encryption.plan)
            if not other:
                plans.append(plan)
                reviews.append(_reviews_of(arguments, plan, work))
                return True
            lines = difference_lines(other)
            detail = f"The plan of {deployment.name} has changed since it was approved:{lines}\n\nNothing was applied."
            diagnostics.append(error("stack.not_approved", "The plan differs from the approved one", detail))
            return False

    result = DeploymentResult(deployment.name, code=1)
    listener, most = (Asking(), 0) if turn is None else (Comparing(), 1)
    with diagnostics.until_an_error():  # errors do not prevent applies of other deployments
        deployed = deploy(
            work.session, deployment, work.options, whole.hooks, listener, work.policies, diagnostics, most
        )
        done = deployed.counts if turn is None else turn.done.plus(deployed.counts)
        result = evolve(result, code=int(not deployed.is_done), is_partial=deployed.is_partial, done=done)
        if deployed.is_done and not deployed.is_partial:
            tell_applied(deployment.name, done, deployed.plans[-1].mode, whole, terminal)
            tell_outputs(deployment.name, deployed.outputs, whole, arguments["show-sensitive"])
    shown = _applied_reviews(plans, reviews)
    report = _report_of(arguments, deployment.name, plans, shown) if plans or turn is None else None
    return evolve(result, diagnostics=tuple(diagnostics), report=report)


def _approved(deployment: str, arguments: Arguments, terminal: Terminal) -> bool:
    question = f"Do you want to perform these actions in the deployment {deployment}?"
    remark = "All actions described above will be performed.\nOnly 'yes' will be accepted to approve."
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
    """Returns 1 on errors, and if the user does not approve the plan."""
    return apply(arguments, terminal, True)


# all selected deployments, for `stacks plan`, `stacks apply` and `stacks destroy`


def _options_of(arguments: Arguments, mode: Mode) -> OperationOptions:
    """The options for each component. If reports are requested, the values of expressions are kept, because reports
    contain causes."""
    return evolve(plan_calls(Making, arguments, mode).options, keeps_values=bool(Review(arguments)))


def _work_on(
    arguments: Arguments,
    terminal: Terminal,
    command: str,
    mode: Mode,
    do: Do,
    spread: Callable[[StackBatch, list[str]], None],
) -> tuple[int, list[DeploymentResult]]:
    """Call `do` for each selected deployment, show the diagnostics, and write reports. Returns the exit code and the
    results. `spread` calls `do` in several processes."""
    view, begun = open_view(arguments, terminal), time.time()
    results, diagnostics, owner = _results(arguments, terminal, view, mode, do, spread)
    _show_problems(diagnostics, owner, view)
    code = view.finish(_write_reports(arguments, command, results, diagnostics, begun))
    return int(code or has_errors(diagnostics)), results


def _results(
    arguments: Arguments,
    terminal: Terminal,
    view: View,
    mode: Mode,
    do: Do,
    spread: Callable[[StackBatch, list[str]], None],
) -> tuple[list[DeploymentResult], list[Diagnostic], dict[int, str]]:
    """The results, the diagnostics of all deployments, and {index of a diagnostic: name of its deployment}."""
    check_words(arguments)
    options = _options_of(arguments, mode)
    diagnostics = Diagnostics()
    results: list[DeploymentResult] = []
    owner: dict[int, str] = {}

    def take(result: DeploymentResult) -> None:
        begin = len(diagnostics)
        diagnostics.extend(d for d in result.diagnostics if d not in diagnostics)
        owner.update(dict.fromkeys(range(begin, len(diagnostics)), result.deployment))
        results.append(result)

    with diagnostics.until_an_error():
        around = surroundings(arguments)
        session = open_named(around, diagnostics)
        diagnostics += session.left_behind()
        policies = standing_policies(".")
        chosen = session.chosen(arguments["deployment"])
        if len(chosen) > FEW and arguments["workers"] != 1:
            batch = StackBatch(around, options, view, arguments["workers"], take)
            spread(batch, [deployment.name for deployment in chosen])
        else:
            work = StackWork(session, policies, options, view, terminal)
            for deployment in chosen:
                take(do(deployment, work))
    return results, diagnostics, owner


def _show_problems(diagnostics: list[Diagnostic], owner: Mapping[int, str], view: View) -> None:
    """Show the diagnostics of all deployments. `owner`: {index of a diagnostic: name of its deployment}."""
    if isinstance(view, BothViews):
        for one in view.views:
            _show_problems(diagnostics, owner, one)
    elif isinstance(view, HumanView):  # this combines similar diagnostics
        view.diagnostics(diagnostics)
    else:
        for number, problem in enumerate(diagnostics):
            (view.about(deployment=owner[number]) if number in owner else view).diagnostics([problem])


# reports about deployments, in files


def _reviews_of(arguments: Arguments, plan: DeploymentPlan, work: StackWork) -> UnitReviews | None:
    """The reviews of a plan's components, which are made before the apply; None if no reports are requested."""
    if not any(arguments[form] for form in FORMS):
        return None
    from planner.workflows.batch.reports.component_reviews import component_reviews

    return component_reviews(plan, work.session.stack)


def _applied_reviews(
    plans: Sequence[DeploymentPlan], reviews: Sequence[UnitReviews | None]
) -> Sequence[UnitReviews | None]:
    """The reviews, with the outcomes of changes added to the reviews of applied plans. For a plan without a review, the
    result is still None."""
    if not any(one is not None for one in reviews):
        return reviews
    from planner.workflows.batch.reports.component_reviews import applied

    return [
        applied(plan, one) if one is not None and any(step.applied for step in plan.steps) else one
        for plan, one in zip(plans, reviews, strict=True)
    ]


def _report_of(
    arguments: Arguments,
    deployment: str,
    plans: Sequence[DeploymentPlan],
    reviews: Sequence[UnitReviews | None] = (),
) -> DeploymentReport | None:
    """The part of a report about one deployment, from its plans in all rounds; None if no reports are requested."""
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
    """Write the requested reports. Returns problems. Only the user can read reports with values."""
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
