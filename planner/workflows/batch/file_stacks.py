"""Stacks that a fleet's file names: a `unit` block about one stands for each of its deployments."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Span
from planner.language.config.directory import is_module
from planner.language.config.reading import Problems
from planner.workflows.batch.model import Unit
from planner.workflows.batch.stack_folders import UNKNOWN, stack_folder, units_of

if TYPE_CHECKING:
    from planner.workflows.batch.stack_folders import StackFolder


def stack_of(root: str, folder: str) -> StackFolder | None:
    """The stack in a folder that a block names, if it is not a root module."""
    path = os.path.join(root, folder)
    return stack_folder(path) if os.path.isdir(path) and not is_module(path) else None


def deployed(unit: Unit, stack: StackFolder, span: Span, problems: Problems) -> list[Unit]:
    """The units of a stack that a block describes."""
    if unit.variables or unit.var_files or unit.workspace:
        refuse_values(unit.name, span, problems)
    found = units_of(unit.name, unit.folder, stack.deployments or (UNKNOWN,)).values()
    return [evolve(unit, name=one.name, called=one.called, deployment=one.deployment) for one in found]


def refuse_values(name: str, span: Span, problems: Problems) -> None:
    """Report that a block gives a stack what it cannot take."""
    detail = (
        f"{name} is a stack: its deployments get their inputs by its own files, from locals, stores and "
        "upstream_input. Leave variables, var_files, inputs and workspace out."
    )
    problems.error("stack_inputs", "A stack takes no values", detail, span)


def warn_of_group(name: str, span: Span, problems: Problems) -> None:
    """Report that a group has values for what takes none."""
    detail = f"{name} is a deployment of a stack, which takes no variables of groups: these are for the others."
    problems.warning("stack_inputs", "A stack takes no values", detail, span)
