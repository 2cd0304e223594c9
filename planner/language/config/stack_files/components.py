"""Reads the blocks of component files: components, child stacks, providers, variables, outputs, and removed blocks."""

from __future__ import annotations

from planner.foundation.vocabulary.address import valid_identifier
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Expr, ModuleCall, OutputDecl, ProviderRef, Reference, VariableDecl
from planner.language.config.named_values import label_span, output_block, variable_block
from planner.language.config.provider_blocks import (
    check_provider_name,
    provider_entries,
    version_constraint,
)
from planner.language.config.reading import (
    BAD_NAME,
    ExpressionPiece,
    Problems,
    constant_bool,
    constant_string,
    elements,
    expr_of,
    interpolated,
    named_by,
    native,
    piece,
    read,
    traversal_node,
)
from planner.language.config.sources import SourceError, parse_module_source, without_secrets
from planner.language.config.stack_files.model import (
    ComponentDecl,
    Kind,
    ProviderSource,
    RemovedComponent,
    StackProvider,
)
from planner.language.expressions.constraints import parse_type_constraint
from planner.language.syntax import nodes
from planner.language.syntax.body import Attribute, Block, Body, BodySchema, ExpectedBlock

_COMPONENT = BodySchema(
    {"source": True, **dict.fromkeys(("version", "inputs", "providers", "for_each", "depends_on"), False)}
)
_STACK = BodySchema({"source": True, **dict.fromkeys(("version", "inputs", "for_each", "depends_on"), False)})
_PROVIDER = BodySchema({"for_each": False}, (ExpectedBlock("config"),))
_REMOVED = BodySchema(
    {"from": True, "source": True, **dict.fromkeys(("version", "inputs", "providers", "for_each"), False)},
    (ExpectedBlock("lifecycle"),),
)
_LIFECYCLE = BodySchema({"destroy": False})
_VARIABLE = BodySchema(
    {"type": True, **dict.fromkeys(("default", "description", "sensitive", "nullable", "ephemeral"), False)}
)
_OUTPUT = BodySchema({"type": True, "value": True, **dict.fromkeys(("description", "sensitive", "ephemeral"), False)})


def component_block(block: Block, problems: Problems) -> ComponentDecl | None:
    """The declaration in a `component` or `stack` block; None if its source is missing or invalid (reported)."""
    kind: Kind = "component" if block.type == "component" else "stack"
    content = read(block.body, _COMPONENT if kind == "component" else _STACK, problems)
    attributes = content.attributes
    name = block.labels[0].value
    if not valid_identifier(name):
        problems.error("invalid_name", f"Invalid {kind} name", BAD_NAME, label_span(block, 0))
    call = module_call(name, attributes, block, problems)
    if call is None:
        return None
    return ComponentDecl(
        kind,
        name,
        call,
        *_arguments(attributes, problems),
        block.header_span,
        None,
        _dependencies(attributes["depends_on"], problems) if "depends_on" in attributes else (),
    )


def _arguments(
    attributes: dict[str, Attribute], problems: Problems
) -> tuple[Expr | None, tuple[tuple[ProviderRef, ProviderSource], ...], Expr | None]:
    return (
        expr_of(attributes["inputs"], problems) if "inputs" in attributes else None,
        _given_providers(piece(attributes["providers"]), problems) if "providers" in attributes else (),
        expr_of(attributes["for_each"], problems) if "for_each" in attributes else None,
    )


def _dependencies(attribute: Attribute, problems: Problems) -> tuple[Reference, ...]:
    return named_by(map(interpolated, elements(piece(attribute), problems) or ()), problems)


def module_call(name: str, attributes: dict[str, Attribute], block: Block, problems: Problems) -> ModuleCall | None:
    """A module call with the arguments `source` and `version` of a block; None if the source is missing or invalid
    (reported)."""
    if "source" not in attributes:
        return None
    where = attributes["source"].span
    text = constant_string(attributes["source"], problems)
    version = version_constraint(attributes["version"], problems) if "version" in attributes else None
    if text is None:
        return None
    try:
        source = parse_module_source(text, registry_only="version" in attributes)
    except SourceError as bad:
        shown = where if without_secrets(text) == text else block.header_span
        problems.error("invalid_source", "Invalid source address", str(bad), shown)
        return None
    return ModuleCall(
        name,
        source.text,
        version,
        None,
        None,
        None,
        (),
        (),
        {},
        block.header_span,
        block,
        where,
        source_kind=source.kind,
        written_source=text,
    )


# ---------------------------------------------------------------- providers


def _given_providers(expr: ExpressionPiece, problems: Problems) -> tuple[tuple[ProviderRef, ProviderSource], ...]:
    detail = "providers must be an object that maps names in the module to provider.TYPE.ALIAS."
    return provider_entries(expr, detail, provider_source, problems, has_quoted_names=True)


def provider_source(expr: ExpressionPiece, problems: Problems) -> ProviderSource | None:
    """The provider configuration in an expression `provider.TYPE.ALIAS` or `provider.TYPE.ALIAS[KEY]`; None for other
    expressions (reported)."""
    written = native(interpolated(expr), problems)
    if written is None:
        return None
    names, key = _split_key(written)
    if len(names) == 3 and names[0] == "provider":
        return ProviderSource(names[1], names[2], key, written.span)
    detail = "Write a provider configuration of a stack as provider.TYPE.ALIAS, with a key if it has for_each."
    problems.error("invalid_provider_reference", "Invalid provider configuration", detail, written.span)
    return None


def _split_key(written: ExpressionPiece) -> tuple[list[str], Expr | None]:
    """The names in `a.b.c[key]`, and the key (None if there is no key). For other expressions, the list is empty and
    the key is None."""
    node, key = written.node, None
    if isinstance(node, nodes.Index):
        key = Expr(node.key, written.source)
        node = node.collection
    traversal = traversal_node(ExpressionPiece(node, written.source))
    if not isinstance(traversal, nodes.Traversal):
        return [], None
    steps = traversal.steps
    if key is None and isinstance(steps[-1], nodes.GetIndex):
        key = Expr(nodes.Literal(steps[-1].key, steps[-1].start, steps[-1].end), written.source)
        steps = steps[:-1]
    names = [step.name for step in steps if isinstance(step, nodes.GetAttr)]
    return ([traversal.root, *names], key) if len(names) == len(steps) else ([], None)


def stack_provider(block: Block, problems: Problems) -> StackProvider | None:
    """The declaration in a `provider` block of a stack, which has two labels; None if its type is not a valid name
    (reported)."""
    content = read(block.body, _PROVIDER, problems)
    type_, alias = (label.value for label in block.labels)
    if not check_provider_name(type_, label_span(block, 0), problems):
        return None
    if not valid_identifier(alias):
        problems.error("invalid_name", "Invalid provider configuration name", BAD_NAME, label_span(block, 1))
    config: Body | None = None
    for inner in content.blocks:
        if config is not None:
            detail = "A provider has one config block, with all of its arguments."
            problems.error("duplicate_config", "Duplicate config block", detail, inner.header_span)
            continue
        config = inner.body
    for_each = content.attributes.get("for_each")
    return StackProvider(type_, alias, expr_of(for_each, problems) if for_each else None, config, block.header_span)


# ---------------------------------------------------------------- variables and outputs


def stack_variable(block: Block, problems: Problems) -> VariableDecl | None:
    """The declaration in a `variable` block of a stack: as in modules, but the type is required and validations are not
    allowed. None if it is invalid (reported)."""
    mine = Problems()
    read(block.body, _VARIABLE, mine)
    if not mine.has_errors:
        return variable_block(block, False, problems).value
    problems.extend(mine)
    return None


def stack_output(block: Block, problems: Problems) -> OutputDecl | None:
    """The declaration in an `output` block of a stack: as in modules, but the type is required and conditions are not
    allowed. None if it is invalid (reported)."""
    mine = Problems()
    attributes = read(block.body, _OUTPUT, mine).attributes
    problems.extend(mine)
    if mine.has_errors:
        return None
    _, rest = block.body.partial_content(BodySchema({"type": True}))
    plain = Block("output", block.type_end, block.labels, block.header_end, rest, block.source, block.start, block.end)
    declared = output_block(plain, False, problems).value
    written = native(piece(attributes["type"]), problems)
    if written is None:
        return declared
    constraint, diagnostics = parse_type_constraint(written.node, written.source)
    problems.extend(diagnostics)
    return evolve(declared, type=constraint)


# ---------------------------------------------------------------- removed


def removed_component(block: Block, problems: Problems) -> RemovedComponent | None:
    """The content of a removed block; None if it is invalid (reported)."""
    mine = Problems()
    content = read(block.body, _REMOVED, mine)
    attributes = content.attributes
    destroy = True
    for inner in content.blocks:
        result = read(inner.body, _LIFECYCLE, mine).attributes
        if "destroy" in result:
            destroy = constant_bool(result["destroy"], mine) is not False
    call = module_call("", attributes, block, mine)
    from_ = _removed_from(piece(attributes["from"]), mine) if "from" in attributes else None
    if from_ is not None and from_[2] is None and "for_each" in attributes:
        detail = (
            f"from = {from_[0]}.{from_[1]} means all of its instances. Add a key to select one instance: [each.key]."
        )
        mine.error("invalid_removed", 'Invalid "removed" block', detail, from_[3])
    problems.extend(mine)
    if from_ is None or call is None or mine.has_errors:
        return None
    kind, name, key, span = from_
    return RemovedComponent(
        kind,
        name,
        evolve(call, name=name),
        *_arguments(attributes, problems),
        block.header_span,
        None,
        key,
        destroy,
        span,
    )


def _removed_from(expr: ExpressionPiece, problems: Problems) -> tuple[Kind, str, Expr | None, Span] | None:
    written = native(interpolated(expr), problems)
    if written is None:
        return None
    names, key = _split_key(written)
    if len(names) == 2 and names[0] in ("component", "stack"):
        return "component" if names[0] == "component" else "stack", names[1], key, written.span
    detail = "from names the removed component.NAME or stack.NAME, with a key in brackets for one instance."
    problems.error("invalid_removed", 'Invalid "removed" block', detail, written.span)
    return None
