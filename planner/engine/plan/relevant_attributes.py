"""Relevant attributes: which parts of which resources contributed to what a plan changes.

The rules of rules/plan/relevant.dl decide over what planner.logic.facts.relevance gathers.
"""

from __future__ import annotations

from collections.abc import Iterable

from planner.engine.evaluation.context import EvaluationContext
from planner.engine.evaluation.schemas import Schemas
from planner.foundation.values.schema import BlockSchema
from planner.foundation.values.value import is_null
from planner.language.config.model import Config, ModuleConfig, ResourceDecl
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.facts.relevance import BlockOf, Path, RelevanceFacts
from planner.logic.model.plan import OutputChange, ResourceChange
from planner.logic.programs.rule_programs import relevance_program


def relevant_attributes(
    config: Config,
    block_of: BlockOf,
    changes: Iterable[ResourceChange],
    outputs: Iterable[tuple[str, str]],
) -> tuple[tuple[str, Path], ...]:
    """(resource instance address, path of steps ("attr", name) and ("index", key)), sorted.

    `changes` may hold unchanged objects, which do not count; `outputs` are (module instance address, name) of the
    output values that change, those of child modules included."""
    facts = RelevanceFacts(config, block_of, changes, outputs)
    derived = evaluate(relevance_program(), facts.build(), ["relevant"])
    found = {facts.resources[place] for (place,) in derived["relevant"]}
    return tuple(sorted(found, key=lambda item: (item[0], [(kind, str(key)) for kind, key in item[1]])))


def changed_outputs(outputs: Iterable[OutputChange], context: EvaluationContext) -> list[tuple[str, str]]:
    """(module instance address, name) of the root outputs that change, and of all outputs of child modules."""
    changed = [("", name) for name in sorted(output.name for output in outputs if output.action != "no-op")]
    for module in context.all_instances():
        if module.text:
            changed += [(module.text, name) for name, value in sorted(module.outputs.items()) if not is_null(value)]
    return changed


def block_lookup(schemas: Schemas) -> BlockOf:
    """The schemas of declared resources."""

    def block_of(module: ModuleConfig, decl: ResourceDecl) -> BlockSchema | None:
        found = schemas.resource(module.provider_source(decl.provider_name), decl.mode, decl.type)
        return found.block if found else None

    return block_of
