"""Evaluates and checks the configuration of list blocks, which search for existing objects."""

from __future__ import annotations

from planner.engine.evaluation.provider_diagnostics import in_body, place
from planner.foundation.values.schema import empty_value
from planner.foundation.values.value import Null, Unknown, Value
from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.records import evolve
from planner.language.config.model import ResourceDecl
from planner.world.provider.interface import Provider, ResourceSchema

MAX_RESULTS = 100  # the maximum number of results of a search without a limit


MOST = 2**63 - 1  # the largest limit that the protocol can represent


def list_configuration(search: Value, schema: ResourceSchema) -> Value:
    """The value of a list block's `config` block; all attributes are null if the block is missing."""
    config = search["config"]
    return empty_value(schema.block.blocks["config"].block) if config.__class__ is Null else config


def search_problems(
    provider: Provider, decl: ResourceDecl, config: Value, search: Value, address: str
) -> list[Diagnostic]:
    """The problems of a list block. `search` is the value of the block, which may have unknown parts."""
    limit, include = search["limit"], search["include_resource"]
    if limit.__class__ not in (Null, Unknown) and (limit.__class__ is not int or not 0 < limit <= MOST):
        detail = f"A limit must be a whole number from 1 to {MOST}."
        return [
            error("plan.list_limit", "Invalid limit", detail, place(decl.body, (("attr", "limit"),)), address=address)
        ]
    problems = provider.validate_list(
        decl.type,
        config,
        False if include.__class__ is Null else include,
        MAX_RESULTS if limit.__class__ is Null else limit,
    )
    return in_body([evolve(d, path=in_config(d.path)) for d in problems], decl.body, address)


def in_config(path: tuple[object, ...] | None) -> tuple[object, ...] | None:
    """The path in a list block that corresponds to a path in its nested block `config`; None if `path` is None."""
    return None if path is None else (("attr", "config"), *path)
