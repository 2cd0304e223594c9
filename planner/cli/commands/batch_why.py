"""`batch why`: why one unit waits for another."""

from __future__ import annotations

from attrs import evolve

from planner.cli.batch_options import SELECT, batch_options
from planner.cli.finish import json_text
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import JSON
from planner.render.terminal import Terminal

USAGE = "[options] UNIT OTHER | UNIT"
HELP = """Explains why UNIT waits for OTHER: the chain of units in between, and for each edge the rule, and the line of
a file that says so. With -not, why it does not.

With one word: why the selection (-tag, -group, -changed, -exclude, -select) has the unit in it."""
FLAGS = (
    Flag("not", "bool", "Explain why it does not wait."),
    Flag("full", "bool", "Show the whole proof."),
    Flag("select", "list", "What is selected, in the words of batch plan. May be repeated.", value="WORD"),
    JSON,
    *SELECT,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0; what cannot be explained is a Failure."""
    from planner.batch.ask import chosen, why
    from planner.render.proof import proof_text
    from planner.render.why import why_text

    if not 1 <= len(arguments.words) <= 2:
        raise UsageError("One or two units are needed", "See planner batch why -help.")
    options = evolve(batch_options(arguments), words=tuple(arguments["select"]))
    words = arguments.words
    proof = chosen(options, words[0]) if len(words) == 1 else why(options, words[0], words[1], arguments["not"])
    if arguments["json"]:
        terminal.data(json_text(proof))
    elif "proofs" in proof and proof["goal"][0] in ("edge", "waits_for") and not arguments["full"]:
        terminal.out(why_text(proof, terminal.paint))
    else:
        terminal.out(proof_text(proof, terminal.paint, arguments["full"]))
    return 0
