"""Opening ephemeral resources while applying."""

from __future__ import annotations

from planner.engine.apply.shared_work import ApplyWork
from planner.engine.evaluation.body_rules import path_name
from planner.engine.evaluation.data import data_configuration
from planner.engine.evaluation.ephemeral import open_resource, opened
from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.schema_marks import marked_by_schema
from planner.foundation.values.paths import unknown_paths
from planner.foundation.values.value import is_wholly_known
from planner.foundation.vocabulary.diagnostic import Diagnostic, error, has_errors


def apply_ephemeral(walk: ApplyWork, it: Instance) -> list[Diagnostic]:
    """Open an ephemeral resource. Raises Failure."""
    assert it.decl is not None
    problems = walk.conditions(it, "precondition")
    if has_errors(problems):
        return problems
    config = data_configuration(it, problems)
    if not is_wholly_known(config):
        where = ", ".join(sorted({path_name(path) for path in unknown_paths(config)}))
        detail = f"These arguments of {it.address} are still unknown: {where}."
        summary = "Incomplete configuration for ephemeral resource"
        return [*problems, error("apply.unknown_configuration", summary, detail, it.decl.span, address=it.address)]
    given, found = open_resource(walk, it, config)
    problems += found
    if given is None:
        return problems
    return problems + opened(walk, it, marked_by_schema(given, it.schema.block))
