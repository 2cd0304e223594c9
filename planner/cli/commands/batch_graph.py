"""`batch graph`: which unit waits for which."""

from __future__ import annotations

from planner.cli.batch_options import SELECT, WORDS, batch_options
from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments
from planner.cli.options import JSON
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.render.terminal import Terminal

USAGE = "[options] [WORDS...]"
HELP = f"""Prints the graph of the units in the DOT language, after transitive reduction; with -json all edges, the
waves, and why each unit is selected.

{WORDS}"""
FLAGS = (JSON, *SELECT)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 on errors."""
    from planner.workflows.batch.questions import analysed, graph_dot, graph_json

    analysis = analysed(batch_options(arguments))
    document = graph_json(analysis)
    if arguments["json"]:
        terminal.data(json_text(document))
    elif document["nodes"]:
        terminal.data(graph_dot(document))
    return finish([d for d in analysis.diagnostics if d.is_error or d.code == "batch.refused"], terminal) or int(
        has_errors(analysis.diagnostics)
    )
