"""`stacks plan`: what applying deployments of a stack would do."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from planner.cli.finish import write_page
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import DESTROY, JSON_LINES, LOCK, POLICY, SHOW_SENSITIVE, named_values, operation_options
from planner.cli.stack_reports import REPORTS, reported, write_reports
from planner.cli.stack_work import JobResult, StackResults, StackWork, is_worth_it
from planner.cli.views import open_view, usage_error_lines
from planner.foundation.support.exact_json import dumps
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, has_errors
from planner.foundation.vocabulary.records import evolve
from planner.render.diff_block import SchemaLookup
from planner.render.terminal import Terminal
from planner.render.view import BothViews, HumanView
from planner.workflows.stacks.deployments import ServiceStandIns
from planner.workflows.stacks.opened_stack import open_named
from planner.workflows.stacks.policy import judged, standing_policies

if TYPE_CHECKING:
    from planner.language.config.stack_files.model import Deployment
    from planner.render.view import View

USAGE = "[options]"
HELP = """Plans the deployments of the stack in the working directory, each component with the planned values of its
dependencies. Parts that cannot be planned yet are deferred, with the reason.

With -json, the output is that of `planner plan -json`, with the deployment and the component on each line."""
AROUND = (
    Flag("identity-token", "list", "The file with an identity token. May be repeated.", value="NAME=FILE"),
    Flag("varset-dir", "string", "Where variable sets are (varsets).", value="DIR"),
    Flag("upstream", "list", "Where an upstream stack is. May be repeated.", value="ADDRESS=DIR"),
)
WORKERS = Flag("workers", "int", "How many deployments are worked on at a time (one for each processor).", 0, "N")
DEPLOYMENTS = Flag("deployment", "list", "Only these deployments; patterns are allowed. May be repeated.", value="NAME")
PLANNING = (
    Flag("parallelism", "int", "How many operations of providers may run at once in a deployment (10).", 10, "N"),
    Flag("refresh", "bool", "Do not look at the real objects before planning.", True),
)
ASKED = (DEPLOYMENTS, *AROUND, *PLANNING)
"""flags of commands that plan only to answer a query, and lock nothing"""
SHARED = (*ASKED, *LOCK, SHOW_SENSITIVE, *POLICY)
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
    *REPORTS,
    WORKERS,
    *SHARED,
    *JSON_LINES,
)
usage_error = usage_error_lines


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, 1 on errors; with -detailed-exitcode 2 when there is something to do."""
    check_words(arguments)
    if arguments["component"] and arguments["destroy"]:
        detail = "Everything in a deployment is destroyed: components cannot be chosen."
        raise UsageError("Conflicting options", detail)
    options = operation_options(arguments, "destroy" if arguments["destroy"] else "normal")
    view = open_view(arguments, terminal)
    told = Diagnostics()
    begun = time.time()
    gathered = StackResults(told)
    documents: list[dict[str, Any]] = []
    has_changes = False
    with told.until_an_error():
        around = surroundings(arguments)
        session = open_named(around, told)
        told += session.left_behind()
        policies = standing_policies(".")
        chosen = session.chosen(arguments["deployment"])
        if is_worth_it(len(chosen), arguments):
            from planner.cli.stack_pool import jobs_of, spread

            found = spread(
                jobs_of(([deployment.name for deployment in chosen]), arguments, around, options.mode, view),
                _one,
                arguments["workers"],
                view,
                True,
            )
        else:
            work = StackWork(session, policies, options, view, terminal)
            found = (_one(deployment, arguments, work) for deployment in chosen)
        for said in found:
            gathered.take(said)
            documents += said.documents
            has_changes = has_changes or said.has_changes
    show_problems(told, gathered.parts, view)
    problems = write_reports(arguments, "plan", gathered.reports, told, begun)
    if arguments["report"]:
        problems += _write(arguments["report"], documents, told)
    if view.finish(problems) or has_errors(told):
        return 1
    return 2 if arguments["detailed-exitcode"] and has_changes else 0


def _one(deployment: Deployment, arguments: Arguments, work: StackWork) -> JobResult:
    """Plan a deployment, and show the plan."""
    from planner.answers.documents.json_plan import plan_json
    from planner.workflows.stacks.report import document, show_plan

    told = Diagnostics()
    said = JobResult(deployment.name, part=reported(arguments, deployment.name, []))
    with told.until_an_error():  # the others are planned all the same
        runner = work.session.runner(deployment, work.options, work.view.about(deployment=deployment.name).hooks)
        plan = runner.plan(only=arguments["component"])
        told += plan.diagnostics
        if not has_errors(plan.diagnostics):
            show_plan(plan, work.view, work.terminal, SchemaLookup(runner.schemas).resource_schema)
        told += judged(work.policies, plan)
        told += runner.release()
        part = reported(arguments, deployment.name, [plan])
        said = JobResult(deployment.name, has_changes=plan.can_apply or plan.is_partial, part=part)
        if arguments["report"]:
            found = document([plan], lambda made: plan_json(made.plan, made.loaded.config, made.loaded.schemas.schema))
            said = evolve(said, documents=tuple(found["deployments"]))
    return evolve(said, told=tuple(told))


def show_problems(told: list[Diagnostic], parts: list[tuple[str, int, int]], view: View) -> None:
    """What there was to say; `parts`: where what is said of each deployment begins and ends."""
    if isinstance(view, BothViews):
        for one in view.views:
            show_problems(told, parts, one)
        return
    if isinstance(view, HumanView):  # who puts like ones together
        view.diagnostics(told)
        return
    of = {number: name for name, begin, end in parts for number in range(begin, end)}
    for number, problem in enumerate(told):
        (view.about(deployment=of[number]) if number in of else view).diagnostics([problem])


def _write(path: str, documents: list[dict[str, Any]], told: list[Diagnostic]) -> list[Diagnostic]:
    """Write the plans as one document, for their owner alone: they have values. What went wrong."""
    from planner.render.diagnostics_json import diagnostic_json
    from planner.workflows.stacks.report import FORMAT

    said = {"errored": has_errors(told), "diagnostics": [diagnostic_json(d) for d in told]}
    whole = {"format_version": FORMAT, "deployments": documents, **said}
    return write_page(path, dumps(whole).decode() + "\n", 0o600)


def check_words(arguments: Arguments) -> None:
    """Raises UsageError for words: the stack is the one in the working directory. And for a number that is none."""
    if arguments.get("workers", 0) < 0:
        raise UsageError("Option -workers must not be negative", "0 means one for each processor.")
    if arguments.words:
        detail = "The stack is the one in the working directory (or of -chdir); deployments are named by -deployment."
        raise UsageError("Too many words", detail)


def surroundings(arguments: Arguments) -> ServiceStandIns:
    """What the flags say about tokens, variable sets and upstreams. Raises UsageError."""
    return ServiceStandIns(
        named_values(arguments, "identity-token"),
        arguments["varset-dir"] or "varsets",
        named_values(arguments, "upstream"),
    )
