"""The texts of a configuration as the record of an apply keeps them: the values that objects are made from, and nothing
that must not be in there.

A value is kept if something reads it that the state shows: an argument of a resource or data source that is not
sensitive, a repetition, a root output. So nothing is kept that only the configurations of providers, backends and
encryption, provisioners, connections and ephemeral resources read; nor sensitive arguments, defaults of sensitive
variables, arguments for them, what is in `sensitive(...)`, and no comments. Their place is taken by `unrecorded.value`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from planner.engine.evaluation.schemas import Schemas
from planner.foundation.support.fast_json import orjson
from planner.foundation.values.schema import BlockSchema
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Source
from planner.language.config.model import Config, ModuleConfig, ModulePath, ResourceDecl
from planner.language.config.references import Ref, parse_reference
from planner.language.config.sources import without_secrets
from planner.language.syntax.body import Attribute, Block, NativeBody, function_calls, variables
from planner.language.syntax.files import load_text
from planner.language.syntax.lexer import BRACKETS, tokenize
from planner.language.syntax.nodes import Expression, Literal, Traversal

UNRECORDED = "unrecorded"
"""the root of the name in the place of what is not kept"""
_PLACEHOLDER = f"{UNRECORDED}.value"
_REPETITION = ("count", "for_each", "enabled")
_RESOURCES = {"resource": "managed", "data": "data"}
_KEPT = {
    "variable": ("type", "sensitive", "ephemeral", "nullable", "const"),
    "output": ("type", "sensitive", "ephemeral"),
    "module": (*_REPETITION, "version"),
    "lifecycle": ("create_before_destroy", "prevent_destroy", "ignore_changes", "replace_triggered_by", "enabled"),
}
"""arguments that have no secrets; the enabled of lifecycle is a repetition"""


_READS = ("file", "templatefile")
"""beginnings of the names of functions that read files"""


@frozen
class FileReader:
    """An expression that reads files, in a module; of an argument of a resource its declaration."""

    module: ModulePath
    expression: Expression
    resource: ResourceDecl | None


def is_unrecorded(node: Expression) -> bool:
    """Whether an expression replaces one that was not kept."""
    return isinstance(node, Traversal) and node.root == UNRECORDED


def recorded_sources(config: Config, schemas: Schemas) -> tuple[dict[str, str], list[FileReader]]:
    """The texts of all files of a configuration, by name; and the kept expressions that read other files."""
    wanted = _ReadValues(config, schemas)
    texts: dict[str, str] = {}
    for module in config.root.walk():
        for source in _sources(module):
            if source.filename not in texts:
                texts[source.filename] = _SourceWriter(wanted, module, wanted.read[module.directory]).file(source)
    return {name: texts.get(name, "") for name in config.files}, wanted.readers


def _sources(module: ModuleConfig) -> Iterator[Source]:
    named: list[Any] = [*module.variables.values(), *module.locals.values(), *module.outputs.values()]
    for decl in (*named, *module.resources.values(), *module.calls.values(), *module.required_providers.values()):
        if decl.span is not None:
            yield decl.span.source


class _ReadValues:
    """The values that something reads which is shown: in each directory of modules, `var.x`, `local.x`, `output.x`."""

    def __init__(self, config: Config, schemas: Schemas) -> None:
        self.schemas = schemas
        self.modules = {module.path: module for module in config.root.walk()}
        self.read: dict[str, set[str]] = {module.directory: set() for module in self.modules.values()}
        self.readers: list[FileReader] = []
        self._waiting: list[tuple[ModuleConfig, str]] = []
        self._seen: set[tuple[Any, str]] = set()
        for module in self.modules.values():
            self._begin(module)
        while self._waiting:
            self._follow(*self._waiting.pop())

    def _begin(self, module: ModuleConfig) -> None:
        for decl in module.resources.values():
            for argument in _REPETITION:
                expr = getattr(decl, argument)
                self._mentions(module, expr.node if expr is not None else None)
            schema = self.schema(module, decl)
            if decl.mode != "ephemeral" and schema is not None:
                for attribute in _shown_arguments(decl.body, schema):
                    self._mentions(module, attribute, decl)
        for call in module.calls.values():
            for argument in _REPETITION:
                expr = getattr(call, argument)
                self._mentions(module, expr.node if expr is not None else None)
        if not module.path:
            for output in module.outputs.values():
                self._want(module, f"output.{output.name}")

    def schema(self, module: ModuleConfig, decl: ResourceDecl) -> BlockSchema | None:
        try:
            return self.schemas.of(module, decl).block
        except Failure:
            return None

    def _want(self, module: ModuleConfig, name: str) -> None:
        if (module.path, name) not in self._seen:
            self._seen.add((module.path, name))
            self.read[module.directory].add(name)
            self._waiting.append((module, name))

    def _follow(self, module: ModuleConfig, what: str) -> None:
        kind, _, name = what.partition(".")
        if kind == "local" and name in module.locals:
            self._mentions(module, module.locals[name].expr.node)
        elif kind == "output" and name in module.outputs and not module.outputs[name].sensitive:
            self._mentions(module, module.outputs[name].value.node)
        elif kind == "var" and module.call is not None and name in module.variables:
            argument = module.call.inputs.get(name)
            if argument is not None and not _is_secret(module, name):
                self._mentions(self.modules[module.path[:-1]], argument)

    def _mentions(
        self, module: ModuleConfig, node: Expression | Attribute | None, decl: ResourceDecl | None = None
    ) -> None:
        try:
            expr = node.expr if isinstance(node, Attribute) else node
        except Failure:
            return
        if expr is None or _hides(expr):
            return
        if any(call.name.removeprefix("core::").startswith(_READS) for call in function_calls(expr)):
            self.readers.append(FileReader(module.path, expr, decl))
        for mention in variables(expr):
            ref = parse_reference(mention)
            if not isinstance(ref, Ref):
                continue
            if ref.kind in ("var", "local"):
                self._want(module, f"{ref.kind}.{ref.name}")
            child = self.modules.get((*module.path, ref.name)) if ref.kind in ("output", "module") else None
            for output in (child.outputs if child is not None else {}) if ref.kind == "module" else (ref.output,):
                if child is not None:
                    self._want(child, f"output.{output}")


def _is_secret(module: ModuleConfig, variable: str) -> bool:
    decl = module.variables.get(variable)
    return decl is None or decl.sensitive or decl.ephemeral


def _hides(expr: Expression) -> bool:
    """Whether an expression contains a call of `sensitive`."""
    return any(call.name.removeprefix("core::") == "sensitive" for call in function_calls(expr))


def _shown_arguments(body: Any, schema: BlockSchema) -> Iterator[Attribute]:
    """The arguments of a body, and of the blocks in it, that are not sensitive."""
    for name, attribute in body.just_attributes()[0].items():
        if _is_shown(schema, name):
            yield attribute
    for block in getattr(body, "blocks", ()):
        name = block.labels[0].value if block.type == "dynamic" and block.labels else block.type
        if name in schema.blocks:
            yield from _arguments_in(block, schema.blocks[name].block)


def _arguments_in(block: Block, schema: BlockSchema) -> Iterator[Attribute]:
    if block.type != "dynamic":
        yield from _shown_arguments(block.body, schema)
        return
    yield from block.body.just_attributes()[0].values()
    for content in getattr(block.body, "blocks", ()):
        yield from _shown_arguments(content.body, schema)


def _is_shown(schema: BlockSchema, name: str) -> bool:
    attribute = schema.attributes.get(name)
    return (attribute is None and name in schema.blocks) or (
        attribute is not None and not attribute.sensitive and not attribute.write_only
    )


class _SourceWriter:
    """Writes the files of one directory."""

    def __init__(self, wanted: _ReadValues, module: ModuleConfig, read: set[str]) -> None:
        self.wanted, self.module, self.read = wanted, module, read

    def file(self, source: Source) -> str:
        """The text of a file; empty where it cannot be read again."""
        if source.filename.endswith(".json"):
            return self._json(source.text)
        body, _, problems = load_text(source.text.encode("utf-8", "surrogatepass"), source.filename, keep=False)
        if problems or not isinstance(body, NativeBody):
            return ""
        return "".join(line for block in body.blocks for line in self._block(block))

    def _block(self, block: Block) -> Iterator[str]:
        labels = [label.value for label in block.labels]
        inside: list[str] = []
        body: Any = block.body
        if block.type == "terraform":
            for inner in body.blocks:
                if inner.type == "required_providers":
                    yield f"terraform {{\n{_text(inner.source, inner.start, inner.end)}\n}}\n"
            return
        if block.type == "locals":
            inside = [self._argument(a, f"local.{a.name}" in self.read) for a in body.attributes.values()]
        elif block.type == "variable" and labels:  # a default cannot refer to anything: without one there is no value
            kept_ones = (*_KEPT["variable"], *(["default"] if self._is_kept(labels[0]) else []))
            inside = [self._argument(a, True) for a in body.attributes.values() if a.name in kept_ones]
        elif block.type == "output" and labels:
            output = self.module.outputs.get(labels[0])
            kept = output is not None and not output.sensitive and f"output.{labels[0]}" in self.read
            inside = [
                self._argument(a, a.name != "value" or kept)
                for a in body.attributes.values()
                if a.name in (*_KEPT["output"], "value")
            ]
        elif block.type == "module" and labels:
            inside = list(self._call(labels[0], body))
        elif block.type in _RESOURCES and len(labels) == 2:
            inside = list(self._resource(block, labels))
        else:
            return
        yield _header(block) + "".join(inside) + "}\n"

    def _is_kept(self, variable: str) -> bool:
        return f"var.{variable}" in self.read and not _is_secret(self.module, variable)

    def _call(self, name: str, body: Any) -> Iterator[str]:
        child = self.wanted.modules.get((*self.module.path, name))
        inputs = self.wanted.read.get(child.directory, set()) if child is not None else set()
        for a in body.attributes.values():
            if a.name == "source":
                value = a.expr.value if isinstance(a.expr, Literal) else None
                yield (
                    f"source = {json.dumps(without_secrets(value))}\n"
                    if isinstance(value, str)
                    else self._argument(a, True)
                )
            elif a.name in ("providers", "depends_on"):
                continue
            else:
                kept = child is not None and f"var.{a.name}" in inputs and not _is_secret(child, a.name)
                yield self._argument(a, a.name in _KEPT["module"] or kept)
        yield from self._lifecycle(body)

    def _resource(self, block: Block, labels: list[str]) -> Iterator[str]:
        mode = _RESOURCES[block.type]
        name = f"data.{labels[0]}.{labels[1]}" if mode == "data" else ".".join(labels)
        decl = self.module.resources.get(name)
        schema = self.wanted.schema(self.module, decl) if decl is not None else None
        body: Any = block.body
        for a in body.attributes.values():
            if a.name in ("provider", "depends_on"):
                yield self._argument(a, True) if a.name == "provider" else ""
            else:
                yield self._argument(a, a.name in _REPETITION or (schema is not None and _is_shown(schema, a.name)))
        yield from self._lifecycle(body)
        yield from self._blocks(body, schema)

    def _lifecycle(self, body: Any) -> Iterator[str]:
        for block in body.blocks:
            if block.type == "lifecycle":
                kept = [self._argument(a, True) for a in block.body.attributes.values() if a.name in _KEPT["lifecycle"]]
                yield f"lifecycle {{\n{''.join(kept)}}}\n"

    def _blocks(self, body: Any, schema: BlockSchema | None) -> Iterator[str]:
        """The nested blocks that the schema has."""
        for block in body.blocks:
            name = block.labels[0].value if block.type == "dynamic" and block.labels else block.type
            nested = schema.blocks.get(name) if schema is not None else None
            if nested is None:
                continue
            inside: list[str] = []
            if block.type == "dynamic":
                inside = [self._argument(a, True) for a in block.body.attributes.values()]
                for content in block.body.blocks:
                    inside += ["content {\n", *self._body(content.body, nested.block), "}\n"]
            else:
                inside = self._body(block.body, nested.block)
            yield _header(block) + "".join(inside) + "}\n"

    def _body(self, body: Any, schema: BlockSchema) -> list[str]:
        arguments = [self._argument(a, _is_shown(schema, a.name)) for a in body.attributes.values()]
        return [*arguments, *self._blocks(body, schema)]

    def _argument(self, attribute: Attribute, kept: bool) -> str:
        expr = attribute.expr
        if not kept or _hides(expr):
            return f"{attribute.name} = {_PLACEHOLDER}\n"
        return f"{attribute.name} = {_text(attribute.source, expr.start, expr.end)}\n"

    # ---------------------------------------------------------------- JSON syntax

    def _json(self, text: str) -> str:
        try:
            document = orjson.loads(text)
        except ValueError:
            return "{}"
        kept: dict[str, Any] = {}
        for kind, blocks in document.items() if isinstance(document, dict) else ():
            if kind == "terraform":
                required = [one["required_providers"] for one in _items(blocks) if "required_providers" in one]
                kept[kind] = [{"required_providers": one} for one in required]
            elif kind == "locals":
                kept[kind] = [
                    self._values(one, {n for n in one if f"local.{n}" in self.read}) for one in _items(blocks)
                ]
            elif kind in ("variable", "output", "module"):
                kept[kind] = [
                    {name: [self._of(kind, name, one) for one in _items(inner)] for name, inner in by.items()}
                    for by in _items(blocks)
                ]
            elif kind in _RESOURCES:
                kept[kind] = [
                    {
                        type_: [
                            {
                                name: [self._json_resource(kind, type_, name, one) for one in _items(inner)]
                                for name, inner in of.items()
                            }
                            for of in _items(named)
                        ]
                        for type_, named in by.items()
                    }
                    for by in _items(blocks)
                ]
        return orjson.dumps(kept).decode()

    def _of(self, kind: str, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        fixed = {n: v for n, v in given.items() if n in _KEPT[kind]}
        if kind == "variable":
            return {**fixed, **({"default": given["default"]} if "default" in given and self._is_kept(name) else {})}
        if kind == "output":
            output = self.module.outputs.get(name)
            kept = output is not None and not output.sensitive and f"output.{name}" in self.read
            return {**fixed, **self._values({"value": given.get("value")}, {"value"} if kept else set())}
        child = self.wanted.modules.get((*self.module.path, name))
        inputs = self.wanted.read.get(child.directory, set()) if child is not None else set()
        rest = {
            n: v for n, v in given.items() if n not in (*fixed, "source", "providers", "depends_on", "//", "lifecycle")
        }
        wanted = {n for n in rest if child is not None and f"var.{n}" in inputs and not _is_secret(child, n)}
        source = {"source": without_secrets(str(given["source"]))} if "source" in given else {}
        return {**fixed, **source, **self._values(rest, wanted)}

    def _json_resource(self, kind: str, type_: str, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        decl = self.module.resources.get(f"data.{type_}.{name}" if kind == "data" else f"{type_}.{name}")
        schema = self.wanted.schema(self.module, decl) if decl is not None else None
        fixed = {n: v for n, v in given.items() if n in (*_REPETITION, "provider")}
        lifecycle = [
            {n: v for n, v in one.items() if n in _KEPT["lifecycle"]} for one in _items(given.get("lifecycle"))
        ]
        skipped = (*fixed, "lifecycle", "provisioner", "connection", "depends_on", "//")
        rest = {n: v for n, v in given.items() if n not in skipped}
        body = self._json_body(rest, schema) if schema is not None else self._values(rest, set())
        return {**fixed, **({"lifecycle": lifecycle} if lifecycle else {}), **body}

    def _json_body(self, given: Mapping[str, Any], schema: BlockSchema) -> dict[str, Any]:
        plain = {n: v for n, v in given.items() if n not in schema.blocks and n not in ("dynamic", "//")}
        kept = self._values(plain, {n for n in plain if _is_shown(schema, n)})
        for name, nested in schema.blocks.items():
            if name in given and all(isinstance(one, dict) for one in _items(given[name])):
                kept[name] = [self._json_body(one, nested.block) for one in _items(given[name])]
        return kept

    @staticmethod
    def _values(given: Mapping[str, Any], kept: set[str] | None = None) -> dict[str, Any]:
        placeholder = f"${{{_PLACEHOLDER}}}"
        return {
            name: value if (kept is None or name in kept) and "sensitive(" not in json.dumps(value) else placeholder
            for name, value in given.items()
            if name != "//"
        }


def _items(given: Any) -> list[dict[str, Any]]:
    """The objects of a JSON property that is one or several."""
    return [one for one in (given if isinstance(given, list) else [given]) if isinstance(one, dict)]


def _header(block: Block) -> str:
    return " ".join([block.type, *(json.dumps(label.value) for label in block.labels)]) + " {\n"


def _text(source: Source, start: int, end: int) -> str:
    """A part of a text without its comments."""
    text = source.text[start:end]
    if not any(sign in text for sign in ("#", "//", "/*")):
        return text
    parts, at = [], 0
    for kind, value, start in tokenize(text, 0, BRACKETS):
        gap = text[at:start]
        parts += [gap if not gap.strip() else "\n" if "\n" in gap else " ", "\n" if kind == "NEWLINE" else value]
        at = start + len(value)
    return "".join(parts)
