"""Finds the units of a Terragrunt repository: directories with a terragrunt.hcl, and directories that are generated
from a terragrunt.stack.hcl."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from planner.foundation.support.disk import read_whole
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, warning
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Span
from planner.workflows.batch.model import FileLocation, Fleet, Unit
from planner.workflows.batch.recipe import Recipe, RecipeSource
from planner.workflows.batch.terragrunt import EXCLUDES, NAME, NAMES, STACK, is_unit, unit_file
from planner.workflows.batch.terragrunt.prepare import with_reading
from planner.workflows.batch.terragrunt.session import Library, UnitSession
from planner.workflows.batch.terragrunt.stack import generate_stacks
from planner.workflows.batch.terragrunt.unit import UnitReading, has_configuration, make_working, read_unit
from planner.workflows.batch.terragrunt.working_directory import working_base

MOST = 100_000
"""maximum number of units in a repository; further units are ignored"""


def has_files(folder: str) -> bool:
    """Whether a directory is a Terragrunt unit or stack."""
    return is_unit(folder) or os.path.isfile(os.path.join(folder, STACK))


def find_units(root: str, names: Iterable[str], environment: Mapping[str, str]) -> Fleet:
    """The fleet with the units in the directories `names` (relative to the root). Units in other directories are
    included with `is_outside` if a unit depends on them. Raises Failure if `.terragrunt-excludes` cannot be read."""
    library = Library(root, environment)
    problems: list[Diagnostic] = []
    folders = [os.path.normpath(os.path.join(root, name)) for name in names]
    stacks = [folder for folder in folders if os.path.isfile(os.path.join(folder, STACK))]
    made = generate_stacks(library, stacks, problems)
    inside = dict.fromkeys(f for f in [*folders, *made] if is_unit(f))
    readings: dict[str, UnitReading] = {}
    waiting = list(inside)
    while waiting and len(readings) < MOST:
        folder = waiting.pop(0)
        if folder in readings:
            continue
        reading = read_unit(UnitSession(library, unit_file(folder)))
        readings[folder] = reading
        if folder not in inside and not has_configuration(reading):
            continue
        waiting += [t for t in _targets(reading) if t not in readings and is_unit(t)]
    included = {file for reading in readings.values() for file in reading.session.files if _is_other(file, reading)}
    units: dict[str, Unit] = {}
    for folder, reading in readings.items():
        if has_configuration(reading):
            units[_name(root, folder)] = _unit(root, folder, reading, readings, folder in inside)
        elif reading.session.config not in included and folder in inside:
            detail = f"{reading.session.config} names no source, and there is no configuration next to it."
            problems.append(warning("terragrunt.nothing", "Nothing to run", detail))
    left_out = _left_out(root)
    units = {name: _without(units[name], left_out) for name in sorted(units)}
    text = "\n".join(map(repr, units.values()))
    for reading in readings.values():
        problems += [remark for remark in reading.remarks if remark not in problems]
    if not units:
        detail = f"No {NAME} below {root} names a source or has a configuration next to it."
        problems.append(error("batch.no_units", f"No units below {root}", detail))
    return Fleet(root, units, "", tuple(problems), text)


def _left_out(root: str) -> list[tuple[str, FileLocation]]:
    """The patterns in the file `.terragrunt-excludes`, as (pattern, place); empty if there is no such file. Raises
    Failure if it cannot be read."""
    path = os.path.join(root, EXCLUDES)
    try:
        lines = read_whole(path).decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as problem:
        detail = f"{path}: {problem.strerror or problem}."
        raise Failure(error("terragrunt.excludes", "A file cannot be read", detail)) from None
    shown = os.path.relpath(path)
    words = ((number, line.strip()) for number, line in enumerate(lines, 1))
    return [(os.path.normpath(w), FileLocation(shown, n, 1, w)) for n, w in words if w and not w.startswith("#")]


def _without(unit: Unit, left_out: list[tuple[str, FileLocation]]) -> Unit:
    """The unit; if a pattern matches its name, the unit is excluded from all commands."""
    place = next((place for pattern, place in left_out if fnmatchcase(unit.name, pattern)), None)
    return unit if place is None else evolve(unit, excludes=(*unit.excludes, ("all", False, place)))


def _is_other(file: str, reading: UnitReading) -> bool:
    return file != reading.session.config and os.path.basename(file) in NAMES


def _targets(reading: UnitReading) -> list[str]:
    stacks = reading.session.library.stacks
    named = [folder for item in reading.dependencies for folder in stacks.get(item.target, {"": item.target}).values()]
    return [*named, *reading.session.orders]


def _name(root: str, folder: str) -> str:
    return os.path.relpath(folder, root)


def _unit(root: str, folder: str, reading: UnitReading, readings: Mapping[str, UnitReading], is_inside: bool) -> Unit:
    make_working(reading)
    name, session = _name(root, folder), reading.session
    blocks: list[tuple[str, str, FileLocation]] = []
    paths: list[tuple[str, FileLocation]] = []
    targets: dict[str, str] = {}
    stacks: list[tuple[str, tuple[tuple[str, str], ...]]] = []
    for item in reading.dependencies:
        members = session.library.stacks.get(item.target, {"": item.target})
        for target in members.values():
            other = readings.get(target)
            if other is None or not has_configuration(other):
                detail = (
                    f"dependency.{item.label} names {target}, where there is no {NAME} with a configuration to run."
                )
                reading.problems.append(error("terragrunt.no_dependency", "No such unit", detail, item.span))
                continue
            targets[target] = _name(root, target)
            blocks.append((item.label, targets[target], _place(item.span)))
        if item.target in session.library.stacks:
            stacks.append((item.target, tuple(sorted(members.items()))))
    for target, span in session.orders.items():
        other = readings.get(target)
        if other is None:
            detail = f"dependencies names {target}, which does not contain {NAME}."
            reading.problems.append(error("terragrunt.no_dependency", "No such unit", detail, span))
        elif has_configuration(other):
            paths.append((_name(root, target), _place(span)))
    units, private = tuple(sorted(targets.items())), tuple(sorted(session.private))
    base = working_base(folder, reading.download) if reading.working != folder else ""
    source = RecipeSource(session.config, dict(session.answers), units, tuple(stacks), base, private)
    lock = os.path.join(folder, ".terraform.lock.hcl") if reading.copies_lock and reading.working != folder else ""
    recipe = with_reading(Recipe(keeps=reading.keeps, lock_file=lock, source=source, home=folder), reading)
    excludes: tuple[tuple[str, bool, FileLocation], ...] = ()
    if reading.excludes is not None:
        actions, others, span = reading.excludes
        excludes = tuple((action, others, _place(span)) for action in actions)
    return Unit(
        name,
        name,
        place=FileLocation(os.path.relpath(session.config), 1, 1, ""),
        working=reading.working if reading.working != folder else "",
        recipe=recipe,
        blocks=tuple(blocks),
        paths=tuple(paths),
        files=tuple(sorted(session.files)),
        excludes=excludes,
        is_outside=not is_inside,
    )


def _place(span: Span) -> FileLocation:
    return FileLocation.of(span)
