"""Facts for rules/batch about a fleet and the surveys of its units."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.model.graph import source_json
from planner.workflows.batch.model import FileLocation, Fleet, Linked, Survey
from planner.world.state.file import read_state


def fleet_facts(fleet: Fleet, surveys: Mapping[str, Survey], before: Mapping[str, str] = {}) -> FactBuilder:
    """The facts that are known before planning; facts that come from files have source locations. `before`: {unit:
    state} as recorded by earlier commands."""
    facts = FactBuilder()
    for name, state in sorted({**before, **dict(fleet.left)}.items()):
        if name not in fleet.units:
            if any(folder == "." or f"{name}/".startswith(f"{folder}/") for folder in fleet.looked):
                facts.add("gone_unit", name)
            if not os.path.isabs(state):
                facts.add("left_state", name, state)
            elif has_objects(state):
                facts.add("left_state", name, os.path.realpath(state))
    for removal in fleet.removals:
        facts.add("removes_unit", removal.unit, removal.action, source=removal.place)
    given = (one for unit in fleet.units.values() for one in (*unit.inputs, *unit.offers))
    taken = {other for one in given for other, _, _ in one.mentions}
    for name in sorted(taken & surveys.keys()):
        outputs = surveys[name].outputs
        if outputs is not None:
            facts.add("loaded", name)
            for output in outputs:
                facts.add("has_output", name, output)
    for name, unit in fleet.units.items():
        facts.add("unit", name, unit.folder, source=unit.place)
        for tag in unit.tags:
            facts.add("tag", name, tag, source=unit.place)
        for group in unit.groups:
            facts.add("group", name, group, source=unit.place)
        for one in unit.inputs:
            for other, output, place in one.mentions:
                facts.add("takes_output", name, one.variable, other, output, source=place)
        for offered in unit.offers:
            facts.add("offers_input", name, offered.variable, source=offered.place)
            facts.add("offers_at", name, offered.variable, str(offered.place), source=offered.place)
            for other, output, place in offered.mentions:
                facts.add("offers_output", name, offered.variable, other, output, source=place)
        for other, place in unit.after:
            facts.add("declared_after", name, other, source=place)
        for label, other, place in unit.blocks:
            facts.add("dependency_block", name, label, other, source=place)
        for other, place in unit.paths:
            facts.add("dependencies_path", name, other, source=place)
        for action, others, place in unit.excludes:
            facts.add("excluded_from", name, action, source=place)
            if others:
                facts.add("excludes_dependencies", name, source=place)
        for other in unit.stood_on:
            facts.add("stood_on", name, other, source=unit.place)
        if unit.is_outside:
            facts.add("outside_unit", name, source=unit.place)
        survey = surveys.get(name)
        if unit.offers and (survey is None or survey.variables is None):
            facts.add("hides_variables", name)
        if survey is None:
            continue
        for offered in unit.offers:
            if offered.variable in (survey.variables or ()):
                facts.add("declares_variable", name, offered.variable)
        if survey.state:
            facts.add("writes_state", name, survey.state, source=survey.state_place or unit.place)
        for read in survey.remote:
            if read.state:
                facts.add("reads_state", name, read.object, read.state, source=read.place)
            else:
                facts.add("reads_some_state", name, read.object, source=read.place)
        if survey.stack is not None:
            _linked(facts, name, survey.stack, os.path.realpath(fleet.root))
    if any(survey.stack is not None for survey in surveys.values()):
        _parts(facts, surveys)
    return facts


def _linked(facts: FactBuilder, name: str, stack: Linked, root: str) -> None:
    folder = os.path.relpath(stack.folder, root)
    for read in stack.reads:
        other = os.path.relpath(read.stack, root)
        if read.published:
            facts.add("passes_on", folder, read.published, other, read.output, source=read.place)
        else:
            facts.add("reads_published", name, read.input, other, read.output, source=read.place)
    for one in stack.published:
        facts.add("publishes", name, folder, one.output, source=one.place)


def _parts(facts: FactBuilder, surveys: Mapping[str, Survey]) -> None:
    """Add a fact for each component of a deployment if a unit reads the component's state."""
    from planner.workflows.stacks.decisions import declaration
    from planner.workflows.stacks.states import decoded

    read = {one.state for survey in surveys.values() for one in survey.remote if one.state}
    for name, survey in surveys.items():
        stack = survey.stack
        for state in sorted(read) if stack is not None and stack.before else ():
            assert stack is not None
            inner = state.removeprefix(stack.before).removesuffix(stack.after)
            if f"{stack.before}{inner}{stack.after}" != state:
                continue
            instance = decoded(inner)
            if instance is not None and declaration(instance) in stack.components:
                facts.add("keeps_component", name, str(instance), state)


def has_objects(path: str) -> bool:
    """Whether a state file has managed objects; True if it is encrypted, False if it cannot be read."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return False
    if b'"encryption_version"' in data and b'"encrypted_data"' in data:
        return True  # an encrypted state is assumed to have objects
    state, _ = read_state(data, path)
    return state is not None and any(resource.mode == "managed" for resource in state.resources.values())


def file_facts(facts: FactBuilder, fleet: Fleet, surveys: Mapping[str, Survey]) -> None:
    """Add the files that units read, for selectors and queries about files and for the user's rules."""
    real = os.path.realpath(fleet.root)
    common = [fleet.file, *fleet.also] if fleet.file else []
    shown: dict[str, str] = {}
    for name, survey in surveys.items():
        for file in (*survey.files, *common, *fleet.units[name].files):
            if file not in shown:
                shown[file] = os.path.relpath(os.path.realpath(file), real)
            facts.add("reads_file", name, shown[file])


def fleet_source(source: Any) -> dict[str, Any]:
    """The source of a fact as JSON, for the proof format."""
    return source.to_json() if isinstance(source, FileLocation) else source_json(source)
