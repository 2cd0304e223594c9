"""`providers schema`: the schemas of all providers in use, as JSON."""

from __future__ import annotations

from planner.cli.finish import finish
from planner.cli.flags import Arguments, UsageError
from planner.cli.options import JSON, VARIABLES, options
from planner.cli.supported import pipeline_function
from planner.cli.terminal import Terminal
from planner.vocabulary.diagnostic import has_errors

USAGE = "-json"
HELP = "Prints the schemas of the providers that the configuration and the state use."
FLAGS = (JSON, *VARIABLES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when a provider cannot be asked."""
    if not arguments["json"]:
        raise UsageError("Option -json is needed", "There is only a JSON form of this answer.")
    from planner.vocabulary.exact_json import dumps

    document, diagnostics = pipeline_function("provider_schemas", "providers schema")(options(arguments))
    if not has_errors(diagnostics):
        terminal.out(dumps(document).decode("utf-8"))
    return finish(diagnostics, terminal)
