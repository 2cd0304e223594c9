"""Prepares a Terragrunt unit in the worker immediately before its run, by reading its file again with the outputs of
its dependencies. External lookups are not repeated, except lookups with secret results on another machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import Unknown, Value
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.records import evolve
from planner.language.config.load import load_root
from planner.language.config.reading import Problems
from planner.workflows.batch.model import diagnostics_json
from planner.workflows.batch.recipe import Recipe
from planner.workflows.batch.terragrunt.session import Library, UnitSession
from planner.workflows.batch.terragrunt.unit import UnitReading, generated_files, read_unit, unit_inputs
from planner.workflows.batch.terragrunt.working_directory import rewrite

Outputs = Callable[[str], Value]
"""a function from the name of a unit to the unit's outputs; raises Failure"""


def made_ready(
    recipe: Recipe, outputs: Outputs, environment: Mapping[str, str], is_look: bool = False, command: str = "plan"
) -> tuple[Recipe, dict[str, Value]]:
    """Prepare the unit whose working directory is the current directory. Returns the recipe for the run, and {variable:
    value}; a value may be unknown. `is_look`: only the configuration will be loaded, so generated files are not
    written, and they may depend on unknown outputs. `command`: the result of the function get_terraform_command. Raises
    Failure."""
    source = recipe.source
    assert source is not None
    units, stacks = dict(source.units), dict(source.stacks)

    def of(folder: str) -> Value:
        if folder in stacks:
            return {name: of(inner) for name, inner in stacks[folder]}
        return outputs(units[folder]) if folder in units else Unknown(DYNAMIC)

    session = UnitSession(
        Library(os.getcwd(), environment), source.config, of, source.answers, command, source.expected
    )
    reading = read_unit(session)
    problems = reading.problems
    values: dict[str, Value] = {}
    if reading.frame is not None and not problems:
        try:
            files = generated_files(reading, reading.frame)
            if reading.is_late and not is_look:
                raise Failure(_too_late(recipe))
            if not is_look:
                rewrite(os.getcwd(), files)
            result = unit_inputs(reading.frame)
            values = result if result.__class__ is dict else _of_declared(result)
        except Failure as failure:
            problems += failure.diagnostics
        except OSError as problem:
            detail = f"{problem.filename or os.getcwd()}: {problem.strerror or problem}."
            problems.append(error("terragrunt.working", "A file cannot be generated", detail))
    if problems:
        raise Failure(problems)
    return with_reading(recipe, reading), values


def _too_late(recipe: Recipe) -> Problems:
    problems = Problems()
    detail = (
        "A generated file, a hook or extra arguments depend on outputs of units whose changes must be applied first. "
        "Apply these units first; batch apply applies all units in the right order."
    )
    problems.append(error("terragrunt.late", "The unit cannot be planned yet", detail))
    return problems


def with_reading(recipe: Recipe, reading: UnitReading) -> Recipe:
    return evolve(
        recipe,
        hooks=tuple(reading.hooks),
        retries=tuple(reading.retries),
        environment=tuple(sorted(reading.environment.items())),
        arguments=tuple(reading.arguments),
        role=reading.role,
        refusals=diagnostics_json([*reading.problems, *reading.session.refusals]),
    )


def _of_declared(value: Value) -> dict[str, Value]:
    """{variable: value} with the same unknown value for each variable that the root module declares."""
    config, _ = load_root(".")
    return dict.fromkeys(config.root.variables, value) if config is not None else {}
