"""Reads `variable`, `locals` and `output` blocks, and condition blocks."""

from __future__ import annotations

from planner.foundation.values.convert import ConversionError
from planner.foundation.values.types import DYNAMIC, ListType, MapType, Primitive, has_dynamic
from planner.foundation.values.value import NULL, UNKNOWN, Value, is_null
from planner.foundation.vocabulary.address import valid_identifier
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Span
from planner.language.config.merge import ExplicitDeclaration
from planner.language.config.model import CheckRule, Expr, LocalDecl, OutputDecl, VariableDecl
from planner.language.config.reading import (
    BAD_NAME,
    ExpressionPiece,
    Problems,
    constant,
    constant_bool,
    constant_string,
    expr_of,
    keyword,
    lint_discarded,
    native,
    piece,
    read,
    references,
)
from planner.language.config.references import parse_reference
from planner.language.expressions.constraints import TypeConstraint, parse_type_constraint
from planner.language.syntax import nodes
from planner.language.syntax.body import Attribute, Block, BodySchema, ExpectedBlock, variables

_VARIABLE = BodySchema(
    dict.fromkeys(
        ("description", "default", "type", "sensitive", "ephemeral", "const", "deprecated", "nullable"), False
    ),
    (ExpectedBlock("validation"),),
)
_OUTPUT_ATTRIBUTES = ("description", "depends_on", "sensitive", "ephemeral", "deprecated", "type")
_OUTPUT = BodySchema(
    {**dict.fromkeys(_OUTPUT_ATTRIBUTES, False), "value": True},
    (ExpectedBlock("precondition"), ExpectedBlock("postcondition")),
)
_OUTPUT_OVERRIDE = BodySchema(dict.fromkeys(_OUTPUT.attributes, False), _OUTPUT.blocks)

MODULE_ARGUMENTS = ("source", "version", "count", "for_each", "depends_on", "providers")
MODULE_BLOCKS = ("_", "lifecycle", "locals", "provider")
"""the types of blocks that are reserved inside module blocks. Like MODULE_ARGUMENTS, they are not allowed as names of
variables"""

ANY = TypeConstraint(DYNAMIC)


def label_span(block: Block, index: int) -> Span:
    label = block.labels[index]
    return Span(block.source, label.start, label.end)


def variable_block(block: Block, override: bool, problems: Problems) -> ExplicitDeclaration[VariableDecl]:
    """The declaration in a `variable` block. The default is converted to the variable's type. In an override file, a
    default without a type is converted after merging."""
    content = read(block.body, _VARIABLE, problems)
    attributes = content.attributes
    name = block.labels[0].value
    _check_variable_name(name, label_span(block, 0), problems)
    description = _text(attributes.get("description"), problems)
    constraint, verbatim = ANY, True
    if "type" in attributes:
        constraint, verbatim = _written_type(piece(attributes["type"]), problems)
    deprecated = None
    if "deprecated" in attributes:
        deprecated = constant_string(attributes["deprecated"], problems)
        if deprecated is not None and not deprecated.strip():
            detail = "deprecated must not be empty: describe what to use instead of this variable."
            problems.error("empty_deprecation", "Invalid deprecated value", detail, label_span(block, 0))
    sensitive = _flag(attributes.get("sensitive"), problems)
    ephemeral = _flag(attributes.get("ephemeral"), problems)
    nullable = _flag(attributes.get("nullable"), problems) if "nullable" in attributes else True
    const = _flag(attributes.get("const"), problems) if "const" in attributes else None
    default, default_span = None, None
    if "default" in attributes:
        expr = piece(attributes["default"])
        default_span = expr.span
        default = _default(expr, None if override and "type" not in attributes else constraint, nullable, problems)
    validations = []
    for inner in content.blocks:
        rule = check_rule(inner, override, problems)
        if rule is None:
            continue
        validations.append(rule)
        if not refers_to_variable(rule.condition, name):
            detail = f"The condition must test the value, so it must refer to var.{name}."
            problems.error(
                "validation_without_value", "Invalid variable validation condition", detail, rule.condition.span
            )
    variable = VariableDecl(
        name,
        constraint,
        default,
        description,
        sensitive,
        ephemeral,
        nullable,
        tuple(validations),
        deprecated,
        block.header_span,
        default_span,
        const,
        verbatim,
    )
    return ExplicitDeclaration(variable, frozenset(attributes))


def _check_variable_name(name: str, span: Span, problems: Problems) -> None:
    if not valid_identifier(name):
        problems.error("invalid_name", "Invalid variable name", BAD_NAME, span)
    if name in MODULE_ARGUMENTS or name in MODULE_BLOCKS:
        detail = f'"{name}" is an argument or a block of module blocks, so it is not a valid name for a variable.'
        problems.error("reserved_name", "Invalid variable name", detail, span)


def _text(attribute: Attribute | None, problems: Problems) -> str:
    return (constant_string(attribute, problems) or "") if attribute else ""


def _flag(attribute: Attribute | None, problems: Problems) -> bool:
    return bool(constant_bool(attribute, problems)) if attribute else False


def _written_type(expr: ExpressionPiece, problems: Problems) -> tuple[TypeConstraint, bool]:
    """The type constraint, and whether strings from the command line and the environment are literals (as for primitive
    types). An invalid constraint is reported, and replaced with `any`."""
    if expr.is_quoted:
        if isinstance(expr.node, nodes.Literal) and expr.node.value in ("string", "list", "map"):
            word = expr.node.value
            hint = word if word == "string" else f"{word}(string), perhaps"
            detail = f"Write the type without quotes: {hint}."
            problems.error("quoted_type", "Invalid quoted type constraints", detail, expr.span)
            return ANY, word == "string"
        detail = "Write the type without quotes."
        problems.error("quoted_type", "Invalid legacy variable type hint", detail, expr.span)
        return ANY, False
    word = keyword(expr)
    if word in ("list", "map"):
        return TypeConstraint((ListType if word == "list" else MapType)(DYNAMIC)), False
    written = native(expr, Problems())
    if written is None:
        detail = "A type is string, number, bool, any, or constructed by list(), set(), map(), object() or tuple()."
        problems.error("invalid_type", "Invalid type specification", detail, expr.span)
        return ANY, False
    constraint, diagnostics = parse_type_constraint(written.node, written.source)
    if expr.json and not isinstance(written.node, nodes.Call):
        diagnostics = [evolve(d, subject=expr.span) for d in diagnostics]
    problems.extend(diagnostics)
    if constraint is None:
        return ANY, False
    return constraint, isinstance(constraint.type, Primitive) and constraint.type is not DYNAMIC


def _default(expr: ExpressionPiece, constraint: TypeConstraint | None, nullable: bool, problems: Problems) -> Value:
    value = constant(expr, problems)
    if value is None:
        return UNKNOWN
    if constraint is not None:
        value = convert_default(value, constraint, expr.span, problems)
        lint_discarded(expr, constraint.type, "this variable", problems)
    if not nullable and is_null(value):
        detail = "The default must not be null, because nullable is false."
        problems.error("null_default", "Invalid default value for variable", detail, expr.span)
    return value


def convert_default(value: Value, constraint: TypeConstraint, span: Span, problems: Problems) -> Value:
    """The converted default; unknown if it does not match the type (reported). The default is converted again when it
    is used or read from a saved plan. This second conversion may fail if the type contains `any`, so it is tried here,
    too."""
    try:
        value = constraint.convert(value)
        return constraint.convert(value) if has_dynamic(constraint.written) else value
    except ConversionError as problem:
        detail = f"The default does not match the type of the variable: {problem}."
        problems.error("default_does_not_fit", "Invalid default value for variable", detail, span)
        return UNKNOWN


def locals_block(block: Block, problems: Problems) -> list[LocalDecl]:
    attributes, diagnostics = block.body.just_attributes()
    problems.extend(diagnostics)
    declared = []
    for name, attribute in attributes.items():
        if not valid_identifier(name):
            problems.error("invalid_name", "Invalid local value name", BAD_NAME, attribute.name_span)
        declared.append(LocalDecl(name, expr_of(attribute, problems), attribute.span))
    return declared


def output_block(block: Block, override: bool, problems: Problems) -> ExplicitDeclaration[OutputDecl]:
    """The declaration in an `output` block. In override files, the value is optional. A missing value is null."""
    before = len(problems)
    content = read(block.body, _OUTPUT_OVERRIDE if override else _OUTPUT, problems)
    attributes = content.attributes
    name = block.labels[0].value
    if not valid_identifier(name):
        problems.error("invalid_name", "Invalid output name", BAD_NAME, label_span(block, 0))
    description = _text(attributes.get("description"), problems)
    value = expr_of(attributes["value"], problems) if "value" in attributes else None
    sensitive = _flag(attributes.get("sensitive"), problems)
    deprecated = None
    if "deprecated" in attributes:
        deprecated = constant_string(attributes["deprecated"], problems)
        if deprecated is not None and not deprecated.strip() and not Problems(problems[before:]).has_errors:
            detail = "deprecated must not be empty: describe what to use instead of this output."
            where = piece(attributes["deprecated"]).span
            problems.error("empty_deprecation", "Invalid deprecated value", detail, where)
    ephemeral = _flag(attributes.get("ephemeral"), problems)
    depends_on = references(attributes["depends_on"], problems) if "depends_on" in attributes else ()
    constraint = _written_type(piece(attributes["type"]), problems)[0] if "type" in attributes else None
    preconditions = []
    for inner in content.blocks:
        if inner.type == "precondition":
            rule = check_rule(inner, override, problems)
            if rule is not None:
                preconditions.append(rule)
        else:
            where = Span(inner.source, inner.start, inner.type_end)
            detail = "An output can only have preconditions."
            problems.error("output_postcondition", "Postconditions are not allowed", detail, where)
    if value is None:  # reported already, or an override without a value
        value = Expr(nodes.Literal(NULL, block.start, block.header_end), block.source)
    output = OutputDecl(
        name,
        value,
        description,
        sensitive,
        ephemeral,
        deprecated,
        depends_on,
        tuple(preconditions),
        block.header_span,
        constraint,
    )
    return ExplicitDeclaration(output, frozenset(attributes))


# Condition blocks: validation, precondition, postcondition and assert.


_RULE = BodySchema({"condition": True, "error_message": True})


def check_rule(block: Block, override: bool, problems: Problems) -> CheckRule | None:
    """The rule in a `validation`, `precondition`, `postcondition` or `assert` block; None if it has no condition or is
    in an override file (reported)."""
    if override:
        detail = f"Override files must not contain {block.type} blocks."
        problems.error("condition_in_override", f"Can't override {block.type} blocks", detail, block.header_span)
        return None
    content = read(block.body, _RULE, problems)
    condition = content.attributes.get("condition")
    message = content.attributes.get("error_message")
    if condition is None:
        return None
    expr = expr_of(condition, problems)
    if not variables(expr.node):
        detail = "The condition has no references, so its result never changes: refer to at least one object."
        problems.error("constant_condition", f"Invalid {block.type} expression", detail, expr.span)
    return CheckRule(expr, expr_of(message, problems) if message else None, block.header_span)


def refuse_self_reference(rule: CheckRule, kind: str, key: str, problems: Problems) -> None:
    """Report a condition or error message that refers to its own resource by address; a postcondition may use
    `self`."""
    for expr in (rule.condition, rule.error_message):
        if expr is None:
            continue
        for node in variables(expr.node):
            ref = parse_reference(node)
            if ref.kind == "resource" and ref.name == key:
                detail = f"The {kind} of {key} must not name {key} itself; a postcondition can use self."
                problems.error("self_reference", f"Invalid reference in {kind}", detail, expr.span)
                break


def refers_to_variable(expr: Expr, name: str) -> bool:
    return any((ref := parse_reference(node)).kind == "var" and ref.name == name for node in variables(expr.node))
