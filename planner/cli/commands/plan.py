"""`plan`: what apply would do."""

from __future__ import annotations

from planner.cli.approval import asking
from planner.cli.flags import Arguments, Flag, no_directory
from planner.cli.options import DESTROY, INPUT, JSON_LINES, OPERATION, POLICY, SHOW_SENSITIVE, STATE, VARIABLES, options
from planner.render.terminal import Terminal
from planner.render.verdicts import judge
from planner.render.view import open_view, usage_error_lines

USAGE = "[options]"
HELP = """Compares the configuration with the state and the real objects, and shows what apply would do. Nothing is
changed.

With -out the plan is saved, and `planner apply FILE` does exactly what it says.

With -offline no provider is configured or asked, so no credentials are needed: for checks of pull requests. What only a
provider could say is marked as undecided, and such a plan cannot be applied.

With -policy the plan is judged. One that is denied or cannot be judged is not saved; a saved plan keeps its policies,
and apply decides what was undecided."""
FLAGS = (
    Flag("out", "string", "Save the plan in this file.", value="FILE"),
    Flag("detailed-exitcode", "bool", "Exit with 0 for no changes, 1 for errors, 2 for changes."),
    Flag("generate-config-out", "string", "Write configuration for imported objects that have none.", value="FILE"),
    Flag("offline", "bool", "Do not ask providers: plan from their schemas and the state alone."),
    DESTROY,
    INPUT,
    SHOW_SENSITIVE,
    *POLICY,
    *OPERATION,
    *STATE,
    *VARIABLES,
    *JSON_LINES,
)
usage_error = usage_error_lines


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, 1 on errors, or 2 with -detailed-exitcode when there are changes."""
    no_directory(arguments, "plan")
    settings = asking(options(arguments, needs_configuration=True), terminal)
    from planner import pipeline
    from planner.render.schema_lookup import SchemaLookup

    view = open_view(arguments, terminal)
    planned = pipeline.plan(settings, view.hooks)
    if planned.plan is not None:
        view.plan(planned.plan, SchemaLookup(planned.session.schemas).resource_schema)
    problems = list(planned.diagnostics)
    may_save = True
    if settings.judges and planned.plan is not None and not any(d.is_error for d in problems):
        planned, found = judge(planned, view)
        problems += found
        may_save = not any(d.is_error for d in found)  # what could not be judged has no policies on record
    if planned.plan is not None and arguments["out"] and may_save:
        problems += pipeline.save_plan(planned, arguments["out"])
    view.diagnostics(problems)
    if planned.plan is None or any(d.is_error for d in problems):
        return 1
    if planned.plan.can_apply:
        view.next_steps(arguments["out"], arguments["generate-config-out"])
    return 2 if arguments["detailed-exitcode"] and planned.plan.can_apply else 0
