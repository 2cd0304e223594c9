"""`plan`: what apply would do."""

from __future__ import annotations

from planner.cli.approval import asking
from planner.cli.flags import Arguments, Flag, no_directory
from planner.cli.options import (
    DESTROY,
    INPUT,
    JSON_LINES,
    OPERATION,
    POLICY,
    SHOW_SENSITIVE,
    STATE,
    VARIABLES,
    WHY,
    may_ask,
    operation_options,
)
from planner.cli.views import judge, may_tell_causes, open_view, show_summary, told_causes, usage_error_lines
from planner.render.terminal import Terminal
from planner.vocabulary.diagnostic import has_errors
from planner.vocabulary.records import evolve

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
    WHY,
    Flag("summary", "bool", "Show the causes of the changes instead of the changes."),
    *POLICY,
    *OPERATION,
    *STATE,
    *VARIABLES,
    *JSON_LINES,
)
usage_error = usage_error_lines


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, 1 on errors, or 2 with -detailed-exitcode when there are changes."""
    from planner.operations.plan import plan
    from planner.operations.plan_files import save_plan
    from planner.render.schema_lookup import SchemaLookup

    no_directory(arguments, "plan")
    settings = asking(operation_options(arguments, needs_configuration=True), terminal, may_ask(arguments))
    tells = may_tell_causes(arguments, terminal)
    settings = evolve(settings, keeps_values=tells, records_values=bool(arguments["out"]))
    view = open_view(arguments, terminal)
    planned = plan(settings, view.hooks)
    made, problems = planned.made, list(planned.diagnostics)
    if made is not None:
        if arguments["summary"] and not arguments["json"]:
            show_summary(made, terminal)
        else:
            told = told_causes(made, arguments, terminal)
            view.plan(made.plan, SchemaLookup(made.loaded.schemas).resource_schema, told)
    may_save = True
    if settings.judges and planned.complete is not None:
        made, said = judge(planned.complete, view)
        problems += said
        may_save = not has_errors(said)  # what could not be judged has no policies on record
    if made is not None and arguments["out"] and may_save:
        problems += save_plan(made, arguments["out"])
    view.diagnostics(problems)
    if made is None or has_errors(problems):
        return 1
    if made.plan.can_apply:
        view.next_steps(arguments["out"], arguments["generate-config-out"])
    return 2 if arguments["detailed-exitcode"] and (made.plan.can_apply or made.plan.deferred) else 0
