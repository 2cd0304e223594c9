"""Finds dependencies in plan JSON, by tracing its references through variables, outputs, modules and providers.

The JSON lacks the references of local values, so an object that depends on a local value may depend on anything that is
reachable in its module. The JSON also lacks dynamic blocks, lifecycle arguments and connections. If the configuration
files are available, these references are read from the files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, TypeAlias

from planner.answers.policy.facts.owners import ConfiguredOwners
from planner.answers.policy.from_json.configuration import EXPRESSION, ShownConfiguration
from planner.answers.policy.from_json.document import Document, Misshapen, table, text
from planner.answers.policy.from_json.state import shown_resources
from planner.answers.policy.impact import Impact
from planner.answers.policy.instance_references import SOME, Meant, Target
from planner.foundation.vocabulary.address import join
from planner.language.config.model import CheckRule, Config, ModuleConfig, ResourceDecl
from planner.language.config.references import Ref, parse_reference
from planner.language.syntax.body import NativeBody, references
from planner.language.syntax.nodes import Call, Traversal, Variable
from planner.logic.datalog.language.values import Row
from planner.logic.facts.mentions import in_expr, in_rules, of_call, of_output, of_resource
from planner.logic.model.graph import Graph
from planner.logic.model.plan import Plan, ResourceChange

Node: TypeAlias = tuple[str, str, str]
"""(kind, module, name). The kinds are resource, var, local, output, expand (the expression that determines the
instances of a module), whole (everything in a module) and provider (its name is the key of the configuration)"""
Hidden: TypeAlias = tuple[str, str]
"""(module, address of an object that may refer to anything in it)"""
_MODULE = re.compile(r"module\.([\w-]+)(?:\[(?:\d+|\"(?:[^\"\\]|\\.)*\")\])?(?:\.([\w-]+))?")
_KEY = re.compile(r"\[(?:\d+|\"(?:[^\"\\]|\\.)*\")\]")
_NAMED = re.compile(r"(var|local)\.([\w-]+)")
_RESOURCE = re.compile(r"(?:resource\.)?((?:data\.|ephemeral\.)?[\w-]+\.[\w-]+)")
_NOTHING = frozenset(("each", "count", "path", "self", "terraform", "tofu"))
"""first steps of references that do not refer to objects"""


class ShownImpact(Impact):
    """The dependencies that a document contains. The methods raise Misshapen."""

    def __init__(
        self, document: Document, plan: Plan, configuration: ShownConfiguration, config: Config | None = None
    ) -> None:
        super().__init__(plan, _no_graph, ConfiguredOwners(plan, config) if config is not None else None)
        self.document, self.configuration = document, configuration
        self.mentions = ObjectReferences(configuration, config)

    @cached_property
    def dependencies(self) -> dict[str, set[str]]:
        """{object: objects on which it depends}, from the configuration and the prior state, as for planner's own
        plans. Dependencies through unknown local values are not included. Raises Misshapen."""
        result = {
            join(*node[1:]): {join(*other[1:]) for other in self.mentions.reach(node)[0]} for node in self._declared
        }
        remembered: dict[str, set[str]] = {}
        for path, module, entry in shown_resources(self.document.root.get("prior_state"), "prior_state"):
            name, type_ = text(entry, "name", path), text(entry, "type", path)
            object = self.configuration.object(module, text(entry, "mode", path), type_, name)
            if entry.get("depends_on"):
                remembered.setdefault(object, set()).update(_texts(entry["depends_on"], f"{path}.depends_on"))
        for object, others in remembered.items():
            if object in result:
                others -= result.keys()
            result.setdefault(object, set()).update(others)
        return result

    def within(self, object: str) -> set[str]:
        return {join(*other[1:]) for node in self._nodes.get(object, ()) for other in self.mentions.within(node)}

    @cached_property
    def _nodes(self) -> dict[str, list[Node]]:
        return {join(*node[1:]): [node] for node in self._declared}

    @property
    def _declared(self) -> list[Node]:
        """The resources whose dependencies come from the configuration; [] if everything is destroyed, because then the
        dependencies come from the state."""
        return self.mentions.resources if self.plan.mode != "destroy" else []

    def maybe_through(self) -> Iterator[Row]:
        yield from super().maybe_through()
        for node in self._declared:
            for module, what in sorted(self.mentions.reach(node)[1]):
                yield from ((address, what, module) for address in self.instances.get(join(*node[1:]), ()))

    def maybe_reached(self) -> Iterator[Row]:
        yield from super().maybe_reached()
        modules = {module for node in self._declared for module, _ in self.mentions.reach(node)[1]}
        for module in sorted(modules):
            for node in self.mentions.around(module):
                yield from ((module, address) for address in self.instances.get(join(*node[1:]), ()))

    def meant(self, change: ResourceChange) -> Meant:
        if self.owners is not None:
            return super().meant(change)
        object = self.configuration.object(change.module, change.mode, change.type, change.name)
        nodes = self._nodes.get(object)
        return self.mentions.meant(nodes[0], change.module) if nodes else (set(), set())

    @cached_property
    def configuring(self) -> set[str]:
        providers = [node for node in self.mentions.edges if node[0] == "provider"]
        return {join(*other[1:]) for node in providers for other in self.mentions.reach(node)[0]}

    @property
    def asks_state(self) -> bool:
        """Whether the dependencies of some objects are recorded only in the state."""
        return not self.instances.keys() <= {join(*node[1:]) for node in self._declared}

    @property
    def is_exact(self) -> bool:
        """Whether all references from objects are known."""
        return self.mentions.config is not None and not any(self.mentions.reach(node)[1] for node in self._declared)

    def depends(self) -> Iterable[Row]:
        return self.pairs()

    def blast_size(self) -> Iterable[Row]:
        return self.sizes()


def _no_graph() -> Graph:
    raise AssertionError("a document does not contain a graph")


class ObjectReferences:
    """The references between objects of a configuration."""

    def __init__(self, configuration: ShownConfiguration, config: Config | None) -> None:
        self.configuration, self.config = configuration, config
        self.edges: dict[Node, list[Node]] = {}
        self.hidden: dict[Node, set[Hidden]] = {}
        """{node: the objects that it mentions and that may refer to anything in a module}"""
        self.inner: dict[str, list[Node]] = {"": []}
        """{module: everything to which its local values could refer: resources, inputs, outputs and whole calls}"""
        self.resources: list[Node] = []
        self.keys: dict[tuple[Node, Node], set[str]] = {}
        """{(node, resource that the node mentions): instance keys}, with SOME for a key that is not constant"""
        self._declared = frozenset(configuration.blocks)
        self._reach: dict[Node, tuple[frozenset[Node], frozenset[Hidden]]] = {}
        self._modules()
        for object, (module, entry) in configuration.blocks.items():
            self._resource(object, module, entry)
        self._providers()
        if config is not None:
            for declared in config.root.walk():
                self._written(declared)

    # -------- from the JSON

    def _modules(self) -> None:
        for module, call in self.configuration.modules.items():
            parent, entry = call.parent, call.entry
            self.inner.setdefault(module, [])
            outputs = table(call.contents, "outputs", module)
            if module:
                begin: Node = ("expand", module, "")
                self.inner.setdefault(parent, []).append(("whole", module, ""))
                self.edges[begin] = [("expand", parent, "")] if parent else []
                for member in ("count_expression", "for_each_expression"):
                    self._mention(begin, parent, entry.get(member), f"{module}.{member}")
                self._depends_on(begin, parent, entry, module)
                for name, expression in table(entry, "expressions", module).items():
                    self.edges["var", module, name] = [begin]
                    self.inner[module].append(("var", module, name))
                    self._mention(("var", module, name), parent, expression, f"{module}.{name}")
            for name in outputs if module else ():
                node: Node = ("output", module, name)
                self.edges[node] = [("expand", module, "")]
                self.inner[module].append(node)
                self._mention(node, module, table(outputs, name, module).get("expression"), f"{module}.{name}")
                self._depends_on(node, module, table(outputs, name, module), f"{module}.{name}")
            self.edges["whole", module, ""] = self.inner[module]

    def _resource(self, object: str, module: str, entry: dict[str, Any]) -> None:
        node: Node = ("resource", module, text(entry, "address", object))
        self.resources.append(node)
        self.inner[module].append(node)
        self.edges[node] = [("expand", module, "")] if module else []
        key = entry.get("provider_config_key")
        if key.__class__ is str:
            self.edges[node].append(("provider", "", str(key)))
        for member in ("expressions", "count_expression", "for_each_expression", "provisioners"):
            self._mention(node, module, entry.get(member), f"{object}.{member}")
        self._depends_on(node, module, entry, object)

    def _providers(self) -> None:
        entries = table(self.configuration.root, "provider_config", "configuration")
        for key in entries:
            at = f"configuration.provider_config.{key}"
            node, module = ("provider", "", key), text(entries[key], "module_address", at, "")
            self.edges[node] = [("expand", module, "")] if module else []
            self._mention(node, module, entries[key].get("expressions"), at)

    def _depends_on(self, node: Node, module: str, entry: dict[str, Any], path: str) -> None:
        for one in _texts(entry.get("depends_on"), f"{path}.depends_on"):
            self._named(node, module, [one])

    def _mention(self, node: Node, module: str, expression: Any, path: str) -> None:
        """Add the references in an expression or body."""
        waiting = [expression]
        while waiting:
            one = waiting.pop()
            if one.__class__ is list:
                waiting += one
            elif (
                one.__class__ is dict
                and one
                and one.keys() <= EXPRESSION
                and one.get("references").__class__ is not dict
            ):
                self._named(node, module, _texts(one.get("references"), path))
            elif one.__class__ is dict:
                waiting += one.values()

    def _named(self, node: Node, module: str, names: list[str]) -> None:
        """Add the objects that a list of names means. The list contains each reference several times: with all steps,
        then with fewer and fewer steps."""
        before = ""
        for name in names:
            is_shorter = before.startswith((f"{name}.", f"{name}["))
            before = name
            if not is_shorter:
                self._one(node, module, name)

    def _one(self, node: Node, module: str, name: str) -> None:
        match = _MODULE.match(name)
        if match is not None:
            self._refers(node, module, "output" if match[2] else "module", match[1], match[2] or "")
            return
        match = _NAMED.match(name)
        if match is not None:
            self._refers(node, module, match[1], match[2])
            return
        match = _RESOURCE.match(name)
        root = name.partition(".")[0]
        if match is not None and not name.startswith("provider::"):
            self._refers(node, module, "resource", match[1])
            key = _KEY.match(name, match.end())
            self.keys.setdefault((node, ("resource", module, match[1])), set()).add(key[0] if key else SOME)
        elif root not in _NOTHING:
            self.hidden.setdefault(node, set()).add(("", name))

    def _refers(self, node: Node, module: str, kind: str, name: str, output: str = "") -> None:
        to = self.edges[node]
        if kind == "resource":
            if join(module, name) in self._declared:
                to.append(("resource", module, name))
        elif kind in ("output", "module"):
            called = join(module, f"module.{name}")
            to.append(("output", called, output) if kind == "output" else ("whole", called, ""))
        elif kind == "local" and self.config is None:
            self.hidden.setdefault(node, set()).add((module, join(module, f"local.{name}")))
        elif kind in ("var", "local"):
            to.append((kind, module, name))

    # -------- from the configuration

    def _written(self, declared: ModuleConfig) -> None:
        module = ".".join(f"module.{name}" for name in declared.path)
        begin: list[Node] = [("expand", module, "")] if module else []
        for name, local in declared.locals.items():
            node: Node = ("local", module, name)
            self.edges[node] = list(begin)
            self._refer(node, module, (mention[0] for mention in in_expr(local.expr, "")))
        for key, resource in declared.resources.items():
            node = ("resource", module, key)
            if node in self.edges:
                self._refer(node, module, _in_resource(resource))
        for name, output in declared.outputs.items():
            if ("output", module, name) in self.edges:
                self._refer(("output", module, name), module, (mention[0] for mention in of_output(output)))
        for name, variable in declared.variables.items():
            node = ("var", module, name)
            self.edges.setdefault(node, list(begin))
            self._refer(node, module, _in_rules(variable.validations))
        for name, call in declared.calls.items():
            node = ("expand", join(module, f"module.{name}"), "")
            if node in self.edges:
                self._refer(node, module, (mention[0] for mention in of_call(call)))

    def _refer(self, node: Node, module: str, mentioned: Iterable[Traversal | Variable | Call]) -> None:
        for one in mentioned:
            if isinstance(one, Call):
                self.hidden.setdefault(node, set()).add(("", one.name))
                continue
            ref = parse_reference(one)
            if isinstance(ref, Ref):
                self._refers(node, module, ref.kind, ref.name, ref.output)

    # -------- reachable resources

    def reach(self, start: Node) -> tuple[frozenset[Node], frozenset[Hidden]]:
        """(resources to which a node refers without other resources between them, objects through which the node may
        refer to anything in a module)."""
        if start in self._reach:
            return self._reach[start]
        stack: list[tuple[Node, bool]] = [(start, False)]
        open_: set[Node] = set()
        while stack:
            node, is_left = stack.pop()
            if is_left:
                self._reach[node] = self._union(node)
                open_.discard(node)
            elif node not in self._reach and node not in open_:
                open_.add(node)
                stack.append((node, True))
                stack += [(n, False) for n in self.edges.get(node, ()) if n[0] != "resource" and n not in self._reach]
        return self._reach[start]

    def meant(self, start: Node, module: str) -> Meant:
        """(instances to which a resource instance refers by a constant key, instances to which it may refer). Resources
        in the same module are looked up in the module instance `module`. For a reference to a resource in another
        module, the module instance is not known."""
        waiting, seen = [start], {start}
        sure: set[Target] = set()
        unsure: set[Target] = set()
        while waiting:
            node = waiting.pop()
            for other in self.edges.get(node, ()):
                if other[0] != "resource":
                    if other not in seen:
                        seen.add(other)
                        waiting.append(other)
                    continue
                resource = join(module if other[1] == start[1] else other[1], other[2])
                keys = self.keys.get((node, other), {SOME})
                if len(keys) == 1 and SOME not in keys:
                    sure.add((resource, resource + min(keys)))
                else:  # an expression may select an instance among several
                    unsure |= {(resource, key if key == SOME else resource + key) for key in keys}
        return sure, unsure

    def within(self, start: Node) -> set[Node]:
        """The resources in the same module to which a resource refers, except those to which it also refers through
        another module."""
        waiting, seen = [start], {start}
        reached: set[Node] = set()
        outside: set[Node] = set()
        while waiting:
            for other in self.edges.get(waiting.pop(), ()):
                if other[0] == "resource":
                    (reached if other[1] == start[1] else outside).add(other)
                elif other[1] != start[1]:
                    outside |= self.reach(other)[0]
                elif other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return reached - outside

    def _union(self, node: Node) -> tuple[frozenset[Node], frozenset[Hidden]]:
        reached: set[Node] = set()
        hidden = set(self.hidden.get(node, ()))
        for other in self.edges.get(node, ()):
            if other[0] == "resource":
                reached.add(other)
            elif other in self._reach:
                reached |= self._reach[other][0]
                hidden |= self._reach[other][1]
            else:  # a cycle, which no valid configuration contains
                hidden.add((other[1], join(other[1], other[2])))
        return frozenset(reached), frozenset(hidden)

    def around(self, module: str) -> list[Node]:
        """The resources, sorted, that some local value of the module may reach without passing through another
        resource."""
        waiting, seen = [module], {module}
        items: set[Node] = set()
        while waiting:
            here = waiting.pop()
            for node in self.inner.get(here, ()):
                reached, hidden = (frozenset((node,)), frozenset()) if node[0] == "resource" else self.reach(node)
                items |= reached
                more = {m for m, _ in hidden} - seen
                seen |= more
                waiting += more
        return sorted(items)


def _texts(value: Any, path: str) -> list[str]:
    if value is None:
        return []
    if value.__class__ is not list or any(one.__class__ is not str for one in value):
        raise Misshapen(path, "a list of names expected")
    return list(value)


def _in_resource(resource: ResourceDecl) -> Iterator[Traversal | Variable | Call]:
    yield from (mention[0] for mention in of_resource(resource, None, lambda type: None))
    if isinstance(resource.body, NativeBody):
        yield from references(resource.body)
    else:
        for attribute in resource.body.just_attributes()[0].values():
            yield from references(attribute.expr)


def _in_rules(rules: Iterable[CheckRule]) -> Iterator[Traversal | Variable | Call]:
    return (mention[0] for mention in in_rules(rules, ""))
