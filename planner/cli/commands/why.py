"""`why`: the proof of an edge, an action or an unknown value."""

from __future__ import annotations

from typing import Any

from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import DESTROY, JSON, OPERATION, STATE, VARIABLES, options
from planner.cli.supported import pipeline_function
from planner.cli.terminal import Terminal
from planner.vocabulary.diagnostic import has_errors

USAGE = "[options] NODE NODE | ADDRESS | 'FACT'"
HELP = """Explains, rule by rule, why something holds:
  planner why NODE OTHER            why NODE waits for OTHER in the graph
  planner why ADDRESS               why this action is planned for an instance
  planner why 'edge("a", "b")'      why a derived fact holds

Every step names the rule and its reason, and every leaf the place in a file it comes from."""
FLAGS = (
    Flag("type", "string", "In which graph: plan, plan-refresh-only, plan-destroy or apply.", value="TYPE"),
    Flag("plan", "string", "In the graph of applying this plan file.", value="FILE"),
    Flag("full", "bool", "Show the whole proof: every fact, rule and condition."),
    Flag("not", "bool", "Explain why something does not hold."),
    JSON,
    DESTROY,
    *OPERATION,
    *STATE,
    *VARIABLES,
)


def _text(proof: dict[str, Any], full: bool, terminal: Terminal) -> str:
    if not full and proof["goal"][0] in ("edge", "waits_for") and "proofs" in proof:
        from planner.cli.render_why import why_text

        return why_text(proof, terminal.paint)
    from planner.cli.render_proof import proof_text

    return proof_text(proof, terminal.paint, full)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when there is nothing to explain."""
    if not 1 <= len(arguments.words) <= 3:
        raise UsageError("One to three words are needed", "See planner why -help.")
    explain = pipeline_function("why", "why")
    proof, diagnostics = explain(
        options(arguments),
        tuple(arguments.words),
        negated=arguments["not"],
        kind=arguments["type"],
        plan_file=arguments["plan"] or None,
    )
    if proof is None or has_errors(diagnostics):
        return finish(diagnostics, terminal)
    if arguments["json"]:
        from planner.vocabulary.exact_json import dumps

        terminal.out(dumps(proof, escape_html=False).decode("utf-8"))
    else:
        terminal.out(_text(proof, arguments["full"], terminal))
    return finish(diagnostics, terminal)
