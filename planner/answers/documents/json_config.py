"""The `configuration` member of plan JSON: declarations, with the constants and references of each expression."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from planner.answers.documents.json_providers import provider_configurations
from planner.answers.documents.json_state import SchemaOf, resource_schema
from planner.answers.documents.json_values import plain
from planner.foundation.support.exact_json import loads
from planner.foundation.values.numbers import number_to_text
from planner.foundation.values.schema import AttributeSchema, BlockSchema
from planner.foundation.values.sets import quote
from planner.foundation.values.types import DYNAMIC, type_to_json
from planner.foundation.vocabulary.address import format_key
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.span import Source
from planner.language.config.model import (
    Config,
    Expr,
    ModuleCall,
    ModuleConfig,
    OutputDecl,
    Provisioner,
    Reference,
    ResourceDecl,
    VariableDecl,
)
from planner.language.config.references import BadReference, Ref, parse_reference
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.scope import ConstantScope
from planner.language.syntax import nodes
from planner.language.syntax.body import Body, BodySchema, references
from planner.language.syntax.body import ExpectedBlock as BlockHeader

ProvisionerSchemas = Callable[[str], "BlockSchema | None"]


def config_json(config: Config, schema_of: SchemaOf, provisioners: ProvisionerSchemas | None = None) -> dict[str, Any]:
    """The configuration as `show -json` prints it. Raises Failure if a schema is missing."""
    from planner.engine.apply.provisioners import provisioner_schema

    writer = _ConfigWriter(schema_of, provisioners or provisioner_schema, config)
    out: dict[str, Any] = {}
    if writer.providers.shown:
        out["provider_config"] = {
            key: _without_empty(
                {**entry.fields(), "expressions": writer.provider_expressions(entry.block, entry.full_name)}
            )
            for key, entry in sorted(writer.providers.shown.items())
        }
    out["root_module"] = writer.module(config.root)
    return out


def module_json(config: Config) -> dict[str, Any]:
    """A single module as `show -json -module` prints it. The JSON does not contain expressions, because they require
    the provider schemas and the called modules."""
    writer = _ModuleWriter(_no_schema, lambda type: None, config)
    out: dict[str, Any] = {}
    if writer.providers.shown:
        out["provider_config"] = {
            key: _without_empty(entry.fields()) for key, entry in sorted(writer.providers.shown.items())
        }
    out["root_module"] = writer.module(config.root)
    return out


def _no_schema(provider: str) -> Any:
    raise Failure(
        error(
            "show.no_schema",
            "No schema",
            f"With -module, planner does not load provider schemas, such as that of {provider}.",
        )
    )


class _ConfigWriter:
    def __init__(self, schema_of: SchemaOf, provisioners: ProvisionerSchemas, config: Config) -> None:
        self.schema_of = schema_of
        self.provisioners = provisioners
        self.providers = provider_configurations(config)
        self._body_schemas: dict[int, tuple[BlockSchema, BodySchema]] = {}

    # ------------------------------------------------------------ modules

    def module(self, module: ModuleConfig) -> dict[str, Any]:
        return _without_empty(
            {
                "outputs": {name: self.output(module.outputs[name]) for name in sorted(module.outputs)},
                "resources": self.resources(module),
                "actions": self.resources(module, actions=True),
                "module_calls": {
                    name: self.call(module.calls[name], module.children[name])
                    for name in sorted(module.calls)
                    if name in module.children
                },
                "variables": {name: _variable(module.variables[name]) for name in sorted(module.variables)},
            }
        )

    def output(self, output: OutputDecl) -> dict[str, Any]:
        out = _without_empty({"sensitive": output.sensitive, "ephemeral": output.ephemeral})
        if output.deprecated:
            out["deprecated"] = output.deprecated
        out["expression"] = expression_json(output.value.node, output.value.source)
        if output.depends_on:
            out["depends_on"] = _reference_names(output.depends_on)
        if output.description:
            out["description"] = output.description
        if output.type is not None:
            out["type"] = type_to_json(output.type.type)
        return out

    def call(self, call: ModuleCall, child: ModuleConfig) -> dict[str, Any]:
        inputs = BlockSchema({name: AttributeSchema(DYNAMIC, optional=True) for name in child.variables})
        expressions = (
            self.body(call.body, inputs)
            if call.body is not None
            else {
                name: expression_json(a.expr, a.source)
                for name, a in sorted(call.inputs.items())
                if name in child.variables
            }
        )
        out = _without_empty({"source": call.written_source, "expressions": expressions})
        out.update(_repetition(call.count, call.for_each))
        out["module"] = self.module(child)
        if call.version:
            out["version_constraint"] = call.version
        if call.depends_on:
            out["depends_on"] = _reference_names(call.depends_on)
        return out

    # ------------------------------------------------------------ resources

    def resources(self, module: ModuleConfig, actions: bool = False) -> list[dict[str, Any]]:
        order = {"managed": 0, "data": 1, "ephemeral": 2, "action": 3}
        wanted = (r for r in module.resources.values() if (r.mode == "action") == actions)
        declared = sorted(wanted, key=lambda r: (order[r.mode], r.key))
        return [self.resource(r, module) for r in declared]

    def resource(self, resource: ResourceDecl, module: ModuleConfig) -> dict[str, Any]:
        source = module.provider_source(resource.provider_name)
        schema = resource_schema(self.schema_of, source, resource.mode, resource.type, resource.key)
        out = self.head(resource, module)
        expressions = self.body(resource.body, schema.block)
        if expressions:
            out["expressions"] = expressions
        out["schema_version"] = schema.version
        out.update(_repetition(resource.count, resource.for_each))
        if resource.depends_on:
            out["depends_on"] = _reference_names(resource.depends_on)
        return out

    def head(self, resource: ResourceDecl, module: ModuleConfig) -> dict[str, Any]:
        """The members that every resource has in the JSON."""
        local = str(resource.provider) if resource.provider else resource.provider_name
        out: dict[str, Any] = {
            "address": resource.key,
            "mode": resource.mode,
            "type": resource.type,
            "name": resource.name,
            "provider_config_key": self.providers.resolve(local, module.path),
        }
        if resource.provisioners:
            out["provisioners"] = [self.provisioner(p) for p in resource.provisioners]
        return out

    def provisioner(self, provisioner: Provisioner) -> dict[str, Any]:
        out: dict[str, Any] = {"type": provisioner.type}
        schema = self.provisioners(provisioner.type)
        expressions = self.body(provisioner.body, schema) if schema is not None else {}
        if expressions:
            out["expressions"] = expressions
        return out

    def provider_expressions(self, body: Body | None, source: str) -> dict[str, Any]:
        return self.body(body, self.schema_of(source).provider) if body is not None else {}

    # ------------------------------------------------------------ bodies

    def body(self, body: Body, schema: BlockSchema) -> dict[str, Any]:
        """The JSON of a body: arguments as expressions, and nested blocks in the form of their nesting mode. Dynamic
        blocks are omitted."""
        content, _ = body.partial_content(self.header(schema))
        out: dict[str, Any] = {
            name: expression_json(attribute.expr, attribute.source) for name, attribute in content.attributes.items()
        }
        for block in content.blocks:
            nested = schema.blocks[block.type]
            inner = self.body(block.body, nested.block)
            if nested.nesting in ("single", "group"):
                out[block.type] = inner
            elif nested.nesting == "map":
                out.setdefault(block.type, {})[block.labels[0].value] = inner
            else:
                out.setdefault(block.type, []).append(inner)
        return dict(sorted(out.items()))

    def header(self, schema: BlockSchema) -> BodySchema:
        known = self._body_schemas.get(id(schema))
        if known is not None and known[0] is schema:
            return known[1]
        blocks = tuple(
            BlockHeader(name, ("key",) if nested.nesting == "map" else ()) for name, nested in schema.blocks.items()
        )
        made = BodySchema(dict.fromkeys(schema.attributes, False), blocks)
        self._body_schemas[id(schema)] = (schema, made)
        return made


class _ModuleWriter(_ConfigWriter):
    """Writes a single module. Expressions and called modules are not written, because providers and called modules may
    not be installed."""

    def module(self, module: ModuleConfig) -> dict[str, Any]:
        return _without_empty(
            {
                "outputs": {name: self.output(module.outputs[name]) for name in sorted(module.outputs)},
                "resources": self.resources(module),
                "actions": self.resources(module, actions=True),
                "module_calls": {name: self.uninstalled(module.calls[name]) for name in sorted(module.calls)},
                "variables": {name: _variable(module.variables[name]) for name in sorted(module.variables)},
            }
        )

    def output(self, output: OutputDecl) -> dict[str, Any]:
        out = super().output(output)
        del out["expression"]
        return out

    def uninstalled(self, call: ModuleCall) -> dict[str, Any]:
        out = _without_empty({"source": call.written_source, "version_constraint": call.version or ""})
        if call.depends_on:
            out["depends_on"] = _reference_names(call.depends_on)
        return out

    def resource(self, resource: ResourceDecl, module: ModuleConfig) -> dict[str, Any]:
        out = self.head(resource, module)
        if resource.depends_on:
            out["depends_on"] = _reference_names(resource.depends_on)
        return out


# ---------------------------------------------------------------- expressions


def expression_json(node: nodes.Expression, source: Source) -> dict[str, Any]:
    """The JSON of an expression. It has the member `constant_value` if the expression contains neither references nor
    calls, otherwise the member `references`. For an expression in a JSON file, `constant_value` is always present and
    contains the JSON as it was written. The result is {} for a constant expression that cannot be evaluated."""
    if node.__class__ is nodes.Literal:
        return {"constant_value": plain(node.value)}
    out: dict[str, Any] = {}
    mentioned = references(node)
    texts = [text for one in mentioned if not isinstance(one, nodes.Call) for text in reference_texts(one)]
    texts += [one.name for one in mentioned if isinstance(one, nodes.Call)]
    if source.filename.endswith(".json"):
        out["constant_value"] = _sort(loads(source.text[node.start : node.end].encode()))
    elif not texts:
        value, diagnostics = try_evaluate(node, ConstantScope())
        if not diagnostics:
            with suppress(Failure):  # an infinite number has no JSON form
                out["constant_value"] = plain(value)
    if texts:
        out["references"] = texts
    return out


def _sort(data: Any) -> Any:
    if data.__class__ is dict:
        return {key: _sort(data[key]) for key in sorted(data)}
    return [_sort(item) for item in data] if data.__class__ is list else data


def reference_texts(node: nodes.Traversal | nodes.Variable) -> list[str]:
    """The names that plan JSON lists for a reference, the longest first: the reference with all its steps, then with
    fewer and fewer steps, then without an instance key. For an output of a module, the last name is that of the module
    call. [] for an invalid reference."""
    ref = parse_reference(node)
    if isinstance(ref, BadReference):
        return []
    subject = subject_text(ref)
    if ref.kind == "terraform" and isinstance(node, nodes.Traversal):  # tofu.workspace is an alias
        subject = f"{node.root}.{ref.name}"
    steps = [_step_text(step) for step in ref.rest]
    texts = [subject + "".join(steps[:n]) for n in range(len(steps), -1, -1)]
    if ref.kind == "output":
        texts.append(f"module.{ref.name}{format_key(ref.key)}")
    elif ref.key is not None:
        texts.append(ref.name if ref.kind == "resource" else f"module.{ref.name}")
    return texts


def subject_text(ref: Ref) -> str:
    """The name of a reference's target, without further steps: `module.m[0].out`, `terraform_data.a["k"]`, `var.x`."""
    key = format_key(ref.key)
    if ref.kind == "resource":
        return f"{ref.name}{key}"
    if ref.kind == "self":
        return "self"
    if ref.kind == "output":
        return f"module.{ref.name}{key}.{ref.output}"
    return f"{ref.kind}.{ref.name}{key}"


def _step_text(step: nodes.Step) -> str:
    if isinstance(step, nodes.GetAttr):
        return f".{step.name}"
    if isinstance(step.key, str):
        return f"[{quote(step.key)}]"
    return f"[{number_to_text(step.key)}]"


def _reference_names(references: Iterable[Reference]) -> list[str]:
    texts = []
    for reference in references:
        ref = parse_reference(reference.node)
        if isinstance(ref, Ref):
            texts.append(subject_text(ref))
    return texts


def _repetition(count: Expr | None, for_each: Expr | None) -> dict[str, Any]:
    for name, expr in (("count_expression", count), ("for_each_expression", for_each)):
        described = expression_json(expr.node, expr.source) if expr is not None else {}
        if described:
            return {name: described}
    return {}


# ---------------------------------------------------------------- small parts


def _variable(variable: VariableDecl) -> dict[str, Any]:
    out: dict[str, Any] = {}
    type_ = variable.constraint.written
    if type_ is not DYNAMIC:
        out["type"] = type_to_json(type_)
    if variable.default is not None:
        out["default"] = plain(variable.default)
    else:
        out["required"] = True
    more = {
        "description": variable.description,
        "sensitive": variable.sensitive,
        "ephemeral": variable.ephemeral,
        "deprecated": variable.deprecated,
    }
    return {**out, **_without_empty(more)}


def _without_empty(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, False, "", {}, [])}
