"""`stacks plan`: what applying deployments of a stack would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import DESTROY, JSON_LINES, LOCK, POLICY, SHOW_SENSITIVE, named_values, operation_options
from planner.cli.page_file import write_page
from planner.cli.views import open_view, usage_error_lines
from planner.render.terminal import Terminal
from planner.render.view import BothViews, HumanView
from planner.stacks.standing import judged, standing_policies
from planner.vocabulary.diagnostic import Diagnostic, has_errors

if TYPE_CHECKING:
    from planner.render.view import View
    from planner.stacks.deployments import Surroundings
    from planner.stacks.steps import DeploymentPlan

USAGE = "[options]"
HELP = """Plans the deployments of the stack in the working directory, each component by the values that those before it
are going to give. What cannot be planned yet is deferred, with the reason.

With -json, what happens is told in lines as by `planner plan -json`, each with its deployment and component."""
AROUND = (
    Flag("identity-token", "list", "The file with an identity token. May be repeated.", value="NAME=FILE"),
    Flag("varset-dir", "string", "Where variable sets are (varsets).", value="DIR"),
    Flag("upstream", "list", "Where an upstream stack is. May be repeated.", value="ADDRESS=DIR"),
)
DEPLOYMENTS = Flag("deployment", "list", "Only these deployments; patterns are allowed. May be repeated.", value="NAME")
PLANNING = (
    Flag("parallelism", "int", "How many operations of providers may run at once (10).", 10, "N"),
    Flag("refresh", "bool", "Do not look at the real objects before planning.", True),
    *LOCK,
)
SHARED = (DEPLOYMENTS, *AROUND, *PLANNING, SHOW_SENSITIVE, *POLICY)
FLAGS = (
    Flag("detailed-exitcode", "bool", "Exit with 2 when there is something to do."),
    DESTROY,
    Flag(
        "component",
        "list",
        "Only this component (an instance, all of them, a child stack) and what it is made from. May be repeated.",
        value="ADDRESS",
    ),
    Flag("report", "string", "Write the plans as one JSON document to this file.", value="FILE"),
    *SHARED,
    *JSON_LINES,
)
usage_error = usage_error_lines


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, 1 on errors; with -detailed-exitcode 2 when there is something to do."""
    from planner.render.schema_lookup import SchemaLookup
    from planner.render.stacks import show_plan
    from planner.stacks.session import open_stack
    from planner.vocabulary.told import Told

    check_words(arguments)
    if arguments["component"] and arguments["destroy"]:
        detail = "Everything in a deployment is destroyed: components cannot be chosen."
        raise UsageError("Conflicting options", detail)
    options = operation_options(arguments, "destroy" if arguments["destroy"] else "normal")
    view = open_view(arguments, terminal)
    told = Told()
    plans = []
    parts = []
    with told.until_an_error():
        session = open_stack(".", surroundings(arguments), told)
        told += session.left_behind()
        policies = standing_policies(".")
        for deployment in session.chosen(arguments["deployment"]):
            begin = len(told)
            with told.until_an_error():  # the others are planned all the same
                whole = view.about(deployment=deployment.name)
                runner = session.runner(deployment, options, whole.hooks)
                plan = runner.plan(only=arguments["component"])
                plans.append(plan)
                told += [d for d in plan.diagnostics if d not in told]
                if not has_errors(plan.diagnostics):
                    show_plan(plan, view, terminal, SchemaLookup(runner.schemas).resource_schema)
                told += [d for d in judged(policies, plan) if d not in told]
                told += runner.release()
            parts.append((deployment.name, begin, len(told)))
    show_problems(told, parts, view)
    written = not arguments["report"] or _write(arguments["report"], plans, told, view)
    if has_errors(told) or not written:
        return 1
    return 2 if arguments["detailed-exitcode"] and any(p.can_apply or p.is_partial for p in plans) else 0


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


def _write(path: str, plans: list[DeploymentPlan], told: list[Diagnostic], view: View) -> bool:
    """Write the plans as one document, for their owner alone: they have values."""
    from planner.documents.json_plan import plan_json
    from planner.render.diagnostics_json import diagnostic_json
    from planner.render.stacks import document
    from planner.support.exact_json import dumps

    found = document(plans, lambda made: plan_json(made.plan, made.loaded.config, made.loaded.schemas.schema))
    said = {"errored": has_errors(told), "diagnostics": [diagnostic_json(d) for d in told]}
    return not view.finish(write_page(path, dumps({**found, **said}).decode() + "\n", 0o600))


def check_words(arguments: Arguments) -> None:
    """Raises UsageError for words: the stack is the one in the working directory."""
    if arguments.words:
        detail = "The stack is the one in the working directory (or of -chdir); deployments are named by -deployment."
        raise UsageError("Too many words", detail)


def surroundings(arguments: Arguments) -> Surroundings:
    """What the flags say about tokens, variable sets and upstreams. Raises UsageError."""
    from planner.stacks.deployments import Surroundings

    return Surroundings(
        named_values(arguments, "identity-token"),
        arguments["varset-dir"] or "varsets",
        named_values(arguments, "upstream"),
    )
