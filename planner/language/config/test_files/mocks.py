"""Reads `mock_provider` blocks and the overrides of test files."""

from __future__ import annotations

from collections.abc import Callable

from planner.foundation.vocabulary.address import (
    AddressError,
    ModuleAddress,
    ResourceAddress,
    address_of,
    valid_identifier,
)
from planner.foundation.vocabulary.span import Span
from planner.language.config.mocking import OVERRIDES, Mocking, Override, Values
from planner.language.config.model import ProviderDecl, Reference
from planner.language.config.provider_blocks import check_provider_name
from planner.language.config.reading import (
    BAD_NAME,
    Problems,
    constant,
    constant_string,
    expr_of,
    keyword,
    piece,
    read,
    reference,
    steps_of,
)
from planner.language.config.test_files.model import ModuleOverride
from planner.language.syntax.body import Attribute, Block, Body, BodySchema, ExpectedBlock

RESOURCE_OVERRIDES = tuple(OVERRIDES)
_MOCKS = {"mock_resource": "managed", "mock_data": "data", "mock_ephemeral": "ephemeral"}
_PROVIDER = BodySchema(
    dict.fromkeys(("alias", "for_each"), False),
    (*(ExpectedBlock(kind, ("type",)) for kind in _MOCKS), *map(ExpectedBlock, RESOURCE_OVERRIDES)),
)
_OWN_PROVIDER = BodySchema(
    {**_PROVIDER.attributes, **dict.fromkeys(("source", "override_during"), False)}, _PROVIDER.blocks
)
_SHARED = BodySchema({}, _PROVIDER.blocks)
Sources = Callable[[str, Span, Problems], "list[Body]"]  # reads the files with mocks in a directory
_DEFAULTS = BodySchema({"defaults": False})
_RESOURCE = BodySchema({"target": True, "values": False})
_DURING = {"override_during": False}
_MODULE = BodySchema({"target": True, "outputs": False})


def mock_provider_block(block: Block, problems: Problems, sources: Sources | None = None) -> ProviderDecl | None:
    """The declaration in a `mock_provider` block; None if it is invalid (reported). `sources` reads files with mocks,
    which supply values that the block does not set."""
    mine = Problems()
    schema = _PROVIDER if sources is None else _OWN_PROVIDER
    content = read(block.body, schema, mine)
    _, nothing = block.body.partial_content(schema)
    label = block.labels[0]
    name_span = Span(block.source, label.start, label.end)
    if not check_provider_name(label.value, block.header_span, mine):
        problems.extend(mine)
        return None
    alias = None
    if "alias" in content.attributes:
        alias = constant_string(content.attributes["alias"], mine)
        if alias is not None and not valid_identifier(alias):
            where = content.attributes["alias"].expr_span
            detail = f"An alias must be a valid name. {BAD_NAME}"
            mine.error("invalid_name", "Invalid mock provider configuration alias", detail, where)
    for_each = expr_of(content.attributes["for_each"], mine) if "for_each" in content.attributes else None
    if for_each is not None and not alias:
        detail = "The for_each argument is allowed only for provider configurations with an alias."
        mine.error("for_each_without_alias", 'Alias required when using "for_each"', detail, for_each.span)
    is_own = sources is not None
    known_late = _is_known_late(content.attributes.get("override_during"), False, mine)
    mocking = _mocking(content.blocks, block.header_span, mine, is_own, known_late)
    if "source" in content.attributes and sources is not None:
        directory = constant_string(content.attributes["source"], mine)
        for body in sources(directory, content.attributes["source"].span, mine) if directory is not None else ():
            mocking = mocking.with_shared(
                _mocking(read(body, _SHARED, mine).blocks, block.header_span, mine, is_own, known_late)
            )
    problems.extend(mine)
    if mine.has_errors:
        return None
    return ProviderDecl(label.value, alias, for_each, nothing, block.header_span, name_span, mocking=mocking)


def _mocking(
    blocks: tuple[Block, ...] | list[Block], header: Span, problems: Problems, is_own: bool, known_late: bool
) -> Mocking:
    defaults: dict[tuple[str, str], Values] = {}
    late: dict[str, bool] = {}
    overrides: list[Override] = []
    twice: list[tuple[str, str]] = []
    for inner in blocks:
        mine = Problems()
        if inner.type in _MOCKS:
            may_be_late = is_own and inner.type == "mock_resource"
            content = read(inner.body, _with_during(_DEFAULTS, may_be_late), mine)
            values = _object(content.attributes.get("defaults"), mine)
            key = _MOCKS[inner.type], inner.labels[0].value
            if "override_during" in content.attributes:
                late[key[1]] = _is_known_late(content.attributes["override_during"], known_late, mine)
            if not mine.has_errors and key in defaults:
                twice.append((inner.type, f"`{inner.type}.{key[1]}` is already defined in `mock_provider` block."))
            elif not mine.has_errors:
                defaults[key] = values
        else:
            override = resource_override(inner, mine, is_own, known_late)
            if override is not None and any(override.target == other.target for other in overrides):
                detail = f"`{inner.type}` with target `{override.target}` is already defined in `mock_provider` block."
                twice.append((inner.type, detail))
            elif override is not None:
                overrides.append(override)
        problems.extend(mine)
    for kind, detail in twice:
        problems.error("duplicate_mock", f"Duplicated `{kind}` block", detail, header)
    return Mocking(defaults, tuple(overrides), known_late, late)


def _with_during(schema: BodySchema, may_be_late: bool) -> BodySchema:
    return BodySchema({**schema.attributes, **_DURING}, schema.blocks) if may_be_late else schema


def _is_known_late(attribute: Attribute | None, usual: bool, problems: Problems) -> bool:
    if attribute is None:
        return usual
    word = keyword(piece(attribute))
    if word not in ("plan", "apply"):
        detail = 'The "override_during" argument requires one of the following keywords without quotes: plan or apply.'
        problems.error("invalid_override_during", 'Invalid "override_during" keyword', detail, attribute.expr_span)
    return word == "apply"


def resource_override(
    block: Block, problems: Problems, is_own: bool = False, known_late: bool = False
) -> Override | None:
    """The override in an `override_resource`, `override_data` or `override_ephemeral` block; None if it is invalid
    (reported). `is_own`: whether the file may use planner's extensions. `known_late`: the default of
    Override.known_late."""
    mine = Problems()
    may_be_late = block.type == "override_resource"
    content = read(block.body, _with_during(_RESOURCE, is_own and may_be_late), mine)
    late = may_be_late and _is_known_late(content.attributes.get("override_during"), known_late, mine)
    target = _target(content.attributes.get("target"), mine)
    address: ResourceAddress | None = None
    if target is not None:
        address = _resource(target, mine)
    values = _object(content.attributes.get("values"), mine)
    problems.extend(mine)
    if mine.has_errors or target is None or address is None:
        return None
    return Override(OVERRIDES[block.type], address, values, target.span, late)


def module_override(block: Block, problems: Problems) -> ModuleOverride | None:
    """The override in an `override_module` block; None if it is invalid (reported)."""
    mine = Problems()
    content = read(block.body, _MODULE, mine)
    target = _target(content.attributes.get("target"), mine)
    path: tuple[str, ...] | None = None
    if target is not None:
        path = _module(target, mine)
    outputs = _object(content.attributes.get("outputs"), mine)
    problems.extend(mine)
    if mine.has_errors or target is None or path is None:
        return None
    return ModuleOverride(path, target, outputs)


def _target(attribute: Attribute | None, problems: Problems) -> Reference | None:
    return reference(piece(attribute), problems) if attribute is not None else None


def _resource(target: Reference, problems: Problems) -> ResourceAddress | None:
    try:
        address = address_of(steps_of(target.node))
    except AddressError as bad:
        where = Span(target.source, bad.start, bad.end if bad.end > bad.start else target.node.end)
        problems.error("invalid_target", bad.summary, bad.detail, where)
        return None
    if not isinstance(address, ResourceAddress):
        detail = "A resource type and name must follow the module path."
        problems.error("invalid_target", "Invalid address", detail, target.span)
        return None
    if any(key is not None for _, key in address.module.steps):
        _no_module_keys(target, problems)
        return None
    if address.key is not None:
        detail = (
            'Resource address cannot be a resource instance (e.g. "null_resource.a[0]"), it must be a resource instead '
            '(e.g. "null_resource.a").'
        )
        title = "Resource instance address with keys is not allowed"
        problems.error("instance_target", title, detail, target.span)
        return None
    return address


def _module(target: Reference, problems: Problems) -> tuple[str, ...] | None:
    try:
        address = address_of(steps_of(target.node))
    except AddressError as bad:
        where = Span(target.source, bad.start, bad.end if bad.end > bad.start else target.node.end)
        problems.error("invalid_target", bad.summary, bad.detail, where)
        return None
    if not isinstance(address, ModuleAddress) or not address.steps:
        detail = "A module is expected here: module.NAME."
        problems.error("invalid_target", "Invalid module address", detail, target.span)
        return None
    if any(key is not None for _, key in address.steps):
        _no_module_keys(target, problems)
        return None
    return address.path


def _no_module_keys(target: Reference, problems: Problems) -> None:
    title = "Module instance address with keys is not allowed"
    detail = (
        'Module address cannot be a module instance (e.g. "module.a[0]"), it must be a module '
        'instead (e.g. "module.a").'
    )
    problems.error("instance_target", title, detail, target.span)


def _object(attribute: Attribute | None, problems: Problems) -> Values:
    """A constant object; {} if it is missing or invalid (reported)."""
    if attribute is None:
        return {}
    value = constant(piece(attribute), problems)
    if value is None:
        return {}
    if value.__class__ is not dict:
        detail = f"The attribute `{attribute.name}` must be an object."
        problems.error("object_expected", "Object expected", detail, attribute.span)
        return {}
    return dict(value)
