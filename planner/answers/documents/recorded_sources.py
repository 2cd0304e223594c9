"""Prepares the configuration for the record of an apply: keeps the expressions that determine objects, and removes
secrets and comments. An expression is kept if the state contains its value, too, because it is in a non-sensitive
argument of a resource or data source, in count, for_each or enabled, or in a root output. Variables and local values
that only other parts of the configuration read are removed, for example those that only provider configurations,
backends, provisioners or ephemeral resources read. Sensitive expressions (sensitive arguments, arguments of sensitive
variables, arguments of `sensitive(...)`) are kept only if they contain no strings or numbers. In JSON syntax, no
sensitive expressions are kept. All other expressions are replaced by `unrecorded.value`. An encrypted record
(`secrets`) also contains sensitive values, but no ephemeral values."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from planner.engine.evaluation.schemas import Schemas
from planner.engine.evaluation.scope import UNRECORDED
from planner.foundation.support.exact_json import orjson
from planner.foundation.values.schema import BlockSchema
from planner.foundation.values.value import NULL
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Source
from planner.language.config.model import Config, ModuleConfig, ModulePath, ResourceDecl
from planner.language.config.references import Ref, parse_reference
from planner.language.config.sources import without_secrets
from planner.language.functions.file_names import HASHES, shown_reads
from planner.language.syntax.body import Attribute, Block, NativeBody, function_calls, variables
from planner.language.syntax.files import load_text
from planner.language.syntax.lexer import BRACKETS, tokenize
from planner.language.syntax.nodes import Call, Expression, Literal, SyntaxNode

_PLACEHOLDER = f"{UNRECORDED}.value"
_REPETITION = ("count", "for_each", "enabled")
_RESOURCES = {"resource": "managed", "data": "data"}
_KEPT = {
    "variable": ("sensitive", "ephemeral", "nullable", "const"),
    "output": ("type", "sensitive", "ephemeral"),
    "module": (*_REPETITION, "version"),
    "lifecycle": ("create_before_destroy", "prevent_destroy", "ignore_changes", "replace_triggered_by", "enabled"),
}
"""arguments that contain no secrets; `enabled` in a lifecycle block is a repetition argument"""


_READS = ("file", "templatefile")
"""prefixes of the names of functions that read files"""


@frozen
class FileReader:
    """An expression that reads files. `resource`: the resource if the expression is in an argument of one, otherwise
    None. `shown`: the parts of the expression whose values may show contents of files. This is the whole expression or,
    if it computes digests of files, only some of its function calls; () if there are no such parts."""

    module: ModulePath
    expression: Expression
    resource: ResourceDecl | None
    shown: tuple[Expression, ...]


@frozen(eq=False)
class RecordedSources:
    """The parts of a configuration that may be recorded. `texts`: {configuration file: the content to record}.
    `readers`: the recorded expressions that read files. `variables`: the root variables whose values may be
    recorded."""

    texts: dict[str, str]
    readers: list[FileReader]
    variables: frozenset[str]


def recorded_sources(config: Config, schemas: Schemas, secrets: bool = False) -> RecordedSources:
    wanted = _ReadValues(config, schemas, secrets)
    texts: dict[str, str] = {}
    for module in config.root.walk():
        for source in _sources(module):
            if source.filename not in texts:
                texts[source.filename] = _SourceWriter(wanted, module).file(source)
    root = config.root
    read = (name for name in root.variables if wanted.keeps(root, name))
    return RecordedSources({name: texts.get(name, "") for name in config.files}, wanted.readers, frozenset(read))


def _sources(module: ModuleConfig) -> Iterator[Source]:
    named: list[Any] = [*module.variables.values(), *module.locals.values(), *module.outputs.values()]
    for decl in (*named, *module.resources.values(), *module.calls.values(), *module.required_providers.values()):
        if decl.span is not None:
            yield decl.span.source


class _ReadValues:
    """Determines the values that recorded expressions read. `read`: {module directory: names such as `var.x`, `local.x`
    and `output.x`}."""

    def __init__(self, config: Config, schemas: Schemas, secrets: bool) -> None:
        self.schemas, self._secrets = schemas, secrets
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
                for attribute in self._shown_arguments(decl.body, schema):
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

    def reads(self, module: ModuleConfig, kind: str, name: str) -> bool:
        return f"{kind}.{name}" in self.read[module.directory]

    def is_secret(self, module: ModuleConfig, variable: str) -> bool:
        decl = module.variables.get(variable)
        return decl is None or decl.ephemeral or (decl.sensitive and not self._secrets)

    def keeps(self, module: ModuleConfig, variable: str) -> bool:
        """Whether the value of a variable is recorded, because recorded expressions read it and it is not secret."""
        return self.reads(module, "var", variable) and not self.is_secret(module, variable)

    def shows_output(self, module: ModuleConfig, name: str) -> bool:
        output = module.outputs.get(name)
        return output is not None and not output.ephemeral and (self._secrets or not output.sensitive)

    def is_shown(self, schema: BlockSchema, name: str) -> bool:
        attribute = schema.attributes.get(name)
        if attribute is None:
            return name in schema.blocks
        return not attribute.write_only and (self._secrets or not attribute.sensitive)

    def is_repetition_shown(self, block: Block, schema: BlockSchema) -> bool:
        """Whether a dynamic block creates only blocks without sensitive arguments, so that the for_each of the dynamic
        block may be shown."""
        return all(self._is_all_shown(content.body, schema) for content in _blocks_in(block.body))

    def _is_all_shown(self, body: Any, schema: BlockSchema) -> bool:
        if not all(self.is_shown(schema, name) for name in body.just_attributes()[0]):
            return False
        for block in _blocks_in(body):
            name, bodies = _block_type(block)
            nested = schema.blocks.get(name)
            if nested is None or not all(self._is_all_shown(inner, nested.block) for inner in bodies):
                return False
        return True

    def hides(self, text: str) -> bool:
        """Whether the text of a JSON value must not be recorded, because it calls `sensitive(...)`; always False for an
        encrypted record."""
        return not self._secrets and "sensitive(" in text

    def hidden(self, expr: Expression) -> list[Call]:
        """The calls of `sensitive(...)`, whose arguments must not be shown; none for an encrypted record."""
        if self._secrets:
            return []
        return [call for call in function_calls(expr) if call.name.removeprefix("core::") == "sensitive"]

    def _shown_arguments(self, body: Any, schema: BlockSchema) -> Iterator[Attribute]:
        """The arguments of a body, and of the blocks in it, that are not sensitive."""
        for name, attribute in body.just_attributes()[0].items():
            if self.is_shown(schema, name):
                yield attribute
        for block in _blocks_in(body):
            name, bodies = _block_type(block)
            if name not in schema.blocks:
                continue
            nested = schema.blocks[name].block
            if block.type == "dynamic" and self.is_repetition_shown(block, nested):
                yield from block.body.just_attributes()[0].values()
            for inner in bodies:
                yield from self._shown_arguments(inner, nested)

    def _want(self, module: ModuleConfig, name: str) -> None:
        if (module.path, name) not in self._seen:
            self._seen.add((module.path, name))
            self.read[module.directory].add(name)
            self._waiting.append((module, name))

    def _follow(self, module: ModuleConfig, what: str) -> None:
        kind, _, name = what.partition(".")
        if kind == "local" and name in module.locals:
            self._mentions(module, module.locals[name].expr.node)
        elif kind == "output" and self.shows_output(module, name):
            self._mentions(module, module.outputs[name].value.node)
        elif kind == "var" and module.call is not None and name in module.variables:
            argument = module.call.inputs.get(name)
            if argument is not None and not self.is_secret(module, name):
                self._mentions(self.modules[module.path[:-1]], argument)

    def _mentions(
        self, module: ModuleConfig, node: Expression | Attribute | None, decl: ResourceDecl | None = None
    ) -> None:
        try:
            expr = node.expr if isinstance(node, Attribute) else node
        except Failure:
            return
        if expr is None:
            return
        hidden = self.hidden(expr)
        calls = [call.name.removeprefix("core::") for call in function_calls(expr)]
        if not hidden and any(call.startswith(_READS) for call in calls):
            shown: tuple[Expression, ...] = tuple(shown_reads(function_calls(expr)))
            if self._secrets or (shown and not any(call.startswith(HASHES) for call in calls)):
                shown = (expr,)
            self.readers.append(FileReader(module.path, expr, decl, shown))
        for mention in variables(expr):
            if any(call.start <= mention.start < call.end for call in hidden):
                continue
            ref = parse_reference(mention)
            if not isinstance(ref, Ref):
                continue
            if ref.kind in ("var", "local"):
                self._want(module, f"{ref.kind}.{ref.name}")
            child = self.modules.get((*module.path, ref.name)) if ref.kind in ("output", "module") else None
            for output in (child.outputs if child is not None else {}) if ref.kind == "module" else (ref.output,):
                if child is not None:
                    self._want(child, f"output.{output}")


def _blocks_in(body: Any) -> Sequence[Block]:
    """The blocks in a body; empty for JSON, where only a schema distinguishes blocks from arguments."""
    return getattr(body, "blocks", ())


def _block_type(block: Block) -> tuple[str, list[Any]]:
    """The type and bodies of a block. For a dynamic block, these are the type and bodies of the blocks that it
    creates."""
    if block.type != "dynamic" or not block.labels:
        return block.type, [block.body]
    return block.labels[0].value, [content.body for content in _blocks_in(block.body)]


def _has_values(expr: Expression) -> bool:
    """Whether an expression contains a number or a string other than "", apart from literal keys."""
    waiting: list[Any] = [expr]
    while waiting:
        node = waiting.pop()
        if node.__class__ is tuple:
            waiting += node
        elif node.__class__ is Literal:
            if node.value.__class__ is not bool and node.value is not NULL and node.value != "":
                return True
        elif isinstance(node, SyntaxNode):
            inside = [getattr(node, name) for name in node.__slots__]  # the fields of the node, without positions
            is_named = getattr(node, "key", None).__class__ is Literal
            waiting += inside if not is_named else [part for part in inside if part is not node.key]  # type: ignore[attr-defined]
    return False


class _SourceWriter:
    """Writes the content to record for the files of a module."""

    def __init__(self, wanted: _ReadValues, module: ModuleConfig) -> None:
        self.wanted, self.module = wanted, module

    def file(self, source: Source) -> str:
        """The content to record for a file. It is "" (for JSON, "{}") if the file is not valid."""
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
            inside = [self._argument(a, self._reads("local", a.name)) for a in body.attributes.values()]
        elif block.type == "variable" and labels:  # defaults contain only constants
            kept_ones = (*_KEPT["variable"], *(("default", "type") if self._is_kept(labels[0]) else ()))
            inside = [
                self._argument(a, True)
                for a in body.attributes.values()
                if a.name in kept_ones or (a.name == "type" and not _has_values(a.expr))
            ]
        elif block.type == "output" and labels:
            kept = self._keeps_output(labels[0])
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

    def _reads(self, kind: str, name: str) -> bool:
        return self.wanted.reads(self.module, kind, name)

    def _is_kept(self, variable: str) -> bool:
        return self.wanted.keeps(self.module, variable)

    def _keeps_output(self, name: str) -> bool:
        return self._reads("output", name) and self.wanted.shows_output(self.module, name)

    def _keeps_input(self, call: str, name: str) -> bool:
        child = self.wanted.modules.get((*self.module.path, call))
        return child is not None and self.wanted.keeps(child, name)

    def _lost_defaults(self, call: str, given: Collection[str]) -> list[str]:
        """The variables of a called module that the call does not set, and whose defaults are not recorded."""
        child = self.wanted.modules.get((*self.module.path, call))
        declared = child.variables if child is not None else {}
        return [
            name
            for name, variable in declared.items()
            if child is not None
            and name not in given
            and variable.default is not None
            and not self.wanted.keeps(child, name)
        ]

    def _call(self, name: str, body: Any) -> Iterator[str]:
        for a in body.attributes.values():
            if a.name == "source":
                yield without_secrets(self._argument(a, True))
            elif a.name in ("providers", "depends_on"):
                continue
            else:
                yield self._argument(a, a.name in _KEPT["module"] or self._keeps_input(name, a.name))
        for variable in self._lost_defaults(name, body.attributes):
            yield f"{variable} = {_PLACEHOLDER}\n"
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
                kept = a.name in _REPETITION or (schema is not None and self.wanted.is_shown(schema, a.name))
                yield self._argument(a, kept)
        yield from self._lifecycle(body)
        yield from self._blocks(body, schema)

    def _lifecycle(self, body: Any) -> Iterator[str]:
        for block in body.blocks:
            if block.type == "lifecycle":
                kept = [self._argument(a, True) for a in block.body.attributes.values() if a.name in _KEPT["lifecycle"]]
                yield f"lifecycle {{\n{''.join(kept)}}}\n"

    def _blocks(self, body: Any, schema: BlockSchema | None) -> Iterator[str]:
        """The recorded text of each nested block that the schema contains."""
        for block in body.blocks:
            name, _ = _block_type(block)
            nested = schema.blocks.get(name) if schema is not None else None
            if nested is None:
                continue
            inside: list[str] = []
            if block.type == "dynamic":
                kept = self.wanted.is_repetition_shown(block, nested.block)
                inside = [self._argument(a, kept) for a in block.body.attributes.values()]
                for content in block.body.blocks:
                    inside += ["content {\n", *self._body(content.body, nested.block), "}\n"]
            else:
                inside = self._body(block.body, nested.block)
            yield _header(block) + "".join(inside) + "}\n"

    def _body(self, body: Any, schema: BlockSchema) -> list[str]:
        arguments = [self._argument(a, self.wanted.is_shown(schema, a.name)) for a in body.attributes.values()]
        return [*arguments, *self._blocks(body, schema)]

    def _argument(self, attribute: Attribute, kept: bool) -> str:
        expr, source = attribute.expr, attribute.source
        if not _has_values(expr):
            return f"{attribute.name} = {_text(source, expr.start, expr.end)}\n"
        if not kept:
            return f"{attribute.name} = {_PLACEHOLDER}\n"
        parts, at = [f"{attribute.name} = "], expr.start
        for call in self.wanted.hidden(expr):
            if call.start >= at and any(map(_has_values, call.arguments)):
                parts += [_text(source, at, call.open + 1), _PLACEHOLDER]
                at = call.close
        return "".join([*parts, _text(source, at, expr.end), "\n"])

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
                kept[kind] = [self._values(one, {n for n in one if self._reads("local", n)}) for one in _items(blocks)]
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
            kept_ones = ("default", "type") if self._is_kept(name) else ()
            return {**fixed, **{n: v for n, v in given.items() if n in kept_ones}}
        if kind == "output":
            kept = {"value"} if self._keeps_output(name) else set()
            return {**fixed, **self._values({"value": given.get("value")}, kept)}
        rest = {
            n: v for n, v in given.items() if n not in (*fixed, "source", "providers", "depends_on", "//", "lifecycle")
        }
        wanted = {n for n in rest if self._keeps_input(name, n)}
        source = {"source": without_secrets(str(given["source"]))} if "source" in given else {}
        return {**fixed, **source, **self._values(rest | dict.fromkeys(self._lost_defaults(name, given)), wanted)}

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
        kept = self._values(plain, {n for n in plain if self.wanted.is_shown(schema, n)})
        for name, nested in schema.blocks.items():
            if name in given and all(isinstance(one, dict) for one in _items(given[name])):
                kept[name] = [self._json_body(one, nested.block) for one in _items(given[name])]
        return kept

    def _values(self, given: Mapping[str, Any], kept: set[str]) -> dict[str, Any]:
        placeholder = f"${{{_PLACEHOLDER}}}"
        return {
            name: value if name in kept and not self.wanted.hides(json.dumps(value)) else placeholder
            for name, value in given.items()
            if name != "//"
        }


def _items(given: Any) -> list[dict[str, Any]]:
    """The objects in the value of a JSON property, which is one object or a list of objects."""
    return [one for one in (given if isinstance(given, list) else [given]) if isinstance(one, dict)]


def _header(block: Block) -> str:
    return " ".join([block.type, *(json.dumps(label.value) for label in block.labels)]) + " {\n"


def _text(source: Source, start: int, end: int) -> str:
    """The source text from `start` to `end`, without comments."""
    text = source.text[start:end]
    if not any(sign in text for sign in ("#", "//", "/*")):
        return text
    parts, at = [], 0
    for kind, value, start in tokenize(text, 0, BRACKETS):
        gap = text[at:start]
        parts += [gap if not gap.strip() else "\n" if "\n" in gap else " ", "\n" if kind == "NEWLINE" else value]
        at = start + len(value)
    return "".join(parts)
