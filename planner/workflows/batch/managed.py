"""The objects that the units of a fleet manage, for searches that look for those that none of them has."""

from __future__ import annotations

import os

from planner.foundation.vocabulary.diagnostic import Diagnostic, error, has_errors
from planner.foundation.vocabulary.records import evolve
from planner.logic.facts.managed import KnownObject
from planner.workflows.batch.earlier_runs import state_request
from planner.workflows.batch.model import IDENTITIES, UnitResult
from planner.workflows.batch.session import Batch, BatchOptions
from planner.world.state.workspace import current_workspace


def managed_objects(folder: str, but: str) -> tuple[list[KnownObject], list[Diagnostic]]:
    """The objects of all units of a fleet, except those of the directory `but` and its workspace. Raises Failure."""
    batch = Batch(BatchOptions((folder,)), "plan")
    workspace, _, _ = current_workspace(but, os.environ)
    try:
        problems = list(batch.fleet.diagnostics)
        if has_errors(problems):
            return [], problems
        batch.survey()
        units = [
            name
            for name, unit in sorted(batch.fleet.units.items())
            if not _is_at(unit.directory(batch.fleet.root), but) or unit.workspace not in ("", workspace)
        ]
        results = batch.run_all([evolve(state_request(batch, unit), facts=(IDENTITIES,)) for unit in units])
    finally:
        batch.close()
    known: list[KnownObject] = []
    for result in results:
        problems += _problems(result)
        known += [KnownObject(*row) for row in result.facts.get(IDENTITIES, ())]
    return known, problems


def _is_at(directory: str, other: str) -> bool:
    return os.path.realpath(directory) == os.path.realpath(other)


def _problems(result: UnitResult) -> list[Diagnostic]:
    """Why the state of a unit is not known, which makes every answer about it wrong."""
    said = [d for d in result.diagnostics if d["severity"] == "error"]
    return [error("batch.state", f"{result.unit}: {d['summary']}", str(d["detail"])) for d in said]
