"""Converts a root module to a stack. Each called module becomes a component, provider blocks become provider blocks of
the stack, and the state is divided among the components. If something cannot be converted, it is reported, and nothing
is written."""

from __future__ import annotations

import json
import os
from collections.abc import Container, Iterable, Mapping
from typing import Any

from attrs import evolve, field, frozen

from planner.foundation.support.disk import read_whole
from planner.foundation.values.json_codec import simple_json
from planner.foundation.values.types import constraint_text
from planner.foundation.values.value import SENSITIVE, is_null, unmark_deep
from planner.foundation.vocabulary.address import format_key, parse_module
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.directory import module_files
from planner.language.config.model import Config, ModuleCall, ModuleConfig, ProviderRef
from planner.language.config.reading import Problems
from planner.language.config.stack_files.check import needed_configurations
from planner.language.config.variables import RootVariable
from planner.language.syntax import nodes
from planner.language.syntax.body import Attribute, Block, Body, Mentioning, NativeBody, variables
from planner.language.syntax.files import load_text
from planner.language.syntax.format import format_text
from planner.operations.providers_needed import provider_constraints
from planner.workflows.stacks.names import PromiseName
from planner.world.state.model import InstanceState, ObjectState, ResourceState, State

HIDDEN = "(sensitive)"
COMPONENTS, DEPLOYMENTS = "main.tfcomponent.hcl", "main.tfdeploy.hcl"
_IN_COMPONENT = ("source", "version", "for_each", "depends_on", "providers", "count")
_HERE = ("var", "local", "each", "module")
_TYPES = frozenset(("string", "number", "bool", "any", "list", "map", "set"))
_REFUSED = {
    "resource": "First move it into a module, which can become a component.",
    "data": "First move it into a module, which can become a component.",
    "ephemeral": "First move it into a module, which can become a component.",
    "check": "First move it into a module.",
    "import": "Apply the import first, and remove the block.",
    "moved": "Apply the move first, and remove the block.",
    "removed": "Apply the removal first, and remove the block.",
}


@frozen(eq=False)
class ConvertedModule:
    """The stack into which a root module is converted. `files`: {file name: content}. `shown`: the same for display,
    with sensitive values hidden. `states`: {component instance: state}."""

    files: dict[str, str]
    shown: dict[str, str]
    states: dict[PromiseName, State] = field(factory=dict)
    problems: tuple[Any, ...] = ()


def convert(
    directory: str, config: Config, state: State, given: Mapping[str, RootVariable], deployment: str
) -> ConvertedModule:
    """Convert a root module, whose modules are installed. Raises Failure with an error for everything that cannot be
    converted."""
    writer = _StackWriter(config, state)
    for name in _root_files(directory, writer.problems):
        data = read_whole(os.path.join(directory, name))
        body, source, item = load_text(data, name, False)
        writer.problems.extend(item)
        if isinstance(body, NativeBody):
            writer.file(body, source)
    states = divided(config.root, state, writer.problems)
    if writer.problems.has_errors:
        raise Failure(writer.problems)
    files = {
        COMPONENTS: format_text(writer.text()),
        DEPLOYMENTS: format_text(deployment_text(deployment, given)),
    }
    secret = {name for name, variable in config.root.variables.items() if variable.sensitive}
    secret |= {name for name, item in given.items() if SENSITIVE in unmark_deep(item.value)[1]}
    shown = {**files, DEPLOYMENTS: format_text(deployment_text(deployment, given, secret))}
    return ConvertedModule(files, shown, states, tuple(writer.problems))


def _root_files(directory: str, problems: Problems) -> list[str]:
    files = module_files(directory)
    for name in (*files.override, *(name for name in files.normal if name.endswith(".json"))):
        detail = f"{name} must be converted by hand: only ordinary files in native syntax are read."
        problems.error("from_modules", "File cannot be converted", detail)
    return [name for name in files.normal if not name.endswith(".json")]


class _StackWriter:
    def __init__(self, config: Config, state: State) -> None:
        self.config, self.state = config, state
        self.problems = Problems()
        self.blocks: list[str] = []
        self.providers: set[str] = set()

    def text(self) -> str:
        """The content of the component file."""
        return "\n".join([*self.requirements(), *self.implied(), *self.blocks])

    # ------------------------------------------------------------ blocks

    def file(self, body: NativeBody, source: Source) -> None:
        for block in body.blocks:
            kind = block.type
            if kind in _REFUSED:
                where = block.header_span
                self.problems.error("from_modules", f"Stacks do not support {kind}", _REFUSED[kind], where)
            elif kind == "terraform":
                self.settings(block)
            elif kind in ("variable", "output", "locals", "module", "provider"):
                getattr(self, kind)(block)

    def settings(self, block: Block) -> None:
        for inner in _native(block.body).blocks:
            if inner.type in ("backend", "cloud"):
                detail = "The stack's states are stored in stack-states, or at the location in planner.stack.hcl."
                title = "The backend is not converted"
                self.problems.warning("from_modules", title, detail, inner.header_span)

    def variable(self, block: Block) -> None:
        body = _native(block.body)
        for inner in body.blocks:
            detail = "Variables of stacks cannot have validations. A module that uses the value can check it."
            self.problems.warning("from_modules", "Validation not converted", detail, inner.header_span)
        kept = ("type", "default", "description", "sensitive", "nullable", "ephemeral")
        lines = [] if "type" in body.attributes else ["type = any"]
        lines += [self.argument(body.attributes[name]) for name in kept if name in body.attributes]
        self.block(f'variable "{block.labels[0].value}"', lines)

    def output(self, block: Block) -> None:
        body = _native(block.body)
        name = block.labels[0].value
        recorded = self.state.outputs.get(name)
        lines = [f"type = {constraint_text(recorded.type) if recorded is not None else 'any'}"]
        kept = ("value", "description", "sensitive", "ephemeral")
        lines += [self.argument(body.attributes[word]) for word in kept if word in body.attributes]
        for inner in body.blocks:
            detail = (
                "Outputs of stacks cannot have conditions. The module that computes the value can check the condition."
            )
            self.problems.warning("from_modules", "Condition not converted", detail, inner.header_span)
        self.block(f'output "{name}"', lines)

    def locals(self, block: Block) -> None:
        self.block("locals", [self.argument(a) for a in _native(block.body).attributes.values()])

    def provider(self, block: Block) -> None:
        body = _native(block.body)
        alias = body.attributes.get("alias")
        name = block.labels[0].value
        called = alias.expr.value if alias is not None and isinstance(alias.expr, nodes.Literal) else "this"
        self.providers.add(f"{name}.{called}")
        lines = [self.argument(body.attributes["for_each"])] if "for_each" in body.attributes else []
        kept = [a for key, a in body.attributes.items() if key not in ("alias", "version", "for_each")]
        inner = [self.argument(a) for a in kept] + [self.rewritten(b, b.start, b.end, b.source) for b in body.blocks]
        if inner:
            lines.append("config {\n" + "\n".join(inner) + "\n}")
        self.block(f'provider "{name}" "{called}"', lines)

    def module(self, block: Block) -> None:
        body = _native(block.body)
        name = block.labels[0].value
        call = self.config.root.calls[name]
        if call.count is not None or call.enabled is not None:
            detail = (
                "Components are repeated with for_each only: use for_each here first (moved blocks keep the objects)."
            )
            word = "count" if call.count is not None else "enabled"
            self.problems.error("from_modules", f"Stacks do not support {word}", detail, block.header_span)
        lines = [self.argument(body.attributes[k]) for k in ("source", "version", "for_each") if k in body.attributes]
        inputs = [self.argument(a) for key, a in body.attributes.items() if key not in _IN_COMPONENT]
        if inputs:
            lines.append("inputs = {\n" + "\n".join(inputs) + "\n}")
        given = self.given(call, self.config.root.children.get(name))
        if given:
            lines.append("providers = {\n" + "\n".join(given) + "\n}")
        if "depends_on" in body.attributes:
            lines.append(self.argument(body.attributes["depends_on"]))
        self.block(f'component "{name}"', lines)

    def block(self, header: str, lines: Iterable[str]) -> None:
        self.blocks.append(f"{header} {{\n" + "\n".join(lines) + "\n}\n")

    # ------------------------------------------------------------ providers

    def given(self, call: ModuleCall, child: ModuleConfig | None) -> list[str]:
        """The lines of a component's `providers` argument. They pass the configurations that the module call passes
        and, for other provider names, the default configurations."""
        if child is None:
            return []
        needed = needed_configurations(Config(evolve(child, path=(), call=None)))
        passed = {str(inner): outer for inner, outer in call.providers}
        lines = []
        for name in sorted(needed):
            outer = passed.get(name, ProviderRef(name.partition(".")[0]))
            source = f"{outer.name}.{outer.alias or 'this'}"
            self.providers.add(source)
            key = ""
            if outer.key is not None:
                key = f"[{self.rewritten(outer.key.node, outer.key.node.start, outer.key.node.end, outer.key.source)}]"
            inner = name if "." not in name else f'"{name}"'
            lines.append(f"{inner} = provider.{source}{key}")
        return lines

    def implied(self) -> list[str]:
        """Provider blocks for the configurations that components use and for which the root module has no block."""
        written = {f"{p.name}.{p.alias or 'this'}" for p in self.config.root.providers.values()}
        return [
            f'provider "{name}" "{alias}" {{}}\n'
            for name, _, alias in sorted(source.partition(".") for source in self.providers - written)
        ]

    def requirements(self) -> list[str]:
        names = sorted({source.partition(".")[0] for source in self.providers})
        if not names:
            return []
        constraints = provider_constraints(self.config)
        lines = []
        for name in names:
            source = self._source(name)
            version = ", ".join(constraints.get(source, ()))
            more = f"\nversion = {json.dumps(version)}" if version else ""
            short = source.removeprefix("registry.opentofu.org/")
            lines.append(f"{name} = {{\nsource = {json.dumps(short)}{more}\n}}")
        return ["required_providers {\n" + "\n".join(lines) + "\n}\n"]

    def _source(self, name: str) -> str:
        """The source address of the provider with a local name. It comes from the root module or, if that does not
        declare the name, from a called module. If no module declares it, the default address is used."""
        root = self.config.root
        if name in root.required_providers:
            return root.provider_source(name)
        items = {child.provider_source(name) for child in root.children.values() if name in child.required_providers}
        return min(items) if items else root.provider_source(name)

    # ------------------------------------------------------------ expressions

    def argument(self, attribute: Attribute) -> str:
        return self.rewritten(attribute.expr, attribute.start, attribute.end, attribute.source)

    def rewritten(self, node: Mentioning, start: int, end: int, source: Source) -> str:
        """The source from `start` to `end`, in which references to modules (`module.NAME`) are replaced with references
        to components. Names that do not exist in a stack are reported."""
        edits: list[int] = []
        for mention in variables(node):
            root = mention.name if isinstance(mention, nodes.Variable) else mention.root
            if root == "module":
                edits.append(mention.start)
            elif root not in _HERE and not _is_word(mention):
                detail = f"{root} is not available in a stack: only variables, local values and components are."
                where = Span(source, mention.start, mention.end)
                self.problems.error("from_modules", "Reference not allowed in a stack", detail, where)
        text = source.text
        out, at = [], start
        for place in sorted(set(edits)):
            out += [text[at:place], "component"]
            at = place + len("module")
        return "".join([*out, text[at:end]])


def _is_word(mention: nodes.Traversal | nodes.Variable) -> bool:
    """Whether a reference may be a keyword of a type constraint, such as `string`."""
    return isinstance(mention, nodes.Variable) and mention.name in _TYPES


def _native(body: Body) -> NativeBody:
    assert isinstance(body, NativeBody)
    return body


# ---------------------------------------------------------------- deployments


def deployment_text(name: str, given: Mapping[str, RootVariable], hidden: Container[str] = ()) -> str:
    """A deployment block with these values of variables as inputs. Values of variables in `hidden` are masked."""
    lines = []
    for variable, item in sorted(given.items()):
        value = unmark_deep(item.value)[0]
        if item.raw is not None and not is_null(value):
            text = HIDDEN if variable in hidden else literal(simple_json(value))
            lines.append(f"{variable} = {text}")
    inputs = "inputs = {\n" + "\n".join(lines) + "\n}" if lines else "inputs = {}"
    return f'deployment "{name}" {{\n{inputs}\n}}\n'


def literal(data: Any) -> str:
    """Plain data as the source of an expression."""
    text = json.dumps(data, indent=2, ensure_ascii=False)
    return text.replace("${", "$${").replace("%{", "%%{")


# ---------------------------------------------------------------- states


def divided(root: ModuleConfig, state: State, problems: Problems) -> dict[PromiseName, State]:
    """Divide a state: {component instance: state with the objects of its module instance}. Objects outside of the
    called modules are reported as errors."""
    parts: dict[PromiseName, list[ResourceState]] = {}
    for resource in state.resources.values():
        steps = parse_module(resource.module).steps if resource.module else ()
        if not steps or steps[0][0] not in root.calls:
            detail = f"{resource.address} is in the state, but in none of the modules that the configuration calls."
            problems.error("from_modules", "Object outside a component", detail)
            continue
        name, key = steps[0]
        inside = ".".join(f"module.{part}{_key(k)}" for part, k in steps[1:])
        head = f"module.{name}{_key(key)}"
        instances = {k: _instance(i, f"module.{name}.") for k, i in resource.instances.items()}
        provider = _provider(resource.provider, root.calls[name])
        moved = evolve(resource, module=inside, instances=instances, provider=provider)
        assert resource.module.startswith(head)
        parts.setdefault(PromiseName("component", name, (), key), []).append(moved)
    return {
        name: State(resources={resource.address: resource for resource in resources})
        for name, resources in parts.items()
    }


def _key(key: Any) -> str:
    return format_key(key)


def _instance(instance: InstanceState, prefix: str) -> InstanceState:
    def inside(thing: ObjectState | None) -> ObjectState | None:
        if thing is None:
            return None
        kept = [d.removeprefix(prefix) for d in thing.dependencies if d.startswith(prefix)]
        return evolve(thing, dependencies=tuple(kept))

    deposed = {key: item for key, thing in instance.deposed.items() if (item := inside(thing)) is not None}
    return evolve(instance, current=inside(instance.current), deposed=deposed)


def _provider(address: str, call: ModuleCall) -> str:
    """The address of a provider configuration inside the component. It may differ from `address`, because a module call
    can pass a configuration under another alias."""
    for inner, outer in call.providers:
        ending = f".{outer.alias}" if outer.alias else ""
        if not address.startswith("module.") and address.rpartition("]")[2] == ending:
            head = address.rpartition("]")[0] + "]"
            return f"{head}.{inner.alias}" if inner.alias else head
    return address
