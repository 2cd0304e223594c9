"""`providers schema`: the schemas of all providers in use, as JSON."""

from __future__ import annotations

from planner.api.installation import Installation
from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments, UsageError
from planner.cli.options import JSON, VARIABLES, state_calls
from planner.render.terminal import Terminal

USAGE = "-json"
HELP = "Prints the schemas of the providers that the configuration and the state use."
FLAGS = (JSON, *VARIABLES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when a provider cannot be queried."""
    from planner.answers.documents.json_schemas import schemas_json

    if not arguments["json"]:
        raise UsageError("Option -json is needed", "There is only a JSON form of this answer.")
    schemas, diagnostics = state_calls(Installation, arguments).provider_schemas()
    terminal.data(json_text(schemas_json(schemas)))
    return finish(diagnostics, terminal)
