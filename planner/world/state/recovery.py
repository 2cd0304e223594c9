"""Adds the changes in the journal of an interrupted operation to a state.

A journal belongs to the state with which the apply began, and to each snapshot that the apply wrote. If another program
has changed the state since then, the objects in the journal are compared with the objects in the state (see
`Strays`)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

from planner.foundation.support.disk import read_whole
from planner.foundation.vocabulary.address import format_key
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, warning
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.world.state.build import StateBuilder
from planner.world.state.encryption_seal import PLAIN, Seal
from planner.world.state.file import read_state, same_content
from planner.world.state.journal import JournalContent, recovery_warnings, replay, unfinished_warnings
from planner.world.state.model import InstanceKey, InstanceState, ObjectState, ResourceState, State

_MAX_LISTED = 20
_Place: TypeAlias = "tuple[str, InstanceKey]"  # an instance: the address of its resource, and its key
_Slot: TypeAlias = "tuple[str, InstanceKey, str]"  # an object: the instance and its deposed key, "" for the current one


@frozen(eq=False)
class Strays:
    """Objects in a journal that a later state does not have.

    `missing`: objects that can be added because the state has no object at their address, as (resource address, key, an
    instance with only these objects). `others`: objects at whose address the state has a different object, as (address,
    id in the journal, id in the state). `elsewhere`: objects that were moved or imported to a different address, as
    (address, id, new address). `doubtful`: notes, by address, about missing objects whose id the state has at another
    address."""

    missing: list[tuple[str, InstanceKey, ResourceState]] = field(factory=list)
    others: list[tuple[str, str, str]] = field(factory=list)
    elsewhere: list[tuple[str, str, str]] = field(factory=list)
    doubtful: dict[str, str] = field(factory=dict)

    @property
    def addresses(self) -> list[str]:
        return [address + format_key(key) for address, key, _ in self.missing]

    @property
    def described(self) -> list[str]:
        return [f"{a}: {self.doubtful[a]}" if a in self.doubtful else a for a in self.addresses]


@frozen(eq=False)
class StateRecovery:
    """The result of applying a journal to a state. `adds`: whether `state` contains changes from the journal.
    `missing`: instances whose objects are in the journal but not in `state`, because the state was changed after the
    journal began."""

    state: State | None
    problems: tuple[Diagnostic, ...] = ()
    adds: bool = False
    missing: tuple[str, ...] = ()


def recover(
    state: State | None,
    recorded: JournalContent,
    journal: str,
    place: str,
    is_at_work: bool,
    checksum: str = "",
    adopts: bool = False,
) -> StateRecovery:
    """The state in `place` plus the changes in a journal. If the state was changed after the journal began, objects
    that it lacks are added only with `adopts`; otherwise a warning names them. `state`: None if there is none.
    `journal`: its name in messages. `is_at_work`: whether the writer of the journal is still running; then nothing is
    reported. `checksum`: the checksum of the state file."""
    base = state or State()
    if recorded.saved is not None and recorded.saved.is_it(base, checksum):
        return StateRecovery(state)  # the operation was interrupted between saving the state and removing the journal
    if not recorded.in_flight and _has_all(base, recorded):
        return StateRecovery(state)
    is_its_own = recorded.serial == base.serial and base.lineage in ("", recorded.lineage)
    if is_its_own or any(snapshot.is_it(base, checksum) for snapshot in recorded.snapshots):
        count = len(recorded.changes_after(base, checksum))
        problems = () if is_at_work else tuple(recovery_warnings(journal, recorded, count))
        return StateRecovery(replay(base, recorded, checksum), problems, True)
    strays = strays_of(base, recorded)
    if is_at_work:
        return StateRecovery(state)
    if not adopts:
        return StateRecovery(
            state, _divergence_warnings(strays, base, recorded, journal, place), missing=tuple(strays.addresses)
        )
    problems = _divergence_warnings(evolve(strays, missing=[]), base, recorded, journal, place)
    return StateRecovery(_adopt(base, strays), problems, True)


def _has_all(state: State, recorded: JournalContent) -> bool:
    """Whether a state that was written after the journal began has all changes in the journal."""
    follows = state.lineage == recorded.lineage and state.serial > recorded.serial
    return follows and same_content(replay(state, recorded), state)


def strays_of(state: State, recorded: JournalContent) -> Strays:
    """The objects that the journal recorded last for each instance, except objects that the state has. Data sources are
    ignored, because they are read again anyway."""
    # decided in Python: which objects of a journal are in the state -- a comparison of objects, value by value
    changes = recorded.changes_after(state)
    last = {(change.address, change.key): change.resource for change in changes}
    strays = Strays()
    twins = _same_ids(state, last)
    for (address, key), resource in last.items():
        if resource is None or resource.mode != "managed":
            continue
        instance, name = resource.instances[key], address + format_key(key)
        known = state.resources.get(address)
        here = _objects(known.instances.get(key)) if known is not None else {}
        absent: dict[str, ObjectState] = {}
        for mark, object in _objects(instance).items():
            if _has_object(object, mark, here):
                continue
            there, is_same = twins.get((address, key, mark), ("", False))
            if is_same:
                strays.elsewhere.extend([(name, _object_text(object), there)] if there != name else [])
            elif mark in here:
                strays.others.append((name, _object_text(object), _object_text(here[mark])))
            else:
                absent[mark] = object
                if there:
                    strays.doubtful[name] = f"{_object_text(object)}, an id that the state has at {there}"
        if absent:
            missing = evolve(instance, current=absent.pop("", None), deposed=absent)
            strays.missing.append((address, key, evolve(resource, instances={key: missing})))
    return strays


def _objects(instance: InstanceState | None) -> dict[str, ObjectState]:
    """The objects of an instance by deposed key; the key of the current object is ""."""
    if instance is None:
        return {}
    return {**({} if instance.current is None else {"": instance.current}), **instance.deposed}


def _has_object(object: ObjectState, mark: str, here: Mapping[str, ObjectState]) -> bool:
    if mark in here and (mark or _identity(here[mark]) == _identity(object)):
        return True
    return any(_identity(one) == _identity(object) and one.attributes == object.attributes for one in here.values())


def _same_ids(state: State, last: Mapping[_Place, ResourceState | None]) -> dict[_Slot, tuple[str, bool]]:
    """{(resource, key, deposed key): (other address, whether it is the same object)}. The keys are the objects of a
    journal whose id the state has at another address; that address is part of the value. An object is the same if it is
    in the same instance (deposed or no longer deposed), or if all common attributes are equal. Ids that several objects
    have are ignored."""
    recorded = _by_id((place, r, r.instances[place[1]]) for place, r in last.items() if r is not None)
    known = _by_id(((r.address, i.key), r, i) for r, i in state.instances()) if recorded else {}
    twins = {}
    for id, objects in recorded.items():
        in_state = known.get(id, [])
        if len(objects) == len(in_state) == 1 and objects[0][0] != in_state[0][0]:
            (slot, mine), (other, theirs) = objects[0], in_state[0]
            is_same = slot[:2] == other[:2] or _agree(mine.attributes, theirs.attributes)
            twins[slot] = other[0] + format_key(other[1]), is_same
    return twins


def _by_id(
    instances: Iterable[tuple[_Place, ResourceState, InstanceState]],
) -> dict[tuple[str, str, InstanceKey, str], list[tuple[_Slot, ObjectState]]]:
    """The objects, each with its instance and deposed key, by (type, provider configuration, provider key, id)."""
    result: dict[tuple[str, str, InstanceKey, str], list[tuple[_Slot, ObjectState]]] = {}
    for place, resource, instance in instances:
        for mark, object in _objects(instance).items() if resource.mode == "managed" else ():
            id = object.attributes.get("id")
            if isinstance(id, str):
                by = resource.type, resource.provider, instance.provider_key, id
                result.setdefault(by, []).append(((*place, mark), object))
    return result


def _agree(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(value is None or other.get(name) in (None, value) for name, value in one.items())


def _identity(object: ObjectState) -> object:
    """The identity of an object; its id if it has no identity; all its attributes if it has neither."""
    return object.identity or object.attributes.get("id") or object.attributes


def _object_text(object: ObjectState) -> str:
    id = object.attributes.get("id")
    return id if isinstance(id, str) and (("attr", "id"),) not in object.sensitive_paths else "an object without an id"


def _adopt(state: State, strays: Strays) -> State:
    builder = StateBuilder(state)
    for address, key, resource in strays.missing:
        here = builder.instance(address, key) or InstanceState(key, None)
        absent = resource.instances[key]
        joined = evolve(absent, current=here.current or absent.current, deposed={**here.deposed, **absent.deposed})
        builder.put_instance(address, key, evolve(resource, instances={key: joined}))
    return evolve(builder.snapshot(), lineage=state.lineage, serial=state.serial + 1)


def _divergence_warnings(
    strays: Strays, state: State, recorded: JournalContent, journal: str, place: str
) -> tuple[Diagnostic, ...]:
    what = "serial" if recorded.lineage == state.lineage else "lineage"
    then, now = getattr(recorded, what), getattr(state, what)
    began = (
        f"An interrupted {recorded.operation} ({recorded.time}) left the journal {journal}. The state in {place} was "
        f"changed later: its {what} was {then} when the {recorded.operation} began, and is {now} now."
    )
    problems = []
    if strays.missing:
        detail = (
            f"{began} These objects are in the journal, but not in the "
            f"state:\n{_bullet_list(strays.described)}\n\n`planner state journal -adopt` reads each object and adds "
            "those that exist to the state. If the state is correct without them, `planner state journal -discard` "
            "sets the journal aside."
        )
        problems.append(warning("state.journal_diverged", "Objects of an interrupted operation are missing", detail))
    if strays.others:
        listed = _bullet_list(
            [f"{address}: {mine} (in the state: {theirs})" for address, mine, theirs in strays.others]
        )
        detail = (
            f"{began} It created these objects, but the state has different objects at their "
            f"addresses:\n{listed}\n\nThe objects in the journal may still exist: check this, and delete by hand "
            "those that are not used."
        )
        problems.append(warning("state.journal_replaced", "Objects of an interrupted operation may remain", detail))
    if strays.elsewhere:
        listed = _bullet_list([f"{address}: {id} (in the state: {there})" for address, id, there in strays.elsewhere])
        detail = (
            f"{began} The state has these objects of the journal at other addresses:\n{listed}\n\nplanner does not "
            "add them again."
        )
        problems.append(warning("state.journal_moved", "Objects of an interrupted operation have moved", detail))
    return (*problems, *unfinished_warnings(recorded, has_moved_on=True))


def _bullet_list(lines: list[str]) -> str:
    rest = f"\n  ... and {len(lines) - _MAX_LISTED} more" if len(lines) > _MAX_LISTED else ""
    return "".join(f"\n  - {line}" for line in lines[:_MAX_LISTED]) + rest


def refusal(place: str, missing: tuple[str, ...]) -> Diagnostic:
    """The error for an apply or destroy while these objects are missing in the state."""
    return _refusal(
        place,
        missing,
        "An apply would create these objects again, and a destroy would leave them. To add those that exist to the "
        "state, run `planner state journal -adopt`; if the state is correct without them, run `planner state journal "
        "-discard`.",
    )


def refusal_to_copy(place: str, missing: tuple[str, ...]) -> Diagnostic:
    """The error for copying a state to another backend while these objects are missing: the other backend would not
    find the journal that contains them."""
    return _refusal(
        place,
        missing,
        "The new backend would not find the journal. First restore the former backend block. Then run `planner state "
        "journal -adopt` to add those of the missing objects that still exist to the state, or `planner state journal "
        "-discard` if the state is correct without them. Then copy the state.",
    )


def _refusal(place: str, missing: tuple[str, ...], advice: str) -> Diagnostic:
    detail = (
        f"An interrupted operation created objects that the state in {place} does not have, because the state was "
        "changed later:"
        f"\n{_bullet_list(list(missing))}\n\n{advice}"
    )
    return error("state.journal_diverged", "Objects of an interrupted operation are missing", detail)


# `errored.tfstate`: the file for a state that could not be saved after an apply, as in OpenTofu.


ERRORED = "errored.tfstate"


def forget_rescued(saved: State | None, seal: Seal = PLAIN) -> None:
    """Remove the file with a rescued state (`ERRORED`) if this state was saved later: pushing the file would undo newer
    changes. A file with a different state is kept."""
    with suppress(OSError, Failure):
        kept, _ = read_state(seal.unseal(read_whole(ERRORED)).data, ERRORED)
        if kept is None or saved is None or (kept.lineage, kept.serial) != (saved.lineage, saved.serial):
            return
        if same_content(kept, saved):
            os.remove(ERRORED)
