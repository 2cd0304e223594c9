"""`state list`: the addresses of the resource instances in the state."""

from __future__ import annotations

from planner.api.states import States
from planner.cli.flags import Arguments, Flag
from planner.cli.options import JSON_LINES, VARIABLES, state_calls
from planner.cli.views import open_plain_view
from planner.foundation.vocabulary.address import (
    Address,
    AddressError,
    ModuleAddress,
    ResourceAddress,
    format_key,
    parse_address,
    sort_key,
)
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.render.terminal import Terminal
from planner.world.state.model import State

USAGE = "[options] [ADDRESS...]"
HELP = "Lists the resource instances in the state, or those of the named modules and resources."
FLAGS = (
    Flag("state", "string", "Read the state from this file.", value="FILE"),
    Flag("id", "string", "Only instances whose id attribute is this.", value="ID"),
    *VARIABLES,
    *JSON_LINES,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when there is no state or an address is not in it."""
    view = open_plain_view(arguments, terminal)
    shown, problems = state_calls(States, arguments).stored_state()
    if shown.state is None:
        return view.finish([no_state()])
    for address in instances(shown.state, arguments.words, arguments["id"]):
        view.say(address, type="resource_address")
    return view.finish(problems)


def no_state() -> Diagnostic:
    return error("state.none", "No state", "No state file was found: nothing has been applied here yet.")


def instances(state: State, wanted: list[str], id: str = "") -> list[str]:
    """Addresses of instances with a current or deposed object, sorted. Raises Failure for an address that names
    nothing in the state."""
    filters = [_parse(text) for text in wanted]
    addresses: list[str] = []
    used: set[int] = set()
    for resource, instance in state.instances():
        address = resource.address + format_key(instance.key)
        parsed = parse_address(address)
        hits = [i for i, f in enumerate(filters) if f.covers(parsed)]
        used.update(hits)
        if filters and not hits:
            continue
        current = instance.current
        if id and (current is None or current.attributes.get("id") != id):
            continue
        addresses.append(address)
    missing = [text for i, text in enumerate(wanted) if i not in used]
    if missing:
        raise Failure(
            [error("state.unknown_address", "Not in the state", f"The state does not contain {m}.") for m in missing]
        )
    return sorted(addresses, key=sort_key)


def _parse(text: str) -> Address:
    try:
        address = parse_address(text)
    except AddressError as problem:
        raise Failure(error("cli.address", f'"{text}" is not a valid address', problem.detail)) from None
    assert isinstance(address, ModuleAddress | ResourceAddress)
    return address
