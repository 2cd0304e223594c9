"""`rules graph`: which predicate is derived from which."""

from __future__ import annotations

from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import JSON
from planner.render.terminal import Terminal

USAGE = "[options] [PREDICATE]"
HELP = """Prints the dependencies of predicates in the DOT language: all predicates, or one with its own.
Predicates of one level are in one row; red edges are negations, blue ones aggregates and green ones native operators,
which all need the complete relation below them:
  planner rules graph reduced_edge | dot -Tsvg > rules.svg"""
FLAGS = (JSON, Flag("dot", "bool", "Print DOT, which is the default."))


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0. An unknown predicate is a Failure."""
    from planner.answers.policy import rulebook
    from planner.render import rules as render_rules

    predicate = arguments.at_most_one_word("Name one predicate, or none.")
    if arguments["json"] and arguments["dot"]:
        raise UsageError("Conflicting options", "Choose -json or -dot.")
    graphs = rulebook.dependency_graphs(predicate)
    terminal.data(render_rules.graphs_json(graphs) if arguments["json"] else render_rules.graphs_dot(graphs))
    return 0
