"""`stacks why`: why an instance of a component is deferred, what it is made from, who approves a plan."""

from __future__ import annotations

from typing import Any

from planner.cli.commands.stacks_plan import SHARED, surroundings
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import JSON, operation_options
from planner.render.terminal import Terminal
from planner.vocabulary.diagnostic import Failure, error
from planner.walk.hooks import Hooks

USAGE = "[options] COMPONENT OTHER"
HELP = """Plans a deployment and explains: that the instance COMPONENT is made from OTHER, with the values in between
and their lines; why COMPONENT is deferred, and what it waits for (stacks why deferred COMPONENT); or which checks
approve the plan, or do not (stacks why approved)."""
FLAGS = (Flag("full", "bool", "Show the whole proof."), *SHARED, JSON)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0; what cannot be explained is a Failure."""
    from planner.cli.finish import json_text
    from planner.render.proof import proof_text

    words = arguments.words
    if not (words == ["approved"] or len(words) == 2):
        raise UsageError(
            "Two instances are needed, or deferred COMPONENT, or approved", "See planner stacks why -help."
        )
    proofs = explained(arguments)
    if arguments["json"]:
        terminal.data(json_text({"format_version": "1.0", "proofs": proofs}))
        return 0
    for number, proof in enumerate(proofs):
        if number:
            terminal.out()
        terminal.out(proof_text(proof, terminal.paint, arguments["full"]))
    return 0


def explained(arguments: Arguments) -> list[dict[str, Any]]:
    """The proofs that were asked for. Raises Failure."""
    from planner.stacks.approval import approval
    from planner.stacks.ask import why, why_approved
    from planner.stacks.session import open_stack
    from planner.vocabulary.told import Told

    session = open_stack(".", surroundings(arguments), Told())
    chosen = session.chosen(arguments["deployment"])
    if len(chosen) > 1:
        names = ", ".join(deployment.name for deployment in chosen)
        raise Failure(error("stack.which", "Which deployment?", f"Name one of {names} with -deployment."))
    (deployment,) = chosen
    runner = session.runner(deployment, operation_options(arguments), Hooks())
    try:
        plan = runner.plan()
    finally:
        runner.release()
    first, *rest = arguments.words
    if not rest:
        return why_approved(approval(session.flow, deployment, plan, 0))
    if first == "deferred":
        return [*why(plan, "put_off", rest[0]), *waiting(plan, rest[0])]
    return why(plan, "made_from", first, rest[0])


def waiting(plan: Any, name: str) -> list[dict[str, Any]]:
    """The proofs of what a deferred instance waits for."""
    from planner.stacks.ask import why

    try:
        return why(plan, "waits_until", name)
    except Failure:  # nothing that changes: what it waits for is nowhere
        return []
