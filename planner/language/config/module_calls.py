"""Reads `module` blocks, and checks the arguments of module calls."""

from __future__ import annotations

from planner.foundation.vocabulary.address import valid_identifier
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.span import Span
from planner.language.config.merge import ExplicitDeclaration, JoinedBody, optional
from planner.language.config.model import Config, Expr, ModuleCall, ProviderRef, UnresolvedCall
from planner.language.config.named_values import label_span
from planner.language.config.provider_blocks import provider_entries, provider_reference
from planner.language.config.provisioners import duplicate_escape, reserved_block
from planner.language.config.reading import (
    BAD_NAME,
    ExpressionPiece,
    Problems,
    expr_of,
    piece,
    read,
    read_some,
    references,
)
from planner.language.config.resources import exclusive
from planner.language.syntax.body import Block, BodySchema, ExpectedBlock

_MODULE = BodySchema(
    {"source": True, **dict.fromkeys(("version", "count", "for_each", "depends_on", "providers"), False)},
    (ExpectedBlock("_"), ExpectedBlock("lifecycle"), ExpectedBlock("locals"), ExpectedBlock("provider", ("type",))),
)
_OVERRIDE = optional(_MODULE)
_LIFECYCLE = BodySchema({"enabled": False})


def module_block(block: Block, override: bool, problems: Problems) -> ExplicitDeclaration[UnresolvedCall]:
    """In override files, the source may be missing."""
    content, body = read_some(block.body, _OVERRIDE if override else _MODULE, problems)
    attributes = content.attributes
    name = block.labels[0].value
    if not valid_identifier(name):
        problems.error("invalid_name", "Invalid module instance name", BAD_NAME, label_span(block, 0))
    repetition: dict[str, Span] = {}
    repeated: dict[str, Expr | None] = {"count": None, "for_each": None, "enabled": None}
    for word in ("count", "for_each"):
        if word in attributes:
            repetition[word] = attributes[word].name_span
            repeated[word] = expr_of(attributes[word], problems)
    depends_on = references(attributes["depends_on"], problems) if "depends_on" in attributes else ()
    providers = passed_providers(piece(attributes["providers"]), problems) if "providers" in attributes else ()
    lifecycle: Block | None = None
    escape: Block | None = None
    for inner in content.blocks:
        if inner.type == "lifecycle":
            if lifecycle is not None:
                detail = f"There is already a lifecycle block at {lifecycle.header_span}."
                problems.error("duplicate_lifecycle", "Duplicate lifecycle block", detail, inner.header_span)
                continue
            lifecycle = inner
            lifecycle_content = read(inner.body, _LIFECYCLE, problems)
            if "enabled" in lifecycle_content.attributes:
                repetition["enabled"] = lifecycle_content.attributes["enabled"].name_span
                repeated["enabled"] = expr_of(lifecycle_content.attributes["enabled"], problems)
        elif inner.type == "_":
            if escape is not None:
                duplicate_escape(inner, escape, problems)
                continue
            escape = inner
            body = JoinedBody(body, inner.body)
        else:
            reserved_block(inner, "module", problems)
    exclusive(repetition, "module instances", problems)
    call = ModuleCall(
        name,
        "",
        None,
        repeated["count"],
        repeated["for_each"],
        repeated["enabled"],
        depends_on,
        providers,
        {},
        block.header_span,
        block,
    )
    unresolved = UnresolvedCall(call, body, attributes.get("source"), attributes.get("version"))
    given = set(attributes) | {"enabled"} & set(repetition)
    return ExplicitDeclaration(unresolved, frozenset(given))


def passed_providers(expr: ExpressionPiece, problems: Problems) -> tuple[tuple[ProviderRef, ProviderRef], ...]:
    """The entries of a `providers` argument: (name in the called module, configuration of the caller)."""
    detail = "providers is an object: names of the called module, each with a configuration of the calling module."
    return provider_entries(expr, detail, lambda value, mine: provider_reference(value, "providers", mine), problems)


# Checks of module arguments without evaluation. Evaluation checks the references in expressions (planner.engine.plan).
#
# References in expressions are checked during evaluation (planner.engine.plan), against these declarations.


def check_module_arguments(config: Config) -> list[Diagnostic]:
    """Errors for arguments of module blocks that the module does not declare, and for missing required arguments.
    Commands report them before they walk the configuration."""
    problems = Problems()
    for module in config.root.walk():
        for name in sorted(module.children):
            call = module.calls[name]
            variables = module.children[name].variables
            schema = BodySchema({v.name: v.default is None for v in variables.values()})
            if call.body is not None:
                problems.extend(call.body.content(schema).diagnostics)
    return problems
