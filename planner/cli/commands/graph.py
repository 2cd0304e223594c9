"""`graph`: the graph of an operation, to draw (DOT) or to read by programs (JSON)."""

from __future__ import annotations

from typing import Any

from planner.api.questions import Questions
from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag, UsageError, no_directory
from planner.cli.options import DESTROY, INPUT, JSON, OPERATION, STATE, VARIABLES, plan_calls
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.logic.model.graph import Graph
from planner.render.terminal import Terminal

USAGE = "[options]"
HELP = """Prints the graph of the steps of an operation in the DOT language, which Graphviz draws:
  planner graph | dot -Tsvg > graph.svg

With -json, prints the graph before and after transitive reduction, with the kind of each node."""
KINDS = ("plan", "plan-refresh-only", "plan-destroy", "apply")
FLAGS = (
    Flag("type", "string", f"Which operation: {', '.join(KINDS)}.", value="TYPE"),
    Flag("plan", "string", "Draw what applying this plan file would do.", value="FILE"),
    Flag("draw-cycles", "bool", "Draw the edges of cycles in red."),
    Flag("module-depth", "int", "", -1),
    Flag("verbose", "bool", "Draw the vertices that close providers, too."),
    JSON,
    DESTROY,
    INPUT,
    *OPERATION,
    *STATE,
    *VARIABLES,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when there is no graph."""
    from planner.foundation.support.exact_json import dumps
    from planner.render.dot import dot

    no_directory(arguments, "graph")
    calls = plan_calls(Questions, arguments)
    kind = arguments["type"] or ("apply" if arguments["plan"] else "plan")
    if kind not in KINDS:
        raise UsageError(f"There is no graph of type {kind}", f"The types are: {', '.join(KINDS)}.")
    if arguments["plan"] and kind != "apply":
        raise UsageError("Conflicting options", "A plan file has a graph of type apply only.")
    # The drawing is the graph of the configuration; programs get the one that the operation really walks.
    graph = calls.built_graph(kind, arguments["plan"] or None, as_planned=arguments["json"])
    said = [d for d in graph.diagnostics if d.is_error or not arguments["json"]]
    code = finish(said, terminal) if not arguments["draw-cycles"] else 0
    if code or (not graph.nodes and has_errors(graph.diagnostics)):
        return 1
    if arguments["json"]:
        terminal.data(dumps(graph_json(graph)).decode("utf-8"))
        return 0
    terminal.data(dot(graph, arguments["draw-cycles"], arguments["verbose"]))
    return 0


def graph_json(graph: Graph) -> dict[str, Any]:
    """Format 1.0: node names; edges [dependent, dependency] before and after reduction; what each node is about."""
    return {
        "format_version": "1.0",
        "nodes": sorted(graph.nodes),
        "edges": _pairs(graph.edges),
        "reduced_edges": _pairs(graph.reduced),
        "details": {
            name: {"kind": node.kind, "module": node.module, "object": node.object, "deposed": node.extra}
            for name, node in sorted(graph.nodes.items())
        },
    }


def _pairs(edges: dict[str, tuple[str, ...]]) -> list[list[str]]:
    return [[a, b] for a in sorted(edges) for b in sorted(edges[a])]
