"""`providers schema`: the schemas of all providers in use, as JSON."""

from __future__ import annotations

from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments, UsageError
from planner.cli.options import JSON, VARIABLES, state_options
from planner.foundation.vocabulary.diagnostic import Diagnostics
from planner.operations.providers_needed import needed_providers
from planner.render.terminal import Terminal

USAGE = "-json"
HELP = "Prints the schemas of the providers that the configuration and the state use."
FLAGS = (JSON, *VARIABLES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when a provider cannot be queried."""
    from planner.answers.documents.json_schemas import schemas_json
    from planner.operations.state_access import load_with_values

    if not arguments["json"]:
        raise UsageError("Option -json is needed", "There is only a JSON form of this answer.")
    told = Diagnostics()
    with told.until_an_error():
        start, _ = load_with_values(state_options(arguments), told)
        needed = needed_providers(start.config, start.state)
        sources = needed.recorded.union(*needed.of_modules.values())
        schemas = {source: start.schemas.schema(source) for source in sorted(sources)}
        terminal.data(json_text(schemas_json(schemas)))
    return finish(told, terminal)
