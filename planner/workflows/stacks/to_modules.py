"""Converts a deployment of a stack to a root module. Each component becomes a module call, and the states of the
component instances become one state. If something cannot be converted, it is reported, and nothing is written."""

from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Iterable, Mapping

from attrs import evolve, frozen

from planner.foundation.support.disk import read_whole
from planner.foundation.values.json_codec import simple_json
from planner.foundation.values.value import EPHEMERAL, SENSITIVE, Value, is_null, is_wholly_known, unmark_deep
from planner.foundation.vocabulary.address import format_key, join
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.model import Expr
from planner.language.config.reading import Problems
from planner.language.config.stack_files.load import stack_files
from planner.language.config.stack_files.model import ComponentDecl, ProviderSource, StackConfig
from planner.language.syntax import nodes
from planner.language.syntax.body import Attribute, Block, Mentioning, NativeBody, variables
from planner.language.syntax.files import load_text
from planner.language.syntax.format import format_text
from planner.workflows.stacks.from_modules import HIDDEN, literal
from planner.workflows.stacks.names import PromiseName, Wild
from planner.world.state.model import InstanceState, ObjectState, ResourceState, State

MAIN, VALUES = "main.tf", "terraform.tfvars"


@frozen(eq=False)
class RootModule:
    """The root module into which a deployment is converted. `files`: {file name: content}. `shown`: the same for
    display, with sensitive values hidden. `state`: its state."""

    files: dict[str, str]
    shown: dict[str, str]
    state: State


def convert(
    stack: StackConfig, inputs: Mapping[str, Value], states: Mapping[PromiseName, State], folder: str
) -> RootModule:
    """Convert a deployment to a root module. `folder`: the directory for its files; local sources are relative to it.
    Raises Failure with an error for everything that cannot be converted."""
    writer = _RootModuleWriter(stack, folder)
    for name in stack_files(".").components:
        body, source, item = load_text(read_whole(name), name, False)
        writer.problems.extend(item)
        if not isinstance(body, NativeBody):
            writer.refuse("File cannot be converted", f"Convert {name} by hand.", None)
            continue
        for block in body.blocks:
            writer.add(block, source)
    values = writer.values(inputs)
    state = writer.joined(states)
    if writer.problems.has_errors:
        raise Failure(writer.problems)
    files = {MAIN: format_text("\n".join(writer.blocks))}
    shown = dict(files)
    if values:
        files[VALUES] = format_text(values)
        shown[VALUES] = format_text(writer.values(inputs, hides=True))
    return RootModule(files, shown, state)


class _RootModuleWriter:
    def __init__(self, stack: StackConfig, folder: str) -> None:
        self.stack, self.root, self.folder = stack, stack.root, folder
        self.problems = Problems()
        self.blocks: list[str] = []

    def refuse(self, title: str, detail: str, span: Span | None) -> None:
        self.problems.error("to_modules", title, detail, span)

    # ------------------------------------------------------------ blocks

    def add(self, block: Block, source: Source) -> None:
        body = block.body
        assert isinstance(body, NativeBody)
        kind = block.type
        if kind in ("stack", "removed"):
            detail = (
                "Child stacks have no equivalent in a root module."
                if kind == "stack"
                else "Apply this block first, then remove it."
            )
            self.refuse(f"Root modules do not support {kind}", detail, block.header_span)
        elif kind == "required_providers":
            self.blocks.append(f"terraform {{\n{source.text[block.start : block.end]}\n}}\n")
        elif kind == "locals":
            self.block("locals", [self.argument(a) for a in body.attributes.values()])
        elif kind == "variable":
            self.block(f'variable "{block.labels[0].value}"', [self.argument(a) for a in body.attributes.values()])
        elif kind == "output":
            kept = [a for name, a in body.attributes.items() if name != "type"]
            self.block(f'output "{block.labels[0].value}"', [self.argument(a) for a in kept])
        elif kind == "provider":
            self.provider(block, body)
        elif kind == "component":
            self.component(self.root.components[f"component.{block.labels[0].value}"], body)

    def provider(self, block: Block, body: NativeBody) -> None:
        type_, alias = (label.value for label in block.labels)
        lines = [f"alias = {json.dumps(alias)}"]
        lines += [self.argument(a) for a in body.attributes.values()]
        for inner in body.blocks:
            config = inner.body
            assert isinstance(config, NativeBody)
            lines += [self.argument(a) for a in config.attributes.values()]
            lines += [self.rewritten(b, b.start, b.end, b.source) for b in config.blocks]
        self.block(f'provider "{type_}"', lines)

    def component(self, component: ComponentDecl, body: NativeBody) -> None:
        call = component.call
        source = call.written_source
        if call.source_kind == "local":
            source = posixpath.relpath(os.path.abspath(source), os.path.abspath(self.folder))
            source = source if source.startswith("../") else f"./{source}"
        lines = [f"source = {json.dumps(source)}"]
        lines += [self.argument(body.attributes[name]) for name in ("version", "for_each") if name in body.attributes]
        lines += self.inputs(component)
        given = [f"{inner} = {self.outer(outer)}" for inner, outer in component.providers]
        if given:
            lines.append("providers = {\n" + "\n".join(given) + "\n}")
        if "depends_on" in body.attributes:
            lines.append(self.argument(body.attributes["depends_on"]))
        self.block(f'module "{component.name}"', lines)

    def inputs(self, component: ComponentDecl) -> list[str]:
        expr = component.inputs
        if expr is None:
            return []
        if not isinstance(expr.node, nodes.Object):
            self.refuse(
                "Computed inputs not supported", "First write the inputs as an object: { NAME = VALUE }.", expr.span
            )
            return []
        lines = []
        for item in expr.node.items:
            if not isinstance(item.key, nodes.Literal):
                self.refuse("Computed inputs not supported", "First write the names of inputs literally.", expr.span)
                continue
            value = self.rewritten(item.value, item.value.start, item.value.end, expr.source)
            lines.append(f"{item.key.value} = {value}")
        return lines

    def outer(self, outer: ProviderSource) -> str:
        return f"{outer.type}.{outer.alias}{f'[{self.text(outer.key)}]' if outer.key is not None else ''}"

    def text(self, expr: Expr) -> str:
        return self.rewritten(expr.node, expr.node.start, expr.node.end, expr.source)

    def block(self, header: str, lines: Iterable[str]) -> None:
        self.blocks.append(f"{header} {{\n" + "\n".join(lines) + "\n}\n")

    # ------------------------------------------------------------ expressions

    def argument(self, attribute: Attribute) -> str:
        return self.rewritten(attribute.expr, attribute.start, attribute.end, attribute.source)

    def rewritten(self, node: Mentioning, start: int, end: int, source: Source) -> str:
        """The source from `start` to `end`, in which references to components (`component.NAME`) are replaced with
        references to modules. References to child stacks are reported."""
        edits: set[int] = set()
        for mention in variables(node):
            root = mention.name if isinstance(mention, nodes.Variable) else mention.root
            if root == "component":
                edits.add(mention.start)
            elif root == "stack":
                span = Span(source, mention.start, mention.end)
                self.refuse(
                    "Root modules do not support child stacks",
                    "Child stacks have no equivalent in a root module.",
                    span,
                )
        text = source.text
        out, at = [], start
        for place in sorted(edits):
            out += [text[at:place], "module"]
            at = place + len("component")
        return "".join([*out, text[at:end]])

    # ------------------------------------------------------------ values and states

    def values(self, inputs: Mapping[str, Value], hides: bool = False) -> str:
        """The content of terraform.tfvars: the inputs that are known, not ephemeral and not null. `hides`: mask
        sensitive values."""
        lines = []
        for name, value in sorted(inputs.items()):
            plain, marks = unmark_deep(value)
            if EPHEMERAL in marks or not is_wholly_known(plain):
                continue  # such a value, for example a token, is set for each run
            if not is_null(plain):
                secret = SENSITIVE in marks or (name in self.root.variables and self.root.variables[name].sensitive)
                lines.append(f"{name} = {HIDDEN if hides and secret else literal(simple_json(plain))}\n")
        return "".join(lines)

    def joined(self, states: Mapping[PromiseName, State]) -> State:
        resources: dict[str, ResourceState] = {}
        for name, state in states.items():
            component = self.root.components.get(f"component.{name.name}")
            if name.path or component is None or isinstance(name.key, Wild):
                self.refuse("No target for a state", f"{name} does not belong to a component of the root stack.", None)
                continue
            head = f"module.{name.name}{format_key(name.key)}"
            for resource in state.resources.values():
                instances = {k: _instance(i, f"module.{name.name}.") for k, i in resource.instances.items()}
                provider = _provider(resource.provider, component)
                moved = evolve(resource, module=join(head, resource.module), instances=instances, provider=provider)
                resources[moved.address] = moved
        return State(resources=resources)


def _instance(instance: InstanceState, prefix: str) -> InstanceState:
    def outside(thing: ObjectState) -> ObjectState:
        return evolve(thing, dependencies=tuple(f"{prefix}{d}" for d in thing.dependencies))

    deposed = {key: outside(thing) for key, thing in instance.deposed.items()}
    return evolve(
        instance, current=outside(instance.current) if instance.current is not None else None, deposed=deposed
    )


def _provider(address: str, component: ComponentDecl) -> str:
    """The address that a provider configuration in a component's state has in the root module."""
    if address.startswith("module."):
        return address
    head, _, alias = address.rpartition("]")
    for inner, outer in component.providers:
        if (f".{inner.alias}" if inner.alias else "") == alias and _is_type(head, component, inner.name):
            return f"{head}].{outer.alias}"
    return address


def _is_type(head: str, component: ComponentDecl, name: str) -> bool:
    config = component.config
    return config is not None and head.endswith(f'"{config.root.provider_source(name)}"')
