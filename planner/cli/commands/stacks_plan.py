"""`stacks plan`: what applying deployments of a stack would do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import DESTROY, JSON, LOCK, POLICY, SHOW_SENSITIVE, operation_options
from planner.cli.stack_policies import judged, standing_policies
from planner.cli.views import hear_interrupts
from planner.render.terminal import Terminal
from planner.render.view import HumanView
from planner.vocabulary.diagnostic import Diagnostic, has_errors
from planner.walk.hooks import Hooks

if TYPE_CHECKING:
    from planner.stacks.deployments import Surroundings

USAGE = "[options]"
HELP = """Plans the deployments of the stack in the working directory, each component by the values that those before it
are going to give. What cannot be planned yet is deferred, with the reason."""
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
    *SHARED,
    JSON,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, 1 on errors; with -detailed-exitcode 2 when there is something to do."""
    from planner.documents.json_plan import plan_json
    from planner.render.schema_lookup import SchemaLookup
    from planner.render.stacks import document, show_plan
    from planner.stacks.session import open_stack
    from planner.support.exact_json import dumps
    from planner.vocabulary.told import Told

    check_words(arguments)
    options = operation_options(arguments, "destroy" if arguments["destroy"] else "normal")
    view = HumanView(terminal, arguments["show-sensitive"])
    if terminal.owns_process:
        hear_interrupts(view)
    hooks = Hooks() if arguments["json"] else view.hooks
    told = Told()
    plans = []
    with told.until_an_error():
        session = open_stack(".", surroundings(arguments), told)
        told += session.left_behind()
        policies = standing_policies(".")
        for deployment in session.chosen(arguments["deployment"]):
            with told.until_an_error():  # the others are planned all the same
                runner = session.runner(deployment, options, hooks)
                plan = runner.plan()
                plans.append(plan)
                told += [d for d in plan.diagnostics if d not in told]
                if not arguments["json"] and not has_errors(plan.diagnostics):
                    show_plan(plan, view, terminal, SchemaLookup(runner.schemas).resource_schema)
                told += [d for d in judged(policies, plan) if d not in told]
                told += runner.release()
    if arguments["json"]:
        found = document(plans, lambda made: plan_json(made.plan, made.loaded.config, made.loaded.schemas.schema))
        terminal.data(dumps({**found, **said(told)}).decode())
    else:
        view.diagnostics(told)
    if has_errors(told):
        return 1
    return 2 if arguments["detailed-exitcode"] and any(p.can_apply or p.is_partial for p in plans) else 0


def said(diagnostics: list[Diagnostic]) -> dict[str, Any]:
    """What there was to say, for programs."""
    from planner.render.diagnostics_json import diagnostic_json

    return {"errored": has_errors(diagnostics), "diagnostics": [diagnostic_json(d) for d in diagnostics]}


def failure(diagnostics: list[Diagnostic], terminal: Terminal) -> int:
    """With -json, what stopped the command is in a document too."""
    from planner.support.exact_json import dumps

    terminal.data(dumps({"format_version": "1.0", "deployments": [], **said(diagnostics)}).decode())
    return 1


def check_words(arguments: Arguments) -> None:
    """Raises UsageError for words: the stack is the one in the working directory."""
    if arguments.words:
        detail = "The stack is the one in the working directory (or of -chdir); deployments are named by -deployment."
        raise UsageError("Too many words", detail)


def surroundings(arguments: Arguments) -> Surroundings:
    """What the flags say about tokens, variable sets and upstreams. Raises UsageError."""
    from planner.stacks.deployments import Surroundings

    return Surroundings(
        _pairs(arguments, "identity-token"),
        arguments["varset-dir"] or "varsets",
        _pairs(arguments, "upstream"),
    )


def _pairs(arguments: Arguments, flag: str) -> dict[str, str]:
    pairs = {}
    for text in arguments[flag]:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UsageError(f"Wrong value for option -{flag}", f"{text!r} has not the form NAME=VALUE.")
        pairs[name] = value
    return pairs
