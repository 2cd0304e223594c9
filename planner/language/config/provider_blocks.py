"""Reads `provider` blocks, `required_providers`, and references to provider configurations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.types import DYNAMIC, STRING, Primitive
from planner.foundation.values.value import Value, type_of
from planner.foundation.vocabulary.address import valid_identifier
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Span
from planner.foundation.vocabulary.version_constraints import parse_constraints
from planner.language.config.merge import JoinedBody
from planner.language.config.model import Expr, ProviderDecl, ProviderRef, RequiredProvider
from planner.language.config.provisioners import duplicate_escape, reserved_block
from planner.language.config.reading import (
    BAD_NAME,
    ExpressionPiece,
    Problems,
    constant,
    constant_string,
    elements,
    expr_of,
    native,
    pairs,
    piece,
    read_some,
    reference,
    traversal_node,
    unquoted,
)
from planner.language.config.sources import SourceError, default_provider, parse_provider_source, provider_part
from planner.language.config.static import StaticScope
from planner.language.syntax import nodes
from planner.language.syntax.body import Attribute, Block, BodySchema, ExpectedBlock, variables

_RESERVED = ("count", "depends_on", "source")
_PROVIDER = BodySchema(
    dict.fromkeys(("alias", "version", "for_each", *_RESERVED), False),
    (ExpectedBlock("_"), ExpectedBlock("lifecycle"), ExpectedBlock("locals")),
)


def provider_block(block: Block, problems: Problems) -> ProviderDecl | None:
    """The provider configuration in a block; None if its name is invalid (reported)."""
    content, body = read_some(block.body, _PROVIDER, problems)
    attributes = content.attributes
    name = block.labels[0].value
    if not check_provider_name(name, block.header_span, problems):
        return None
    alias = None
    if "alias" in attributes:
        given = constant_string(attributes["alias"], problems)
        alias = given if isinstance(given, str) else None  # other values are reported twice, as in OpenTofu
        if given is None or (alias is not None and not valid_identifier(alias)):
            detail = f"An alias must be a valid name. {BAD_NAME}"
            problems.error("invalid_name", "Invalid provider configuration alias", detail)
    version = None
    if "version" in attributes:
        where = piece(attributes["version"]).span
        detail = "Move the version constraint of the provider to the required_providers block."
        title = "Version constraints inside provider configuration blocks are deprecated"
        problems.warning("version_in_provider", title, detail, where)
        version = version_constraint(attributes["version"], problems)
    for_each = expr_of(attributes["for_each"], problems) if "for_each" in attributes else None
    if for_each is not None and not alias:
        detail = (
            "for_each creates several configurations, and only a configuration with an alias can have several "
            "instances: add an alias."
        )
        problems.error("for_each_without_alias", 'Alias required when using "for_each"', detail, for_each.span)
    for reserved in _RESERVED:
        if reserved in attributes:
            detail = f"The argument {reserved} is reserved for later use."
            title = "Reserved argument name in provider block"
            problems.error("reserved_argument", title, detail, attributes[reserved].name_span)
    escape: Block | None = None
    for inner in content.blocks:
        if inner.type != "_":
            reserved_block(inner, "provider", problems)
        elif escape is not None:
            duplicate_escape(inner, escape, problems)
        else:
            escape = inner
            body = JoinedBody(body, inner.body)
    label = block.labels[0]
    name_span = Span(block.source, label.start, label.end)
    return ProviderDecl(name, alias or None, for_each, body, block.header_span, name_span, version)


def check_provider_name(name: str, span: Span, problems: Problems) -> bool:
    """Whether a local name is a valid provider name in normal form (reported if not)."""
    try:
        normal = provider_part(name)
    except SourceError as bad:
        problems.error("invalid_provider_name", "Invalid provider local name", f"{name!r}: {bad}", span)
        return False
    if normal != name:
        detail = f"Provider names are written in lower case: {normal} instead of {name}."
        problems.error("invalid_provider_name", "Invalid provider local name", detail, span)
        return False
    return True


def version_constraint(attribute: Attribute, problems: Problems) -> str | None:
    """The string of a constant version constraint; None if it is null or invalid (reported)."""
    value = constant(piece(attribute), problems)
    return None if value is None else constraint_text(value, attribute, problems)


def constraint_text(value: Value, attribute: Attribute, problems: Problems) -> str | None:
    """The string of a version constraint; None if the value is null, unknown or invalid (reported)."""
    where = piece(attribute).span
    try:
        value = convert(value, STRING)
    except ConversionError:
        detail = f"A string is required for {attribute.name}."
        problems.error("invalid_constraint", "Invalid version constraint", detail, where)
        return None
    if value.__class__ is not str:
        return None
    return str(value) if _is_constraint(str(value), where, problems) else None


def _is_constraint(text: str, where: Span, problems: Problems) -> bool:
    try:
        parse_constraints(text)
    except ValueError as bad:
        detail = f'{bad}. Constraints are written like "~> 1.2" or ">= 1.2.0, < 2.0.0".'
        problems.error("invalid_constraint", "Invalid version constraint", detail, where)
        return False
    return True


# ---------------------------------------------------------------- references to configurations


Outside = TypeVar("Outside")


def provider_entries(
    expr: ExpressionPiece,
    detail: str,
    outside: Callable[[ExpressionPiece, Problems], Outside | None],
    problems: Problems,
    has_quoted_names: bool = False,
) -> tuple[tuple[ProviderRef, Outside], ...]:
    """The entries of a `providers` argument: (name in the called module, configuration of the caller). `outside` reads
    the caller's configuration from the value of an entry. Invalid entries are reported and left out. `detail`: the
    message if the expression is not an object. `has_quoted_names`: whether quoted names are accepted without a
    warning."""
    entries = pairs(expr)
    if entries is None:
        problems.error("map_required", "Invalid expression", detail, expr.start_span)
        return ()
    passed: dict[str, tuple[ProviderRef, Outside]] = {}
    first: dict[str, Span] = {}
    for key, value, bare in entries:
        mine = Problems()
        if has_quoted_names and not bare and isinstance(key.node, nodes.Literal):
            key = evolve(key, json=True)
        inner, outer = provider_reference(key, "providers", mine, bare), outside(value, mine)
        problems.extend(mine)
        if inner is None or outer is None or mine.has_errors:
            continue
        if str(inner) in passed:
            message = f"{inner} is already passed at {first[str(inner)]}."
            problems.error("duplicate_provider", "Duplicate provider address", message, value.span)
            continue
        passed[str(inner)] = (inner, outer)
        first[str(inner)] = Span(key.source, key.node.start, value.node.end)
    return tuple(passed.values())


def provider_reference(
    expr: ExpressionPiece, argument: str, problems: Problems, bare: bool = False
) -> ProviderRef | None:
    """The provider configuration to which an expression refers: `name`, `name.alias`, `name.alias["key"]` or
    `name.alias[expression]`. Problems are reported; the result is then None, or the valid beginning of the reference.
    `bare`: whether the expression is a bare object key."""
    before = len(problems)
    written = native(expr, problems)
    if written is None:
        return None
    title = "Invalid provider configuration reference"
    key: Expr | None = None
    longest = 3
    node = written.node
    if isinstance(node, nodes.Index):
        key = Expr(node.key, written.source)
        node, longest = node.collection, 2
        written = ExpressionPiece(node, written.source)
    quoted = written.is_quoted and not bare
    if not bare:
        written = unquoted(written, problems)
    traversal = traversal_node(written, bare)
    steps = traversal.steps if isinstance(traversal, nodes.Traversal) else ()
    if traversal is None or 1 + len(steps) > longest:
        detail = (
            f"The argument {argument} takes a provider name, optionally followed by a dot and an alias, and then by a "
            "key in brackets."
        )
        if quoted:
            detail = "Write the reference to a provider configuration without quotes."
        problems.error("invalid_provider_reference", title, detail, written.span)
        return None
    name = traversal.name if isinstance(traversal, nodes.Variable) else traversal.root
    root_end = traversal.end if isinstance(traversal, nodes.Variable) else traversal.root_end
    name_span = Span(written.source, traversal.start, root_end)
    check_provider_name(name, name_span, problems)
    if Problems(problems[before:]).has_errors:
        return None
    alias: str | None = None
    detail = "Write the name of a provider, optionally followed by a dot and an alias."
    if steps:
        if not isinstance(steps[0], nodes.GetAttr):
            where = Span(written.source, steps[0].start, steps[0].end)
            problems.error("invalid_provider_reference", title, detail, where)
            return ProviderRef(name, None, key, name_span)
        alias = steps[0].name
    if len(steps) > 1:
        index = steps[1]
        if not isinstance(index, nodes.GetIndex):
            where = Span(written.source, index.start, index.end)
            problems.error("invalid_provider_reference", title, detail, where)
            return ProviderRef(name, alias, key, name_span)
        key = Expr(nodes.Literal(index.key, traversal.start, traversal.end), written.source)
    if key is not None and alias is None:
        where = Span(written.source, traversal.start, traversal.end)
        detail = "Only a configuration with an alias has instances: name.alias[key]."
        problems.error("invalid_provider_reference", title, detail, where)
    return ProviderRef(name, alias, key, name_span)


# ---------------------------------------------------------------- required_providers


def required_providers_block(block: Block, problems: Problems) -> dict[str, RequiredProvider]:
    attributes, diagnostics = block.body.just_attributes()
    problems.extend(diagnostics)
    mine = Problems(diagnostics)
    providers: dict[str, RequiredProvider] = {}
    if mine.has_errors:
        return providers
    for name, attribute in attributes.items():
        before = len(mine)
        entry = _required_provider(name, attribute, mine)
        problems.extend(mine[before:])
        if entry is not None:
            providers[name] = entry
    return providers


def _required_provider(name: str, attribute: Attribute, problems: Problems) -> RequiredProvider | None:
    expr = piece(attribute)
    entries = pairs(expr)
    if entries is None:
        return _version_only(name, attribute, problems)
    evaluated = pairs(_with_templates(attribute, problems)) or entries
    if not check_provider_name(name, expr.span, problems):
        return None
    source, version = None, None
    computed: dict[str, Expr] = {}
    aliases: list[ProviderRef] = []
    for (key, value, _), (_, meant, _) in zip(entries, evaluated, strict=True):
        word = constant(key, problems)
        if word is None:
            continue
        if word.__class__ is not str:
            problems.error("invalid_requirement", "Invalid Attribute", "Expected a name.", key.span)
            continue
        expression = _if_computed(meant) if word in ("source", "version") and not problems.has_errors else None
        if expression is not None:
            computed[word] = expression
        elif word == "version":
            version = _required_version(value, problems)
        elif word == "source":
            source = _required_source(value, problems) or source
        elif word == "configuration_aliases":
            aliases += _configuration_aliases(name, value, problems)
        else:
            detail = "An entry of required_providers has source, version and configuration_aliases."
            problems.error("invalid_requirement", "Invalid required_providers object", detail, key.span)
            break
    if problems.has_errors:
        return None
    return RequiredProvider(name, source or default_provider(name), version, tuple(aliases), expr.span, computed)


def _with_templates(attribute: Attribute, problems: Problems) -> ExpressionPiece:
    """The expression of an attribute. In JSON syntax, strings are read as templates."""
    written = expr_of(attribute, problems)
    return ExpressionPiece(written.node, written.source)


def _if_computed(expr: ExpressionPiece) -> Expr | None:
    """The expression if it has references, which Terraform 1.17 allows in provider requirements; otherwise None."""
    return Expr(expr.node, expr.source) if variables(expr.node) else None


def resolve_requirement(required: RequiredProvider, scope: StaticScope, problems: Problems) -> RequiredProvider:
    """Evaluate the source and the version. Invalid values are reported and ignored."""
    source, version = required.source, required.version
    for word, expr in required.computed.items():
        text = scope.text(expr, f"required_providers.{required.name}.{word}", problems)
        if text is None:
            continue
        if word == "source":
            source = _parsed_source(text, expr.span, problems) or source
        elif _is_constraint(text, expr.span, problems):
            version = text
    return evolve(required, computed={}, source=source, version=version)


def _version_only(name: str, attribute: Attribute, problems: Problems) -> RequiredProvider | None:
    expr = piece(attribute)
    expression = _if_computed(_with_templates(attribute, problems))
    if expression is not None and check_provider_name(name, expr.span, problems):
        return RequiredProvider(name, default_provider(name), None, (), expr.span, {"version": expression})
    quiet = Problems()
    value = constant(expr, quiet)
    if value is None or not _is_primitive(value):
        if check_provider_name(name, expr.span, problems):
            detail = "An entry of required_providers is an object with source and version."
            problems.error("invalid_requirement", "Invalid required_providers object", detail, expr.span)
        return None
    version = constraint_text(value, attribute, problems)
    try:
        type_ = provider_part(name)
    except SourceError as bad:
        problems.error("invalid_provider_name", "Invalid provider name", str(bad), expr.span)
        return None
    return RequiredProvider(name, default_provider(type_), version, (), expr.span)


def _is_primitive(value: Value) -> bool:
    kind = type_of(value)
    return isinstance(kind, Primitive) and kind is not DYNAMIC


def _required_version(expr: ExpressionPiece, problems: Problems) -> str | None:
    value = constant(expr, Problems())
    if value.__class__ is not str:
        detail = "A version constraint is a string."
        problems.error("invalid_constraint", "Invalid version constraint", detail, expr.span)
        return None
    return str(value) if _is_constraint(str(value), expr.span, problems) else None


def _required_source(expr: ExpressionPiece, problems: Problems) -> str | None:
    value = constant(expr, Problems())
    if value.__class__ is not str:
        problems.error("invalid_source", "Invalid source", "A provider source must be a string.", expr.span)
        return None
    return _parsed_source(str(value), expr.span, problems)


def _parsed_source(text: str, where: Span, problems: Problems) -> str | None:
    try:
        return parse_provider_source(text)
    except SourceError as bad:
        problems.error("invalid_source", "Invalid provider source string", str(bad), where)
        return None


def _configuration_aliases(name: str, expr: ExpressionPiece, problems: Problems) -> list[ProviderRef]:
    aliases: list[ProviderRef] = []
    title = "Invalid configuration_aliases value"
    for item in elements(expr, problems) or ():
        ref = reference(item, problems)
        if ref is None:
            continue
        steps = ref.node.steps if isinstance(ref.node, nodes.Traversal) else ()
        local = ref.node.name if isinstance(ref.node, nodes.Variable) else ref.node.root
        alias = steps[0].name if steps and isinstance(steps[0], nodes.GetAttr) else None
        if steps and alias is None:
            problems.error("invalid_alias", title, "An alias has the form provider.alias.", expr.span)
        elif local != name:
            detail = "Configuration aliases must be prefixed with the provider name. "
            detail += f'Expected "{name}", but found "{local}".'
            problems.error("invalid_alias", title, detail, expr.span)
        else:
            aliases.append(ProviderRef(local, alias, None, ref.span))
    return aliases
