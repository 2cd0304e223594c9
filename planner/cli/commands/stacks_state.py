"""`stacks state`: lists, shows and edits deployments' states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.api.states import ShownState, States
from planner.cli.commands.state import instances, no_state, tell
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import JSON_LINES, LOCK, SHOW_SENSITIVE, state_calls
from planner.cli.stack_options import DEPLOYMENTS
from planner.cli.views import open_plain_view
from planner.foundation.vocabulary.diagnostic import Diagnostics, Failure, error, has_errors
from planner.foundation.vocabulary.nearest import word
from planner.render.terminal import Terminal
from planner.render.value import quoted
from planner.workflows.stacks.decisions import select_names, split
from planner.workflows.stacks.deployments import ServiceStandIns
from planner.workflows.stacks.opened_stack import opened

if TYPE_CHECKING:
    from planner.workflows.stacks.deployment_state import Deployed, StackAddresses


@command(
    "[options] [ADDRESS...]",
    """Lists the resource instances in the states of deployments, each after its component:
component.web["eu"].aws_instance.server. With addresses, it lists only the instances in these components, child
stacks, modules and resources. With several deployments each line begins with its deployment.""",
    (DEPLOYMENTS, *JSON_LINES),
)
def stacks_state_list(arguments: Arguments, terminal: Terminal) -> int:
    from planner.workflows.stacks.deployment_state import deployed

    view = open_plain_view(arguments, terminal)
    session, diagnostics = opened(ServiceStandIns())
    result = deployed(session, arguments["deployment"])
    for one in result:
        before = f"{one.deployment}: " if len(result) > 1 else ""
        for component, address in _component_addresses(one, arguments.words):
            more = {"deployment": one.deployment, "component": component}
            view.say(f"{before}{component}.{address}", address, type="resource_address", **more)
    return view.finish(diagnostics)


def _component_addresses(deployment: Deployed, words: list[str]) -> list[tuple[str, str]]:
    """(component, address) of the selected instances. Raises Failure for an unknown argument."""
    if not words:
        return [
            (str(name), address) for name, state in deployment.components.items() for address in instances(state, [])
        ]
    listed: dict[tuple[str, str], None] = {}
    for text in words:
        try:
            wanted = [(name, "") for name in select_names(deployment.components, [text], deployment.deployment)]
        except Failure:  # not a component, so it is an address in a component
            wanted = [split(deployment.components, text, deployment.deployment)]
        for name, rest in wanted:
            inside = instances(deployment.components[name], [rest] if rest else [])
            listed |= dict.fromkeys((str(name), address) for address in inside)
    return sorted(listed)


@command(
    "[options] ADDRESS",
    """Shows the attributes of one resource instance of a deployment. `planner stacks state list` lists the
addresses: component.web["eu"].aws_instance.server.""",
    (DEPLOYMENTS, SHOW_SENSITIVE, *JSON_LINES),
)
def stacks_state_show(arguments: Arguments, terminal: Terminal) -> int:
    from planner.workflows.stacks.deployment_state import schemas_of, stack_addresses

    arguments.only_word("One address is needed", "Write the address of a resource instance.")
    view = open_plain_view(arguments, terminal)
    diagnostics = Diagnostics()
    result = stack_addresses(arguments["deployment"], arguments.words, diagnostics)
    ((name, address),) = result.parts
    state = result.states.read(name)
    if state is None:
        return view.finish([*diagnostics, no_state()])
    schemas = schemas_of(result.session)
    try:
        return tell(ShownState(state, schemas), address, diagnostics, view, arguments["show-sensitive"], terminal)
    finally:
        schemas.close()


@command(
    "[options] FROM TO",
    """Moves a resource instance, a resource or a module in the state of a component to another address in it:
component.web["eu"].aws_instance.old component.web["eu"].aws_instance.new. The real objects are not changed. To move
objects between components whose states are files, use `planner state mv -state=FILE -state-out=FILE`.""",
    (DEPLOYMENTS, Flag("dry-run", "bool", "List what would be moved without moving it."), *LOCK, *JSON_LINES),
)
def stacks_state_mv(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if nothing was moved."""
    from planner.workflows.stacks.deployment_state import stack_addresses

    if len(arguments.words) != 2:
        raise UsageError("Expected two addresses", "Write the old address and the new one.")
    view = open_plain_view(arguments, terminal)
    calls, dry = state_calls(States, arguments), arguments["dry-run"]
    diagnostics = Diagnostics()
    count = 0
    with diagnostics.until_an_error():
        result = stack_addresses(arguments["deployment"], arguments.words, diagnostics)
        _check(result)
        name = result.parts[0][0]
        for before, after in result.move(calls.options, diagnostics, dry):
            view.say(f"{'Would move' if dry else 'Move'} {quoted(f'{name}.{before}')} to {quoted(f'{name}.{after}')}")
            count += 1
    if not has_errors(diagnostics):
        view.say(f"{'Would have moved' if dry else 'Successfully moved'} {count} object(s).")
    return view.finish(diagnostics)


def _check(addresses: StackAddresses) -> None:
    """Raises Failure if the two addresses are in different components."""

    (name, old), (other, new) = addresses.parts
    if name == other:
        return
    here, there = (addresses.states.store(component).place for component in (name, other))
    command = f"planner state mv {word(f'-state={here}')} {word(f'-state-out={there}')} {word(old)} {word(new)}"
    detail = (
        f"{name} and {other} have separate states: {here} and {there}. If both are files, move the objects with "
        f"`{command}`; otherwise edit copies (planner state pull, push)."
    )
    raise Failure(error("stack.move_across", "Objects cannot be moved between components", detail))


@command(
    "[options] ADDRESS...",
    """Removes resource instances, resources or modules from the states of components of a deployment:
component.web["eu"].aws_instance.server. The real objects continue to exist, unmanaged. To forget all objects of a
component, use a removed block with `lifecycle { destroy = false }`.""",
    (DEPLOYMENTS, Flag("dry-run", "bool", "List what would be removed without removing it."), *LOCK, *JSON_LINES),
)
def stacks_state_rm(arguments: Arguments, terminal: Terminal) -> int:
    from planner.workflows.stacks.deployment_state import stack_addresses

    if not arguments.words:
        raise UsageError("Missing address")
    view = open_plain_view(arguments, terminal)
    calls, dry = state_calls(States, arguments), arguments["dry-run"]
    diagnostics = Diagnostics()
    count = 0
    with diagnostics.until_an_error():
        result = stack_addresses(arguments["deployment"], arguments.words, diagnostics)
        for address in result.remove(calls.options, diagnostics, dry):
            view.say(f"{'Would remove' if dry else 'Removed'} {address}")
            count += 1
    if not has_errors(diagnostics):
        view.say(f"{'Would have removed' if dry else 'Successfully removed'} {count} resource instance(s).")
    return view.finish(diagnostics)
