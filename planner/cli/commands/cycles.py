"""`cycles`: the cycles of a graph, and a smallest set of references whose removal breaks them."""

from __future__ import annotations

from typing import Any

from planner.api.questions import Questions
from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import DESTROY, JSON, OPERATION, STATE, VARIABLES, plan_calls
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.render.terminal import Terminal

USAGE = "[options]"
HELP = """Lists the cycles of the configuration, each edge with its rule and source line, and the smallest set of
references whose removal leaves no cycle. Only written references can be removed, not edges that follow from creating
and destroying.

The plan graph is checked first. If it has no cycle, the command makes a plan and checks the apply graph."""
FLAGS = (
    Flag("type", "string", "Check only this graph: plan, plan-destroy or apply.", value="TYPE"),
    Flag("plan", "string", "Use the apply graph of this plan file.", value="FILE"),
    JSON,
    DESTROY,
    *OPERATION,
    *STATE,
    *VARIABLES,
)
KINDS = ("", "plan", "plan-destroy", "apply")


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when the graph cannot be made."""
    from planner.logic.graph.cycles import knot_lines

    arguments.no_words("cycles takes no words; use -chdir=DIR before the command.")
    if arguments["type"] not in KINDS:
        raise UsageError(f"There is no graph of type {arguments['type']}", f"The types are: {', '.join(KINDS[1:])}.")
    knots, diagnostics = plan_calls(Questions, arguments).knots(arguments["type"], arguments["plan"] or None)
    if knots is None:
        return finish(diagnostics, terminal)
    if arguments["json"]:
        document = {"format_version": "1.0", "cycles": [knot_json(knot) for knot in knots]}
        terminal.data(json_text(document))
        return finish([d for d in diagnostics if d.is_error], terminal) if has_errors(diagnostics) else 0
    if not knots:
        terminal.out("There are no cycles.")
    for number, knot in enumerate(knots):
        title = terminal.paint(f"Cycle: {', '.join(knot.cycle)}", "bold")
        terminal.out("\n".join([*([""] if number else []), title, *knot_lines(knot)]))
    return 0


def knot_json(knot: Any) -> dict[str, Any]:
    """Format 1.0 of one knot. `size` counts its vertices; `stuck` is a cycle that nothing which could be removed
    belongs to, when there is one."""
    return {
        "cycle": list(knot.cycle),
        "size": knot.size,
        "edges": [
            {"from": e.dependent, "to": e.dependency, "rule": e.rule, "reason": e.reason, "source": e.source}
            for e in knot.edges
        ],
        "cut": [
            {"object": r.object, "targets": list(r.targets), "paths": list(r.paths), "sources": list(r.sources)}
            for r in knot.removals
        ],
        "smallest": knot.cut.is_exact,
        "stuck": list(knot.cut.stuck),
    }
