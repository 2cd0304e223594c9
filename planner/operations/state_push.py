"""`state pull` and `state push`: the state as a file, out and in."""

from __future__ import annotations

from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, error, has_errors
from planner.operations.options import StateOptions
from planner.operations.show import kept_state, stored_state
from planner.operations.state_edit import edit
from planner.world.state.file import read_state, same_content, write_state
from planner.world.state.model import State


def state_pull(options: StateOptions) -> tuple[bytes, list[Diagnostic]]:
    """The state as a state file holds it; nothing when there is none."""
    shown, problems = stored_state(options)
    if shown is None or shown.state is None:
        return b"", problems
    return write_state(shown.state, compact=True), problems


def _decrypted(options: StateOptions, data: bytes) -> tuple[bytes, list[Diagnostic]]:
    """The pushed state, in clear: it may be encrypted like the state, such as one that an apply could not save."""
    told = Diagnostics()
    if b'"encryption_version"' not in data:
        return data, told
    with told.until_an_error():
        return kept_state(options, told).encryption.state.unseal(data).data, []
    return data, told


def state_push(options: StateOptions, data: bytes, force: bool = False) -> list[Diagnostic]:
    """Replace the state by the one in a state file. Without `force`, one of another lineage or an older one is
    refused."""
    if not data.strip():
        return [error("state.push_nothing", "No state", "The input of push is empty: it contains no state.")]
    data, told = _decrypted(options, data)
    if has_errors(told):
        return told
    new, problems = read_state(data)
    problems = [*told, *problems]
    if new is None or has_errors(problems):
        return problems
    given = new

    def check(old: State) -> tuple[State, list[str], list[Diagnostic]]:
        refused = ""
        if not force and old.lineage and given.lineage and old.lineage != given.lineage:
            refused = "It belongs to another history (its lineage differs)."
        elif not force and given.serial < old.serial:
            refused = f"Its serial {given.serial} is older than the serial {old.serial} of the present state."
        elif not force and old.lineage and given.serial == old.serial and not same_content(old, given):
            refused = f"The present state has the same serial {old.serial}, but another content."
        if refused:
            detail = f"{refused} Push with -force to write it all the same; the present state is lost then."
            return old, [], [error("state.push_refused", "State refused", detail)]
        return given, ["state"], []

    _, more = edit(options, "OperationTypeStatePush", check, exactly=True)
    return problems + more
