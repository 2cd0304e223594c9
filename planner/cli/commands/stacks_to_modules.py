"""`stacks to-modules`: make a root module of a deployment."""

from __future__ import annotations

from planner.api.making import Making
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import LOCK, plan_calls
from planner.cli.stack_options import AROUND, check_words, surroundings
from planner.render.diff_block import SchemaLookup
from planner.render.terminal import Terminal
from planner.render.view import HumanView

USAGE = "[options]"
HELP = """Makes a root module of a deployment of the stack in the working directory: each component becomes a module
call, and the states of its instances become one state. Shows the files, and proves that a plan of the root module has
no changes. Nothing is written without -write."""
FLAGS = (
    Flag("deployment", "string", "The deployment.", value="NAME"),
    Flag("out", "string", "The directory for the root module, which must not exist (default: its name).", value="DIR"),
    Flag("write", "bool", "Write files and state, and remove the objects from the deployment."),
    *AROUND,
    *LOCK,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0 when a plan of the root module touches no object (and it is written), else 1."""
    from planner.workflows.stacks.migrate import give_back

    check_words(arguments)
    name = arguments["deployment"]
    if not name:
        raise UsageError("Which deployment?", "Name it with -deployment.")
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
            terminal.out("\nThe root module would change something, so nothing is written.")
        return 1
    word = "Written" if arguments["write"] else "Proven, and nothing written (-write does that)"
    terminal.out(f"\n{terminal.paint(f'{word}: a plan of the root module touches no object.', 'bold', 'green')}")
    return 0
