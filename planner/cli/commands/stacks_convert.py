"""`stacks from-modules` and `stacks to-modules`: make stacks of root modules, and root modules of deployments."""

from __future__ import annotations

from planner.api.making import Making
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import LOCK, VARIABLES, plan_calls
from planner.cli.stack_options import AROUND, check_words, surroundings
from planner.foundation.vocabulary.address import valid_identifier
from planner.render.diff_block import SchemaLookup
from planner.render.terminal import Terminal
from planner.render.view import HumanView


@command(
    "[options]",
    """Converts the root module in the working directory to a stack: each module that it calls becomes a component, its
variables become variables of the stack, and its state is divided among the components. Shows the files, and verifies
that a plan of the stack has no changes. Nothing is written without -write.""",
    (
        Flag("write", "bool", "Write files and states, and remove the objects from the root module's state."),
        Flag("deployment", "string", "The name of the deployment (default: main).", value="NAME"),
        *LOCK,
        *VARIABLES,
    ),
)
def stacks_from_modules(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 0 if the plan of the new stack changes no object and, with -write, the stack was written; otherwise 1."""
    from planner.workflows.stacks.migrate import is_quiet, migrate
    from planner.workflows.stacks.report import show_plan

    check_words(arguments)
    name = arguments["deployment"] or "main"
    if not valid_identifier(name):
        raise UsageError("Wrong value for option -deployment", f"{name!r} is not a valid name.")
    view = HumanView(terminal)
    result = migrate(plan_calls(Making, arguments).options, name, arguments["write"])
    if result.converted is not None:
        for file, text in result.converted.shown.items():
            terminal.out(f"{terminal.paint(f'# {file}', 'bold')}\n{text}")
        for component in sorted(map(str, result.converted.states)):
            terminal.out(f"state: {component}")
    view.diagnostics(result.diagnostics)
    if result.plan is None or not result.is_proven:
        if result.plan is not None and result.schemas is not None and not is_quiet(result.plan):
            show_plan(result.plan, view, terminal, SchemaLookup(result.schemas).resource_schema)
            terminal.out("\nA plan of the stack would change objects, so nothing is written.")
        return 1
    word = "Written" if arguments["write"] else "Verified, but not written (use -write)"
    terminal.out(f"\n{terminal.paint(f'{word}: a plan of the stack has no changes.', 'bold', 'green')}")
    if arguments["write"]:
        terminal.out(
            "\nThe files of the root module are still here, and its state has no objects any more: planner plan would\n"
            "create all objects again. Remove the files when you are sure that you will not go back."
        )
    return 0


@command(
    "[options]",
    """Converts a deployment of the stack in the working directory to a root module: each component becomes a module
call, and the states of all component instances become one state. Shows the files, and verifies that a plan of the root
module has no changes. Nothing is written without -write.""",
    (
        Flag("deployment", "string", "The deployment.", value="NAME"),
        Flag(
            "out", "string", "The directory for the root module, which must not exist (default: its name).", value="DIR"
        ),
        Flag("write", "bool", "Write files and state, and remove the objects from the deployment."),
        *AROUND,
        *LOCK,
    ),
)
def stacks_to_modules(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 0 if the plan of the new root module changes no object and, with -write, its files were written;
    otherwise 1."""
    from planner.workflows.stacks.migrate import give_back

    check_words(arguments)
    name = arguments["deployment"]
    if not name:
        raise UsageError("Missing deployment", "Name the deployment with -deployment.")
    view = HumanView(terminal)
    out = arguments["out"] or name
    result = give_back(plan_calls(Making, arguments).options, name, surroundings(arguments), out, arguments["write"])
    if result.root is not None:
        for file, text in result.root.shown.items():
            terminal.out(f"{terminal.paint(f'# {out}/{file}', 'bold')}\n{text}")
    view.diagnostics(result.diagnostics)
    if not result.is_proven:
        made = result.planned.made if result.planned is not None else None
        if made is not None:
            view.plan(made.plan, SchemaLookup(made.loaded.schemas).resource_schema)
            terminal.out("\nA plan of the root module would change objects, so nothing is written.")
        return 1
    word = "Written" if arguments["write"] else "Verified, but not written (use -write)"
    terminal.out(f"\n{terminal.paint(f'{word}: a plan of the root module has no changes.', 'bold', 'green')}")
    return 0
