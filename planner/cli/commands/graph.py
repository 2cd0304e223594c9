"""`graph` and `cycles`: an operation's graph, and its cycles."""

from __future__ import annotations

from typing import Any

from planner.api.questions import Questions
from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments, Flag, UsageError, command, no_directory
from planner.cli.options import DESTROY, INPUT, JSON, OPERATION, STATE, VARIABLES, plan_calls
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.logic.model.graph import Graph
from planner.render.terminal import Terminal

KINDS = ("plan", "plan-refresh-only", "plan-destroy", "apply")


@command(
    "[options]",
    """Prints the graph of the steps of an operation in the DOT language, which Graphviz draws:
  planner graph | dot -Tsvg > graph.svg

With -json, prints the graph before and after transitive reduction, with the kind of each node.""",
    (
        Flag("type", "string", f"The operation: {', '.join(KINDS)}.", value="TYPE"),
        Flag("plan", "string", "Draw a graph of this plan file: the apply graph, or the graph of -type.", value="FILE"),
        Flag("draw-cycles", "bool", "Draw the edges of cycles in red."),
        Flag("module-depth", "int", "", -1),
        Flag("verbose", "bool", "Also draw the vertices that close providers."),
        JSON,
        DESTROY,
        INPUT,
        *OPERATION,
        *STATE,
        *VARIABLES,
    ),
)
def graph(arguments: Arguments, terminal: Terminal) -> int:
    from planner.foundation.support.exact_json import dumps
    from planner.render.dot import dot

    no_directory(arguments, "graph")
    calls = plan_calls(Questions, arguments)
    kind = arguments["type"] or ("apply" if arguments["plan"] else "plan")
    if kind not in KINDS:
        raise UsageError(f"Unknown graph type {kind}", f"The types are: {', '.join(KINDS)}.")
    # the DOT output shows the configuration's graph; the JSON output shows the graph that the operation walks
    graph = calls.built_graph(kind, arguments["plan"] or None, as_planned=arguments["json"])
    problems = [d for d in graph.diagnostics if d.is_error or not arguments["json"]]
    code = finish(problems, terminal) if not arguments["draw-cycles"] else 0
    if code or (not graph.nodes and has_errors(graph.diagnostics)):
        return 1
    if arguments["json"]:
        terminal.data(dumps(graph_json(graph)).decode("utf-8"))
        return 0
    terminal.data(dot(graph, arguments["draw-cycles"], arguments["verbose"]))
    return 0


def graph_json(graph: Graph) -> dict[str, Any]:
    """The JSON document in format 1.0: nodes, edges [dependent, dependency] before and after transitive reduction, and
    the details of each node."""
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


CYCLIC = ("", "plan", "plan-destroy", "apply")


@command(
    "[options]",
    """Lists the cycles of the configuration, each edge with its rule and source line, and the smallest set of
references whose removal leaves no cycle. Only references in the configuration can be removed, not edges that follow
from the order of creation and destruction.

The plan graph is checked first. If it has no cycle, the command makes a plan and checks the apply graph.""",
    (
        Flag("type", "string", "Check only this graph: plan, plan-destroy or apply.", value="TYPE"),
        Flag("plan", "string", "Use the apply graph of this plan file.", value="FILE"),
        JSON,
        DESTROY,
        *OPERATION,
        *STATE,
        *VARIABLES,
    ),
)
def cycles(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if there are cycles."""
    from planner.logic.graph.cycles import knot_lines

    arguments.no_words("cycles takes no arguments; to select a directory, use -chdir=DIR before the command.")
    if arguments["type"] not in CYCLIC:
        raise UsageError(f"Unknown graph type {arguments['type']}", f"The types are: {', '.join(CYCLIC[1:])}.")
    knots, diagnostics = plan_calls(Questions, arguments).knots(arguments["type"], arguments["plan"] or None)
    if knots is None:
        return finish(diagnostics, terminal)
    if arguments["json"]:
        document = {"format_version": "1.0", "cycles": [knot_json(knot) for knot in knots]}
        terminal.data(json_text(document))
        code = finish([d for d in diagnostics if d.is_error], terminal) if has_errors(diagnostics) else 0
        return max(code, int(bool(knots)))
    if not knots:
        terminal.out("There are no cycles.")
    for number, knot in enumerate(knots):
        title = terminal.paint(f"Cycle: {', '.join(knot.cycle)}", "bold")
        terminal.out("\n".join([*([""] if number else []), title, *knot_lines(knot)]))
    return int(bool(knots))


def _removal_json(removal: Any) -> dict[str, Any]:
    lists = {name: list(getattr(removal, name)) for name in ("targets", "paths", "sources")}
    return {"object": removal.object, **lists}


def knot_json(knot: Any) -> dict[str, Any]:
    """A group of connected cycles in the JSON format 1.0. `cycle`: the shortest cycle. `size`: the number of vertices
    in the group. `cut`: references that together break all cycles if removed. `stuck`: a cycle without a removable
    edge. `alternatives`: references, each of which breaks all cycles if removed."""
    return {
        "cycle": list(knot.cycle),
        "size": knot.size,
        "edges": [
            {"from": e.dependent, "to": e.dependency, "rule": e.rule, "reason": e.reason, "source": e.source}
            for e in knot.edges
        ],
        "cut": list(map(_removal_json, knot.removals)),
        "alternatives": list(map(_removal_json, knot.alternatives)),
        "smallest": knot.cut.is_exact,
        "stuck": list(knot.cut.stuck),
    }
