"""Reads and writes the manifest of a fleet, `.planner/batch/manifest.json`. It lists the units of earlier runs and
their states.

    {"format_version": "1.0", "units": {UNIT: {"state", "workspace", "after": [unit...],
                                              "backend": {"type", "settings"} | null}}}

With the manifest, planner knows the state of a unit even after the unit's directory or block was removed. Then the unit
is reported as orphaned or, if the fleet's file has a `removed` block for it, destroyed or forgotten. A removed unit is
destroyed without configuration, in a separate directory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from planner.foundation.support.disk import read_whole
from planner.foundation.support.exact_json import dumps, loads
from planner.foundation.vocabulary.diagnostic import Diagnostic, warning
from planner.foundation.vocabulary.records import frozen
from planner.workflows.batch import FOLDER
from planner.workflows.batch.facts import has_objects
from planner.workflows.batch.model import Fleet
from planner.workflows.batch.record import make_folder
from planner.world.state.workspace import read_pointer

FORMAT = "1.0"
NAME = os.path.join(FOLDER, "manifest.json")


@frozen
class UnitStateEntry:
    """A unit in the manifest. `state`: the name of its state as in `planner.world.state.backend`. `workspace` and
    `backend` (type, settings) are needed to open the state. `after`: the units for which the unit waited."""

    state: str
    workspace: str = ""
    after: tuple[str, ...] = ()
    backend: tuple[str, dict[str, Any]] | None = None


def known_units(root: str) -> dict[str, UnitStateEntry] | None:
    """{unit: entry} of the manifest of the fleet in `root`; {} if there is no manifest, None if it cannot be read."""
    try:
        result = loads(read_whole(os.path.join(root, NAME)))["units"]
        return {str(name): _entry(raw) for name, raw in result.items()}
    except FileNotFoundError:
        return {}
    except (OSError, KeyError, TypeError, AttributeError, ValueError):
        return None


def damaged_manifest() -> Diagnostic:
    detail = (
        f"{NAME}, which records the units of earlier runs and their states, cannot be read. So it is unknown whether a "
        "removed unit still has objects. Restore the file; or delete it, and the next run records the current units."
    )
    return warning("batch.manifest", "The list of units is damaged", detail)


def _entry(raw: Mapping[str, Any]) -> UnitStateEntry:
    backend = raw.get("backend")
    known = (str(backend["type"]), dict(backend["settings"])) if backend else None
    return UnitStateEntry(str(raw["state"]), str(raw["workspace"]), tuple(map(str, raw["after"])), known)


def keep_manifest(
    fleet: Fleet,
    states: Mapping[str, str],
    edges: Mapping[str, tuple[str, ...]],
    applied: Iterable[str],
    ended: Iterable[str],
) -> None:
    """Update the manifest: add the units of the fleet, and remove units that were destroyed or forgotten. A unit with a
    remote state is added or updated only if this run applied it. `applied`: the units that this run applied. `ended`:
    the units that it destroyed. A damaged manifest is left unchanged."""
    before = known_units(fleet.root)
    if before is None:
        return  # the user may repair the damaged manifest
    now = dict(before)
    gone = {removal.unit for removal in fleet.removals if removal.action == "forget"} if applied else set[str]()
    known = set(applied)
    for name in (*ended, *gone):
        if name not in fleet.units or not has_objects(states.get(name, "")):
            now.pop(name, None)
    for name, unit in fleet.units.items():
        state = states.get(name, "")
        if not state or unit.is_removed or unit.is_outside or name in ended:
            if unit.is_removed and name in known and not has_objects(state):
                now.pop(name, None)
            continue
        if os.path.isabs(state):
            now[name] = UnitStateEntry(state, unit.workspace, edges.get(name, ()))
        elif name in known:
            pointer, _ = read_pointer(os.path.join(unit.directory(fleet.root), ".terraform"))
            backend = (pointer.type, pointer.settings) if pointer is not None else None
            now[name] = UnitStateEntry(state, unit.workspace, edges.get(name, ()), backend)
    if now != before:
        _write(fleet.root, now)


def _write(root: str, entries: Mapping[str, UnitStateEntry]) -> None:
    units = {
        name: {
            "state": entry.state,
            "workspace": entry.workspace,
            "after": list(entry.after),
            "backend": {"type": entry.backend[0], "settings": entry.backend[1]} if entry.backend else None,
        }
        for name, entry in sorted(entries.items())
    }
    path = os.path.join(root, NAME)
    beside = f"{path}.{os.getpid()}.tmp"
    try:
        make_folder(root)
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(dumps({"format_version": FORMAT, "units": units}, indent=True, escape_html=False))
        os.replace(beside, path)
    except OSError:
        return  # keep the earlier manifest
