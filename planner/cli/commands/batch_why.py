"""`batch why`: why one unit waits for another."""

from __future__ import annotations

from typing import Any

from planner.cli.batch_options import SELECT, batch_options
from planner.cli.finish import json_text
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import JSON
from planner.foundation.vocabulary.records import evolve
from planner.render.terminal import Terminal
from planner.workflows.batch.model import units_text
from planner.workflows.batch.schedule import BatchListener

USAGE = "[options] UNIT OTHER | [pending] UNIT"
HELP = """Explains why UNIT waits for OTHER: the chain of units in between, and for each edge the rule and the line of a
file that it comes from. With -not it explains why UNIT does not wait.

`pending UNIT` lists the parts of the unit's plan that are unknown until other units are applied, by output and path;
with -not it explains why the plan does not wait for its dependencies. The dependencies are planned for that.

`UNIT` alone explains the outcome of its plan; with a selection (-tag, -group, -changed, -exclude, -select) it explains
why the unit is selected."""
FLAGS = (
    Flag("not", "bool", "Explain why it does not wait."),
    Flag("full", "bool", "Show the whole proof."),
    Flag("select", "list", "A set of units, as in batch plan. May be repeated.", value="WORD"),
    JSON,
    *SELECT,
)


PENDING = "pending"


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0; Failure for a question without an explanation."""
    from planner.render.proof import proof_text
    from planner.render.why import why_text
    from planner.workflows.batch.questions import selection_proof, why, why_outcome, why_pending

    if not 1 <= len(arguments.words) <= 2:
        raise UsageError("One or two units are needed", "See planner batch why -help.")
    options = evolve(batch_options(arguments), words=tuple(arguments["select"]))
    words = arguments.words
    if len(words) == 2 and words[0] == PENDING:
        return _pending(why_pending(options, words[1], arguments["not"], BatchListener()), arguments, terminal)
    if len(words) == 2:
        proof = why(options, words[0], words[1], arguments["not"])
    elif any(arguments[name] for name in ("select", "tag", "group", "changed", "exclude")):
        proof = selection_proof(options, words[0])
    else:
        proof = why_outcome(options, words[0], BatchListener())
        causes = sorted({one["goal"][2] for one in proof.get("pending", ())})
        if not arguments["json"]:
            because = f", {units_text(causes)}" if causes else ""
            terminal.out(f"{words[0]}: {proof['goal'][2]}{because}")
            if causes and not arguments["full"]:
                return _pending({"proofs": proof["pending"]}, arguments, terminal)
    if arguments["json"]:
        terminal.data(json_text(proof))
    elif "proofs" in proof and proof["goal"][0] in ("edge", "waits_for") and not arguments["full"]:
        terminal.out(why_text(proof, terminal.paint))
    else:
        terminal.out(proof_text(proof, terminal.paint, arguments["full"]))
    return 0


def _pending(found: dict[str, Any], arguments: Arguments, terminal: Terminal) -> int:
    """Print the values that parts of a plan wait for, or why they do not wait."""
    from planner.render.proof import proof_text

    if arguments["json"]:
        terminal.data(json_text(found))
        return 0
    for number, proof in enumerate(found["proofs"]):
        if number:
            terminal.out()
        terminal.out(proof_text(proof, terminal.paint, arguments["full"]))
    return 0
