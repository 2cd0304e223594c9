"""Reads `resource`, `data`, `ephemeral` and `list` blocks with their lifecycle."""

from __future__ import annotations

from typing import Any, Literal

from planner.foundation.vocabulary.address import valid_identifier
from planner.foundation.vocabulary.span import Span
from planner.language.config.merge import ExplicitDeclaration, JoinedBody
from planner.language.config.model import ActionTrigger, CheckRule, Expr, Lifecycle, Mode, Reference, ResourceDecl
from planner.language.config.named_values import check_rule, label_span, refuse_self_reference
from planner.language.config.provider_blocks import provider_reference
from planner.language.config.provisioners import duplicate_escape, only_self, provisioner_block, reserved_block
from planner.language.config.reading import (
    BAD_NAME,
    ExpressionPiece,
    Problems,
    constant_bool,
    elements,
    expr_of,
    keyword,
    native,
    piece,
    read,
    read_some,
    reference,
    references,
)
from planner.language.config.references import BadReference, parse_reference
from planner.language.syntax import nodes
from planner.language.syntax.body import Attribute, Block, Body, BodySchema, Content, ExpectedBlock, variables

_ATTRIBUTES = dict.fromkeys(("count", "for_each", "provider", "depends_on"), False)
_RESOURCE = BodySchema(
    _ATTRIBUTES,
    (
        ExpectedBlock("locals"),
        ExpectedBlock("lifecycle"),
        ExpectedBlock("connection"),
        ExpectedBlock("provisioner", ("type",)),
        ExpectedBlock("_"),
    ),
)
_DATA = BodySchema(_ATTRIBUTES, (ExpectedBlock("lifecycle"), ExpectedBlock("locals"), ExpectedBlock("_")))
_LIST = BodySchema(_ATTRIBUTES, ())
_LIFECYCLE_ATTRIBUTES = (
    "create_before_destroy",
    "prevent_destroy",
    "destroy",
    "ignore_changes",
    "replace_triggered_by",
    "enabled",
)
_LIFECYCLE = BodySchema(
    dict.fromkeys(_LIFECYCLE_ATTRIBUTES, False),
    (ExpectedBlock("precondition"), ExpectedBlock("postcondition"), ExpectedBlock("action_trigger")),
)
_TITLES = {
    "managed": ("Invalid resource type name", "Invalid resource name"),
    "data": ("Invalid data source name", "Invalid data resource name"),
    "ephemeral": ("Invalid ephemeral resource type name", "Invalid ephemeral resource name"),
    "list": ("Invalid list resource type name", "Invalid list resource name"),
}


class _Builder:
    """Collects the parts of a resource declaration while its block is read."""

    def __init__(self, block: Block, mode: Mode, override: bool, problems: Problems) -> None:
        self.block = block
        self.mode: Mode = mode
        self.override = override
        self.problems = problems
        self.type = block.labels[0].value
        self.name = block.labels[1].value
        self.repetition: dict[str, Span] = {}
        self.enabled: Expr | None = None
        self.preconditions: list[CheckRule] = []
        self.postconditions: list[CheckRule] = []
        self.triggers: list[ActionTrigger] = []
        self.given: set[str] = set()
        for i, title in enumerate(_TITLES[mode]):
            if not valid_identifier(block.labels[i].value):
                problems.error("invalid_name", title, BAD_NAME, label_span(block, i))

    @property
    def key(self) -> str:
        prefix = "" if self.mode == "managed" else f"{self.mode}."
        return f"{prefix}{self.type}.{self.name}"

    def repeated(self, name: str, attribute: Attribute | None) -> Expr | None:
        if attribute is None:
            return None
        self.repetition[name] = attribute.name_span
        self.given.add(name)
        return expr_of(attribute, self.problems)

    def check_repetition(self, what: str) -> None:
        exclusive(self.repetition, what, self.problems)

    def conditions(self, content: Content) -> None:
        for inner in content.blocks:
            if inner.type == "action_trigger":
                self.trigger(inner)
                continue
            rule = check_rule(inner, self.override, self.problems)
            if rule is None:
                continue
            refuse_self_reference(rule, inner.type, self.key, self.problems)
            (self.preconditions if inner.type == "precondition" else self.postconditions).append(rule)

    def trigger(self, block: Block) -> None:
        if self.mode != "managed":
            detail = "Actions are triggered by changes of managed resources only."
            self.problems.error("misplaced_trigger", "Invalid action_trigger block", detail, block.header_span)
            return
        from planner.language.config.actions import action_trigger

        made = action_trigger(block, self.problems)
        if made is not None:
            self.triggers.append(made)
            self.given.add("action_triggers")


def exclusive(spans: dict[str, Span], what: str, problems: Problems) -> None:
    """Report an error if more than one of count, enabled and for_each is set. The diagnostic covers the text from the
    first of these arguments to the last."""
    if len(spans) < 2:
        return
    ordered = sorted(spans.values(), key=lambda s: s.start)
    names = " and ".join(f'"{name}"' for name in ("count", "enabled", "for_each") if name in spans)
    whole = Span(ordered[0].source, ordered[0].start, ordered[-1].end)
    detail = f"Each of {names} sets the number of {what}; use only one of them."
    problems.error("exclusive_repetition", f"Invalid combination of {names}", detail, whole)


def resource_block(block: Block, override: bool, problems: Problems) -> ExplicitDeclaration[ResourceDecl]:
    build = _Builder(block, "managed", override, problems)
    content, body = read_some(block.body, _RESOURCE, problems)
    common = _meta_arguments(build, content)
    lifecycle_blocks, connections, escapes = _first_blocks(build, content)
    provisioners = [
        p for b in content.blocks if b.type == "provisioner" if (p := provisioner_block(b, problems)) is not None
    ]
    lifecycle = _managed_lifecycle(build, lifecycle_blocks[0]) if lifecycle_blocks else _NOTHING_SAID
    if escapes:
        body = JoinedBody(body, escapes[0].body)
    build.check_repetition("instances")
    connection = connections[0] if connections else None
    if connection is not None:
        build.given.add("connection")
        if any(p.when == "destroy" for p in provisioners):
            only_self(connection.body, problems)
    if provisioners:
        build.given.add("provisioners")
    return _declarations(
        build,
        common,
        lifecycle,
        body,
        provisioners=tuple(provisioners),
        connection=connection.body if connection else None,
        connection_span=connection.header_span if connection else None,
    )


def data_block(block: Block, override: bool, problems: Problems, check: str | None = None) -> ResourceDecl:
    """The data source in a block. `check`: the name of the check block that contains it, if any."""
    return declared_data(block, override, problems, check).value


def declared_data(
    block: Block, override: bool, problems: Problems, check: str | None = None
) -> ExplicitDeclaration[ResourceDecl]:
    build = _Builder(block, "data", override, problems)
    content, body = read_some(block.body, _DATA, problems)
    if check is not None:
        for name in ("count", "for_each"):
            if name in content.attributes:
                detail = f"A data source in a check block cannot have {name}."
                where = content.attributes.pop(name).name_span
                problems.error("nested_repetition", f'Invalid "{name}" attribute', detail, where)
    common = _meta_arguments(build, content)
    lifecycle_block: Block | None = None
    escape: Block | None = None
    for inner in content.blocks:
        if inner.type == "lifecycle":
            if check is not None:
                detail = "A data source in a check block cannot have a lifecycle block."
                problems.error("nested_lifecycle", "Invalid lifecycle block", detail, inner.header_span)
            if lifecycle_block is not None:
                _duplicate("lifecycle", inner, lifecycle_block, problems)
                continue
            lifecycle_block = inner
            _data_lifecycle(build, inner)
        elif inner.type == "_":
            if escape is not None:
                duplicate_escape(inner, escape, problems)
                continue
            escape = inner
            body = JoinedBody(body, inner.body)
        else:
            reserved_block(inner, "data", problems)
    build.check_repetition("data sources")
    lifecycle = Lifecycle(
        preconditions=tuple(build.preconditions),
        postconditions=tuple(build.postconditions),
        span=lifecycle_block.header_span if lifecycle_block else None,
    )
    return _declarations(build, common, lifecycle, body, check=check)


def ephemeral_block(block: Block, override: bool, problems: Problems) -> ExplicitDeclaration[ResourceDecl]:
    build = _Builder(block, "ephemeral", override, problems)
    content, body = read_some(block.body, _RESOURCE, problems)
    common = _meta_arguments(build, content)
    for inner in content.blocks:
        if inner.type in ("connection", "provisioner"):
            detail = f"An ephemeral resource cannot have {inner.type} blocks."
            title = "Invalid configuration block for ephemeral resource"
            problems.error("ephemeral_block", title, detail, inner.header_span)
    lifecycle_blocks, _, escapes = _first_blocks(build, content, report_connections=False)
    if lifecycle_blocks:
        inner = lifecycle_blocks[0]
        lifecycle_content = read(inner.body, _LIFECYCLE, problems)
        for name in ("create_before_destroy", "destroy", "prevent_destroy", "replace_triggered_by", "ignore_changes"):
            if name in lifecycle_content.attributes:
                detail = f"An ephemeral resource cannot have {name}."
                title = "Invalid lifecycle configuration for ephemeral resource"
                problems.error("ephemeral_lifecycle", title, detail, inner.header_span)
        build.enabled = build.repeated("enabled", lifecycle_content.attributes.get("enabled"))
        build.conditions(lifecycle_content)
    if escapes:
        body = JoinedBody(body, escapes[0].body)
    build.check_repetition("ephemeral resources")
    lifecycle = Lifecycle(
        preconditions=tuple(build.preconditions),
        postconditions=tuple(build.postconditions),
        span=lifecycle_blocks[0].header_span if lifecycle_blocks else None,
    )
    return _declarations(build, common, lifecycle, body)


def list_block(block: Block, problems: Problems) -> ExplicitDeclaration[ResourceDecl]:
    """The declaration in a `list` block, which searches for objects of a managed type. The provider's schema decodes
    its block `config`."""
    build = _Builder(block, "list", False, problems)
    content, body = read_some(block.body, _LIST, problems)
    common = _meta_arguments(build, content)
    if "provider" not in content.attributes:
        detail = f'{build.key} needs the argument "provider", which names the provider configuration to search with.'
        problems.error("list_provider", "Missing provider of a list block", detail, block.header_span)
    for other in common["depends_on"]:
        target = parse_reference(other.node)
        if isinstance(target, BadReference) or target.mode != "list":
            detail = f"{build.key} can only depend on other list blocks, such as list.{build.type}.other."
            problems.error("list_depends_on", "Invalid depends_on reference", detail, other.span)
    build.check_repetition("searches")
    return _declarations(build, common, _NOTHING_SAID, body)


_NOTHING_SAID = Lifecycle()
_GIVEN: dict[frozenset[str], frozenset[str]] = {}
"""shared sets of argument names, because many resources set the same arguments"""


def _declarations(
    build: _Builder, common: dict[str, Any], lifecycle: Lifecycle, body: Body, **more: Any
) -> ExplicitDeclaration[ResourceDecl]:
    fields: dict[str, Any] = {"provisioners": (), "connection": None, **more}
    resource = ResourceDecl(
        mode=build.mode,
        type=build.type,
        name=build.name,
        enabled=build.enabled,
        lifecycle=lifecycle,
        body=body,
        span=build.block.header_span,
        block=build.block,
        type_span=label_span(build.block, 0),
        **common,
        **fields,
    )
    given = frozenset(build.given)
    return ExplicitDeclaration(resource, _GIVEN.setdefault(given, given))


def _meta_arguments(build: _Builder, content: Content) -> dict[str, Any]:
    attributes, problems = content.attributes, build.problems
    count = build.repeated("count", attributes.get("count"))
    for_each = build.repeated("for_each", attributes.get("for_each"))
    provider = None
    if "provider" in attributes:
        provider = provider_reference(piece(attributes["provider"]), "provider", problems)
        if provider is not None:
            build.given.add("provider")
    depends_on: tuple[Reference, ...] = ()
    if "depends_on" in attributes:
        depends_on = references(attributes["depends_on"], problems)
    return {"provider": provider, "count": count, "for_each": for_each, "depends_on": depends_on}


def _first_blocks(
    build: _Builder, content: Content, report_connections: bool = True
) -> tuple[list[Block], list[Block], list[Block]]:
    """The first `lifecycle`, `connection` and `_` (escape) block, each as a list with at most one item. Further blocks
    of a kind, and reserved blocks, are reported. Provisioners are skipped, and so are connections unless
    `report_connections` is set."""
    kept: dict[str, list[Block]] = {"lifecycle": [], "connection": [], "_": []}
    for inner in content.blocks:
        if inner.type == "provisioner" or (inner.type == "connection" and not report_connections):
            continue
        if inner.type not in kept:
            reserved_block(inner, "resource" if build.mode == "managed" else build.mode, build.problems)
        elif not kept[inner.type]:
            kept[inner.type].append(inner)
        elif inner.type == "_":
            duplicate_escape(inner, kept["_"][0], build.problems)
        else:
            _duplicate(inner.type, inner, kept[inner.type][0], build.problems)
    return kept["lifecycle"], kept["connection"], kept["_"]


def _duplicate(kind: str, block: Block, first: Block, problems: Problems) -> None:
    detail = f"There is already a {kind} block at {first.header_span}."
    problems.error(f"duplicate_{kind}", f"Duplicate {kind} block", detail, block.header_span)


# ---------------------------------------------------------------- lifecycle


def _data_lifecycle(build: _Builder, block: Block) -> None:
    content = read(block.body, _LIFECYCLE, build.problems)
    for name, attribute in content.attributes.items():
        if name == "enabled":
            build.enabled = build.repeated("enabled", attribute)
            continue
        detail = f"{name} applies only to managed resources."
        title = "Invalid data resource lifecycle argument"
        build.problems.error("data_lifecycle", title, detail, attribute.name_span)
    build.conditions(content)


def _managed_lifecycle(build: _Builder, block: Block) -> Lifecycle:
    problems = build.problems
    content = read(block.body, _LIFECYCLE, problems)
    attributes = content.attributes
    build.given.update(attributes)
    before_destroy = before_destroy_span = None
    if "create_before_destroy" in attributes:
        attribute = attributes["create_before_destroy"]
        before_destroy = bool(constant_bool(attribute, problems))
        before_destroy_span = Span(attribute.source, attribute.start, attribute.end)
    build.enabled = build.repeated("enabled", attributes.get("enabled"))
    prevent = expr_of(attributes["prevent_destroy"], problems) if "prevent_destroy" in attributes else None
    destroy = expr_of(attributes["destroy"], problems) if "destroy" in attributes else None
    triggers: tuple[Expr, ...] = ()
    if "replace_triggered_by" in attributes:
        triggers = _replace_triggers(piece(attributes["replace_triggered_by"]), problems)
    ignored: Literal["all"] | tuple[Reference, ...] = ()
    if "ignore_changes" in attributes:
        ignored = _ignored_references(piece(attributes["ignore_changes"]), problems)
    build.conditions(content)
    return Lifecycle(
        before_destroy,
        prevent,
        destroy,
        ignored,
        triggers,
        tuple(build.preconditions),
        tuple(build.postconditions),
        block.header_span,
        before_destroy_span,
        tuple(build.triggers),
    )


def _ignored_references(expr: ExpressionPiece, problems: Problems) -> Literal["all"] | tuple[Reference, ...]:
    if keyword(expr) == "all":
        return "all"
    references: list[Reference] = []
    star: Span | None = None
    for item in elements(expr, problems) or ():
        if isinstance(item.node, nodes.Literal) and item.node.value == "*":
            star = item.span
            detail = 'Write ignore_changes = all, without brackets and quotes, instead of ["*"].'
            problems.error("ignore_star", "Invalid ignore_changes wildcard", detail, expr.span)
            continue
        ref = reference(item, problems, unquote=True)
        if ref is not None:
            references.append(ref)
    if star is not None and references:
        detail = "Either ignore all changes, or list the attributes to ignore."
        title = "Invalid ignore_changes ruleset"
        problems.error("ignore_star_and_more", title, detail, star, context=expr.span)
    return "all" if star is not None else tuple(references)


def _replace_triggers(expr: ExpressionPiece, problems: Problems) -> tuple[Expr, ...]:
    """The expressions in replace_triggered_by. Reports each expression that does not refer to exactly one resource.
    References to count.index and each.key are also allowed; all others are reported."""
    triggers = []
    failed = False  # in JSON syntax, elements after an invalid one are not checked
    for item in elements(expr, problems) or ():
        if item.json:
            if failed:
                continue
            converted = native(item, problems)
            if converted is None:
                failed = True
                continue
            item = converted
        triggers.append(Expr(item.node, item.source))
        _check_trigger(item, problems)
    return tuple(triggers)


def _check_trigger(item: ExpressionPiece, problems: Problems) -> None:
    def report(summary: str, detail: str) -> None:
        problems.error("invalid_trigger", summary, detail, item.span)

    refs = [parse_reference(node) for node in variables(item.node)]
    bad = [ref for ref in refs if isinstance(ref, BadReference)]
    for wrong in bad:
        report(wrong.summary, wrong.detail)
    if bad:
        return
    what = "replace_triggered_by must name a resource or one of its attributes, with the key count.index or each.key."
    allowed: dict[str, str] = {"each": "key", "count": "index"}
    for ref in refs:
        if ref.kind in allowed and ref.name != allowed[ref.kind]:
            report(f"Invalid {ref.kind} reference in replace_triggered_by expression", what)
        elif ref.kind not in allowed and ref.kind != "resource":
            report("Invalid reference in replace_triggered_by expression", what)
    count = sum(ref.kind == "resource" for ref in refs)
    if count == 0:
        report("Invalid replace_triggered_by expression", f"No resource is named. {what}")
    elif count > 1:
        report("Invalid replace_triggered_by expression", f"More than one resource is named. {what}")
