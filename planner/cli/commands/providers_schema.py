"""`providers schema`: the schemas of all providers in use, as JSON."""

from __future__ import annotations

from planner.cli.commands.providers import configured, recorded
from planner.cli.finish import finish
from planner.cli.flags import Arguments, UsageError
from planner.cli.options import JSON, VARIABLES, options
from planner.render.terminal import Terminal

USAGE = "-json"
HELP = "Prints the schemas of the providers that the configuration and the state use."
FLAGS = (JSON, *VARIABLES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when a provider cannot be asked."""
    if not arguments["json"]:
        raise UsageError("Option -json is needed", "There is only a JSON form of this answer.")
    from planner import pipeline
    from planner.documents.json_schemas import schemas_json
    from planner.support.exact_json import dumps

    session = pipeline.load(options(arguments))
    if session.config is None or session.failed:
        return finish(session.diagnostics, terminal)
    sources = {source for module in session.config.root.walk() for source in configured(module)}
    sources.update(recorded(session.state))
    schemas = {source: session.schemas.schema(source) for source in sorted(sources)}
    terminal.data(dumps(schemas_json(schemas), escape_html=False).decode("utf-8"))
    return finish(session.diagnostics, terminal)
