"""Reads the blocks of deployment files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from planner.foundation.vocabulary.address import valid_identifier
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Expr
from planner.language.config.named_values import label_span, locals_block
from planner.language.config.reading import (
    BAD_NAME,
    ExpressionPiece,
    Problems,
    constant_string,
    elements,
    expr_of,
    interpolated,
    native,
    piece,
    read,
    traversal_node,
)
from planner.language.config.stack_files.model import (
    ApprovalCheck,
    ApprovalRule,
    Deployment,
    DeploymentGroup,
    Deployments,
    IdentityToken,
    PublishedOutput,
    UpstreamInput,
    ValueStore,
)
from planner.language.syntax import nodes
from planner.language.syntax.body import Attribute, Block, Body, BodySchema, ExpectedBlock

FILE = BodySchema(
    {},
    (
        *(ExpectedBlock(kind, ("name",)) for kind in ("deployment", "deployment_group", "deployment_auto_approve")),
        *(ExpectedBlock(kind, ("name",)) for kind in ("identity_token", "publish_output", "upstream_input")),
        ExpectedBlock("store", ("type", "name")),
        ExpectedBlock("orchestrate", ("type", "name")),
        ExpectedBlock("locals"),
    ),
)
_DEPLOYMENT = BodySchema(dict.fromkeys(("inputs", "variables", "deployment_group", "destroy", "import"), False))
_GROUP = BodySchema({"auto_approve_checks": False})
_RULE = BodySchema({}, (ExpectedBlock("check"),))
_CHECK = BodySchema({"condition": True, "reason": False})
_TOKEN = BodySchema({"audience": True})
_PUBLISHED = BodySchema({"value": True, "description": False})
_UPSTREAM = BodySchema({"type": True, "source": True})
_STORE = BodySchema(dict.fromkeys(("id", "name", "category"), False))
STORES = ("varset",)
CATEGORIES = ("terraform", "env")


class DeploymentFiles:
    """Collects the declarations of deployment files. Duplicates are reported."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Any]] = {
            kind: {} for kind in ("deployment", "group", "rule", "token", "store", "published", "upstream", "local")
        }
        self.orchestrations: list[ApprovalRule] = []

    def add(self, body: Body, problems: Problems) -> None:
        for block in read(body, FILE, problems).blocks:
            if block.type == "locals":
                for local in locals_block(block, problems):
                    self._put("local", local.name, local, local.span, "local value", problems)
            elif block.type == "orchestrate":
                self._orchestrate(block, problems)
            else:
                kind, make, called = _BLOCKS[block.type]
                name = block.labels[-1].value
                if not valid_identifier(name):
                    where = label_span(block, len(block.labels) - 1)
                    problems.error("invalid_name", f"Invalid {called} name", BAD_NAME, where)
                made = make(block, problems)
                if made is not None:
                    key = ".".join(label.value for label in block.labels)
                    self._put(kind, key, made, block.header_span, called, problems)

    def _put(self, kind: str, name: str, made: Any, span: Span, called: str, problems: Problems) -> None:
        first = self.found[kind].setdefault(name, made)
        if first is not made:
            detail = f'There is already a {called} "{name}" at {first.span.place}.'
            problems.error("duplicate", f"Duplicate {called}", detail, span)

    def _orchestrate(self, block: Block, problems: Problems) -> None:
        type_ = block.labels[0].value
        kinds: dict[str, Literal["auto_approve", "replan"]] = {"auto_approve": "auto_approve", "replan": "replan"}
        if type_ not in kinds:
            detail = f'The type must be "auto_approve" or "replan", not "{type_}".'
            problems.error("orchestration", "Unknown orchestration type", detail, label_span(block, 0))
            return
        detail = (
            "Write a deployment_auto_approve block, and name it in auto_approve_checks of a deployment_group. Until "
            "then, the orchestrate block applies to every deployment."
        )
        problems.warning("old_orchestrate", "orchestrate blocks are deprecated", detail, block.header_span)
        rule = _rule(block, problems, kinds[type_])
        if rule is not None:
            self.orchestrations.append(rule)

    def result(self) -> Deployments:
        result = self.found
        return Deployments(
            result["deployment"],
            result["group"],
            result["rule"],
            tuple(self.orchestrations),
            result["token"],
            result["store"],
            result["published"],
            result["upstream"],
            result["local"],
        )


def _optional(attributes: dict[str, Attribute], name: str, problems: Problems) -> Expr | None:
    return expr_of(attributes[name], problems) if name in attributes else None


def _deployment(block: Block, problems: Problems) -> Deployment:
    attributes = read(block.body, _DEPLOYMENT, problems).attributes
    if "variables" in attributes:
        where = attributes["variables"].name_span
        problems.warning("old_variables", "Deprecated argument", "This argument is now called inputs.", where)
        if "inputs" in attributes:
            problems.error(
                "duplicate", "Inputs given twice", "Remove variables, which is the former name of inputs.", where
            )
        attributes = {"inputs": attributes["variables"], **attributes}
    group: tuple[str, Span] | None = None
    if "deployment_group" in attributes:
        group = _referenced_name(piece(attributes["deployment_group"]), "deployment_group", problems)
    return Deployment(
        block.labels[0].value,
        _optional(attributes, "inputs", problems),
        group[0] if group else None,
        group[1] if group else None,
        _optional(attributes, "destroy", problems),
        _optional(attributes, "import", problems),
        block.header_span,
    )


def _referenced_name(expr: ExpressionPiece, root: str, problems: Problems) -> tuple[str, Span] | None:
    """(NAME, span) of a reference `ROOT.NAME`, or of a string that contains `NAME` or `ROOT.NAME`; None for other
    expressions (reported)."""
    if isinstance(expr.node, nodes.Literal) and expr.node.value.__class__ is str:
        text = interpolated(expr).node
        assert isinstance(text, nodes.Literal)
        return text.value.strip().removeprefix(f"{root}."), expr.span
    written = native(expr, problems)
    node = traversal_node(written) if written is not None else None
    if isinstance(node, nodes.Traversal) and node.root == root and len(node.steps) == 1:
        (step,) = node.steps
        if isinstance(step, nodes.GetAttr):
            return step.name, expr.span
    if written is not None:
        problems.error("reference_required", "Invalid reference", f"Write {root}.NAME here.", expr.span)
    return None


def _group(block: Block, problems: Problems) -> DeploymentGroup:
    attributes = read(block.body, _GROUP, problems).attributes
    checks: list[tuple[str, Span]] = []
    if "auto_approve_checks" in attributes:
        for item in elements(piece(attributes["auto_approve_checks"]), problems) or ():
            named = _referenced_name(item, "deployment_auto_approve", problems)
            checks += [] if named is None else [named]
    return DeploymentGroup(block.labels[0].value, tuple(checks), block.header_span)


def _rule(
    block: Block, problems: Problems, orchestrates: Literal["", "auto_approve", "replan"] = ""
) -> ApprovalRule | None:
    checks = []
    blocks = read(block.body, _RULE, problems).blocks
    for inner in blocks:
        attributes = read(inner.body, _CHECK, problems).attributes
        if "condition" in attributes:
            condition, reason = expr_of(attributes["condition"], problems), _optional(attributes, "reason", problems)
            checks.append(ApprovalCheck(condition, reason, inner.header_span))
    if not blocks:
        detail = "Without a check, this block would approve everything: add a check block with a condition."
        problems.error("rule_without_check", "No check", detail, block.header_span)
    return ApprovalRule(block.labels[-1].value, tuple(checks), block.header_span, orchestrates) if checks else None


def _token(block: Block, problems: Problems) -> IdentityToken:
    attributes = read(block.body, _TOKEN, problems).attributes
    return IdentityToken(block.labels[0].value, _optional(attributes, "audience", problems), block.header_span)


def _store(block: Block, problems: Problems) -> ValueStore | None:
    attributes = read(block.body, _STORE, problems).attributes
    type_, name = (label.value for label in block.labels)
    if type_ not in STORES:
        detail = f'The kind must be "varset", not "{type_}".'
        problems.error("store_type", "Unknown store type", detail, label_span(block, 0))
        return None
    if ("id" in attributes) == ("name" in attributes):
        detail = "Name a variable set either by id or by name."
        problems.error("store_name", "Invalid store", detail, block.header_span)
    if "category" not in attributes:
        detail = 'Set category to the kind of variables to use: "terraform" or "env".'
        problems.error("store_category", "Invalid store", detail, block.header_span)
    else:
        category = constant_string(attributes["category"], problems)
        if category is not None and category not in CATEGORIES:
            where = attributes["category"].expr_span
            problems.error("store_category", "Invalid store", 'The category must be "terraform" or "env".', where)
    settings = {key: expr_of(attribute, problems) for key, attribute in attributes.items()}
    return ValueStore(type_, name, settings, block.header_span)


def _published_output(block: Block, problems: Problems) -> PublishedOutput | None:
    attributes = read(block.body, _PUBLISHED, problems).attributes
    description = ""
    if "description" in attributes:
        description = constant_string(attributes["description"], problems) or ""
    if "value" not in attributes:
        return None
    value = expr_of(attributes["value"], problems)
    return PublishedOutput(block.labels[0].value, value, description, block.header_span)


def _upstream(block: Block, problems: Problems) -> UpstreamInput | None:
    attributes = read(block.body, _UPSTREAM, problems).attributes
    type_ = constant_string(attributes["type"], problems) if "type" in attributes else None
    if type_ is not None and type_ != "stack":
        detail = f'The upstream must be a "stack", not "{type_}".'
        problems.error("upstream_type", "Unknown upstream type", detail, attributes["type"].expr_span)
    source = constant_string(attributes["source"], problems) if "source" in attributes else None
    if source is None:
        return None
    return UpstreamInput(block.labels[0].value, source, block.header_span, attributes["source"].expr_span)


_BLOCKS: dict[str, tuple[str, Callable[[Block, Problems], Any], str]] = {
    "deployment": ("deployment", _deployment, "deployment"),
    "deployment_group": ("group", _group, "deployment group"),
    "deployment_auto_approve": ("rule", _rule, "auto-approval rule"),
    "identity_token": ("token", _token, "identity token"),
    "store": ("store", _store, "store"),
    "publish_output": ("published", _published_output, "published output"),
    "upstream_input": ("upstream", _upstream, "upstream input"),
}
