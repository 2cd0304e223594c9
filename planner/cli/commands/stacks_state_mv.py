"""`stacks state mv`: give objects of a component another address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.api.states import States
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import JSON_LINES, LOCK, state_calls
from planner.cli.stack_options import DEPLOYMENTS
from planner.cli.views import open_plain_view
from planner.foundation.vocabulary.diagnostic import Diagnostics, Failure, error, has_errors
from planner.foundation.vocabulary.nearest import word
from planner.render.terminal import Terminal
from planner.render.value import quoted

if TYPE_CHECKING:
    from planner.workflows.stacks.deployment_state import StackAddresses

USAGE = "[options] FROM TO"
HELP = """Moves a resource instance, a resource or a module in the state of a component to another address in it:
component.web["eu"].aws_instance.old component.web["eu"].aws_instance.new. The real objects are not changed. Between
components whose states are files, use `planner state mv -state=FILE -state-out=FILE`."""
FLAGS = (DEPLOYMENTS, Flag("dry-run", "bool", "List what would be moved, and move nothing."), *LOCK, *JSON_LINES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when nothing could be moved."""
    from planner.workflows.stacks.deployment_state import stack_addresses

    if len(arguments.words) != 2:
        raise UsageError("Two addresses are needed", "Write the old address and the new one.")
    view = open_plain_view(arguments, terminal)
    calls, dry = state_calls(States, arguments), arguments["dry-run"]
    told = Diagnostics()
    count = 0
    with told.until_an_error():
        result = stack_addresses(arguments["deployment"], arguments.words, told)
        _check(result)
        name = result.parts[0][0]
        for before, after in result.move(calls.options, told, dry):
            view.say(f"{'Would move' if dry else 'Move'} {quoted(f'{name}.{before}')} to {quoted(f'{name}.{after}')}")
            count += 1
    if not has_errors(told):
        view.say(f"{'Would have moved' if dry else 'Successfully moved'} {count} object(s).")
    return view.finish(told)


def _check(found: StackAddresses) -> None:
    """Raises Failure when the objects would go to another component."""

    (name, old), (other, new) = found.parts
    if name == other:
        return
    here, there = (found.states.store(component).place for component in (name, other))
    command = f"planner state mv {word(f'-state={here}')} {word(f'-state-out={there}')} {word(old)} {word(new)}"
    detail = (
        f"{name} and {other} have a state each: {here} and {there}. Where these are files, this moves the "
        "objects: "
        f"`{command}`; of others, edit copies (planner state pull, push)."
    )
    raise Failure(error("stack.move_across", "Objects stay in their component", detail))
