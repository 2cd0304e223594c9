"""What modules tell providers about themselves: `provider_meta` blocks."""

from __future__ import annotations

from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.schemas import Schemas
from planner.foundation.values.value import Value, unmark_deep
from planner.foundation.vocabulary.diagnostic import Failure, error, has_errors
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.language.expressions.decode import decode_block


def provider_meta(schemas: Schemas, it: Instance) -> Value:
    """The value of the block for the instance's provider in its module, None when there is none. Raises Failure."""
    if it.module is None or not it.module.config.provider_metas:
        return None
    config = it.module.config
    source = parse_provider_configuration(it.configuration).source
    for name, body in config.provider_metas.items():
        if config.provider_source(name) != source:
            continue
        schema = schemas.schema(source).meta
        if schema is None:
            detail = f"The provider {source} of {it.address} wants to know nothing of modules: take the block out."
            summary = "Provider does not support provider_meta"
            raise Failure(error("plan.provider_meta", summary, detail, body.missing_span))
        value, problems = decode_block(body, schema, it.module.scope)
        if has_errors(problems):
            raise Failure(problems)
        return unmark_deep(value)[0]
    return None
