"""Documentation in the editor: hover texts, the signature of a function while a call is typed, and values as inlay
hints."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from planner.foundation.values.expression_text import literal, whole_text
from planner.foundation.values.schema import AttributeSchema, BlockSchema
from planner.foundation.values.types import constraint_text
from planner.foundation.values.value import Value
from planner.language import functions
from planner.language.config.model import Expr, ResourceDecl
from planner.language.functions.protocol import Function
from planner.language.syntax.body import Attribute, Block
from planner.language.syntax.nodes import Call, GetAttr, Literal, Traversal
from planner.workflows.editor.completion import (
    MEANINGS,
    MODES,
    attribute_detail,
    schema_of,
    signature_text,
    takes,
    type_at,
)
from planner.workflows.editor.cursor import BlockHeader, place_at
from planner.workflows.editor.model import Model
from planner.workflows.editor.navigation import DeclaredObject, target_at
from planner.workflows.editor.symbols import RESOURCES, nodes
from planner.workflows.editor.texts import Json, TextDocument
from planner.workflows.editor.workspace import Workspace

LONGEST_HINT = 60
"""maximum length of an inlay hint in characters"""
_LONGEST_VALUE = 2000

ModelOf = Callable[[str], Model]
"""a function from the path of a file to the model of its module"""
Planned = Callable[[str, str], str]
"""a function from a declared object (directory, key) to the Markdown of its last plan; "" if there is none"""


def hover(workspace: Workspace, model_of: ModelOf, planned: Planned, path: str, offset: int) -> Json | None:
    """The documentation at an offset, as LSP JSON; None if there is none."""
    document = workspace.document(path)
    hit = target_at(workspace, path, offset)
    if hit is not None:
        target, start, end = hit
        text = describe(model_of(os.path.join(target.directory, "main.tf")), target, planned)
        if text:
            return _answer(document, text, start, end)
    body = workspace.body(path)[0]
    around = [node for node in nodes(body) if node.start <= offset <= node.end]
    model = model_of(path)
    blocks = [node for node in around if isinstance(node, Block)]
    for node in reversed(around):
        answer = _of_node(model, node, blocks, offset, planned)
        if answer is not None:
            text, start, end = answer
            return _answer(document, text, start, end) if text else None
    return None


def _answer(document: TextDocument, text: str, start: int, end: int) -> Json:
    return {"contents": {"kind": "markdown", "value": text}, "range": document.range(start, end)}


def value_line(value: Value | None, most: int = _LONGEST_VALUE) -> str:
    """The source of a value on one line, cut to `most` characters."""
    text = literal(whole_text(value))
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _code(text: str, *paragraphs: str) -> str:
    return "\n\n".join([f"```terraform\n{text}\n```", *(one.strip() for one in paragraphs if one and one.strip())])


# ---------------------------------------------------------------- declared objects


def describe(model: Model, target: DeclaredObject, planned: Planned) -> str:
    """The documentation of a declared object as Markdown; "" if the object is not declared."""
    kind, _, name = target.key.partition(".")
    root = model.root
    if kind == "var" and name in root.variables:
        variable = root.variables[name]
        value = model.variable_value(name)
        word = "value" if model.is_given(name) else "default"
        known = (
            f"{word}: `{value_line(value)}`" if value is not None else "required" if variable.default is None else ""
        )
        words = [word for word in ("sensitive", "ephemeral") if getattr(variable, word)]
        head = f'variable "{name}": {constraint_text(variable.constraint.type)}'
        return _code(head, variable.description, known, ", ".join(words), variable.deprecated or "")
    if kind == "local" and name in root.locals:
        return _code(
            f"local.{name} = {_source(root.locals[name].expr)}", _value(model, root.locals[name].expr, target.key)
        )
    if kind == "output" and name in root.outputs:
        output = root.outputs[name]
        head = f'output "{name}" = {_source(output.value)}'
        return _code(
            head, output.description, _value(model, output.value, target.key), planned(target.directory, target.key)
        )
    if kind == "module" and name in root.calls:
        call = root.calls[name]
        child = model.child(name)
        lines = "not installed"
        if child is not None:
            lines = f"variables: {len(child.variables)}, outputs: {len(child.outputs)}"
        version = f" {call.version}" if call.version else ""
        return _code(f'module "{name}"', f"`{call.written_source or call.source}`{version}: {lines}",
                     planned(target.directory, target.key))  # fmt: skip
    decl = root.resources.get(target.key)
    return _resource(model, decl, planned(target.directory, target.key)) if decl is not None else ""


def _source(expr: Expr) -> str:
    text = expr.span.text
    return text if len(text) <= 300 else f"{text[:300]}..."


def _value(model: Model, expr: Expr, name: str) -> str:
    if isinstance(expr.node, Literal):
        return ""
    value = model.value(expr, name)
    return f"value: `{value_line(value)}`" if value is not None else ""


def _resource(model: Model, decl: ResourceDecl, plan: str) -> str:
    schema = model.schema(decl.mode, decl.type, decl.provider_name)
    provider = model.root.provider_source(decl.provider_name)
    why = model.missing.get(provider)
    repeated = next((f"{word}: `{_source(expr)}`" for word, expr in (("count", decl.count), ("for_each", decl.for_each))
                     if expr is not None), "")  # fmt: skip
    word = next(name for name, mode in MODES.items() if mode == decl.mode)
    head = f'{word} "{decl.type}" "{decl.name}"'
    note = f"{why.summary}: {why.detail}" if why is not None else ""
    return _code(head, plan, repeated, schema.description if schema is not None else "", f"provider `{provider}`", note)


# ---------------------------------------------------------------- syntax


def _of_node(
    model: Model, node: Any, blocks: list[Block], offset: int, planned: Planned
) -> tuple[str, int, int] | None:
    """The documentation of a syntax node, and the range to which it applies, as (Markdown, start, end). "" as the
    Markdown means that there is none. None means that the enclosing node decides."""
    if isinstance(node, Call):
        if offset <= node.name_end:
            function = _function(model, node.name)
            return (_of_function(function) if function is not None else "", node.start, node.name_end)
    elif isinstance(node, Traversal):
        return _of_step(model, node, offset, blocks)
    elif isinstance(node, Attribute):
        if offset <= node.name_end:
            schema = schema_of(model, _around(blocks)) if blocks else None
            attribute = schema.attributes.get(node.name) if schema is not None else None
            if attribute is None and blocks and takes(blocks[-1].type, node.name) and node.name in MEANINGS:
                return _code(node.name, MEANINGS[node.name]), node.start, node.name_end
            return (_of_attribute(node.name, attribute), node.start, node.name_end) if attribute is not None else None
    elif isinstance(node, Block):
        return _of_block(model, node, blocks, offset)
    return None


def _around(blocks: Iterable[Block]) -> list[BlockHeader]:
    return [BlockHeader(block.type, tuple(label.value for label in block.labels)) for block in blocks]


def _of_attribute(name: str, schema: AttributeSchema) -> str:
    return _code(f"{name}: {attribute_detail(schema)}", schema.description, schema.deprecation_message)


def _of_block(model: Model, block: Block, blocks: list[Block], offset: int) -> tuple[str, int, int] | None:
    if offset > block.header_end:
        return "", block.start, block.header_end
    if len(blocks) > 1 or block.type in (*RESOURCES, "provider"):
        schema: BlockSchema | None = schema_of(model, _around(blocks))
        if schema is not None:
            head = " ".join([block.type, *(f'"{label.value}"' for label in block.labels)])
            required = sorted(name for name, one in schema.attributes.items() if one.required)
            needs = f"required: {', '.join(f'`{name}`' for name in required)}" if required else ""
            return _code(head, schema.description, needs), block.start, block.header_end
    if block.type in MEANINGS:
        return _code(block.type, MEANINGS[block.type]), block.start, block.header_end
    return "", block.start, block.header_end


def _of_step(model: Model, node: Traversal, offset: int, blocks: list[Block]) -> tuple[str, int, int] | None:
    """The documentation of the name at an offset in a reference: an attribute, or a predefined name such as `each`.
    Returns (Markdown, start, end) with the range of the name; None if the attribute is unknown."""
    names = [node.root]
    first = node.end if node.root == "each" else node.steps[0].end if node.steps else node.root_end
    if node.root in ("each", "count", "path", "terraform", "self") and offset <= first:
        return _code(node.root, MEANINGS[node.root]), node.start, first
    for step in node.steps:
        names.append(step.name if isinstance(step, GetAttr) else f"[{step.key}]")
        if step.start < offset <= step.end and isinstance(step, GetAttr):
            hit = type_at(model, tuple(names), tuple(_around(blocks)))
            if hit is None:
                return None
            doc = ""
            schema = schema_of_object(model, names[:-1])
            if schema is not None and step.name in schema.attributes:
                return _of_attribute(step.name, schema.attributes[step.name]), step.start + 1, step.end
            return (
                _code(f"{'.'.join(names).replace('.[', '[')}: {constraint_text(hit)}", doc),
                step.start + 1,
                step.end,
            )
    return None


def schema_of_object(model: Model, names: list[str]) -> BlockSchema | None:
    plain = [name for name in names if not name.startswith("[")]
    decl = model.root.resources.get(".".join(plain))
    return model.schema(decl.mode, decl.type, decl.provider_name) if decl is not None else None


# ---------------------------------------------------------------- functions


def _function(model: Model, name: str) -> Function | None:
    if name.startswith("provider::"):
        parts = name.split("::")
        schema = model.provider_schema(parts[1]) if len(parts) > 2 else None
        return schema.functions.get(parts[-1]) if schema is not None else None
    return functions.lookup(name)


def _of_function(function: Function) -> str:
    parameters = [p for p in (*function.params, function.variadic) if p is not None and p.description]
    return _code(
        signature_text(function), function.description, "\n".join(f"- `{p.name}`: {p.description}" for p in parameters)
    )


def signature(model: Model, text: str, offset: int) -> Json | None:
    """The signature of the function whose call contains an offset, as LSP JSON; None if there is no call or the
    function is unknown."""
    place = place_at(text, offset)
    function = _function(model, place.call) if place.call else None
    if function is None:
        return None
    parameters = [
        {"label": f"{p.name}: {constraint_text(p.type)}", "documentation": p.description} for p in function.params
    ]
    if function.variadic is not None:
        more = function.variadic
        parameters.append({"label": f"{more.name}: {constraint_text(more.type)}...", "documentation": more.description})
    entry = {"label": signature_text(function), "documentation": function.description, "parameters": parameters}
    active = min(place.argument, max(0, len(parameters) - 1))
    return {"signatures": [entry], "activeSignature": 0, "activeParameter": active}


# ---------------------------------------------------------------- inlay hints


def inlay_hints(model: Model, path: str, document: TextDocument, start: int, end: int) -> list[Json]:
    """Inlay hints, as LSP JSON, with the values of the local values, outputs and variables that are declared in a
    range. A value that the expression itself shows has no hint."""
    return [
        {"position": document.position(offset), "label": f" = {text}" if is_given else f" {text}", "paddingLeft": True}
        for offset, text, is_given in _hints(model, path)
        if start <= offset <= end
    ]


def _hints(model: Model, path: str) -> Iterator[tuple[int, str, bool]]:
    root = model.root
    expressions = [(f"local.{name}", decl.expr) for name, decl in root.locals.items()]
    expressions += [(f"output.{name}", decl.value) for name, decl in root.outputs.items() if not decl.sensitive]
    for name, expr in expressions:
        if model.path(expr.source.filename) == path and not isinstance(expr.node, Literal):
            value = model.value(expr, name)
            text = value_line(value, LONGEST_HINT) if value is not None else ""
            if text and text != expr.span.text:
                yield expr.node.end, f"= {text}", False
    for name, variable in root.variables.items():
        if model.path(variable.span.filename) == path and model.is_given(name):
            value = model.variable_value(name)
            if value is not None:
                yield variable.span.end, value_line(value, LONGEST_HINT), True
