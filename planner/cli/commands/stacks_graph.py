"""`stacks graph`: which component of a deployment is made from which."""

from __future__ import annotations

from typing import Any

from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments
from planner.cli.options import DESTROY, JSON
from planner.cli.stack_options import ASKED, check_words
from planner.foundation.vocabulary.diagnostic import Diagnostics, has_errors
from planner.logic.model.graph import Graph
from planner.render.terminal import Terminal
from planner.workflows.stacks.questions import graph_of

USAGE = "[options]"
HELP = """Prints the data-flow graph of deployments, as derived at plan, in the DOT language: the instances of
components, the provider configurations and the inputs of child stacks, and their dependencies, without the values in
between.

  planner stacks graph -deployment=prod | dot -Tsvg > graph.svg

With -json, prints each deployment with its graph before and after transitive reduction."""
FLAGS = (DESTROY, *ASKED, JSON)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when there is no graph."""
    from planner.cli.commands.graph import graph_json
    from planner.cli.stack_work import plans_of
    from planner.render.dot import subgraph_dot

    check_words(arguments)
    told = Diagnostics()
    graphs: list[tuple[str, Graph]] = []
    with told.until_an_error():
        asked = plans_of(arguments, told)
        graphs = [(one.plan.deployment, graph_of(one.plan)) for one in asked if one.plan.decided is not None]
    if has_errors(told):
        return finish(told, terminal)
    if arguments["json"]:
        documents = [{"deployment": name, **graph_json(graph)} for name, graph in graphs]
        terminal.data(json_text({"format_version": "1.0", "deployments": documents}))
        return 0
    nodes, edges = _together(graphs)
    terminal.data(subgraph_dot(nodes, edges).removesuffix("\n"))
    return 0


def _together(graphs: list[tuple[str, Graph]]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """All graphs as one, each name with its deployment where there are several."""
    nodes: dict[str, Any] = {}
    edges: list[tuple[str, str]] = []
    for deployment, graph in graphs:
        before = f"{deployment}: " if len(graphs) > 1 else ""
        nodes |= {f"{before}{name}": node for name, node in graph.nodes.items()}
        edges += [(f"{before}{a}", f"{before}{b}") for a, others in graph.reduced.items() for b in others]
    return nodes, edges
