"""Finds dependencies between resource instances, and the blast radius of a change: the objects that it may affect."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TypeAlias

from planner.answers.policy.facts.owners import ConfiguredOwners
from planner.answers.policy.instance_references import EVERY, SOME, InstanceReferences, Meant, Target
from planner.foundation.vocabulary.address import format_resource, join, parse_module
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.logic.datalog.language.values import Row
from planner.logic.facts.from_state import module_path
from planner.logic.model.graph import Graph
from planner.logic.model.plan import Plan, ResourceChange
from planner.logic.programs.actions import does

Instances: TypeAlias = dict[str, dict[str, None]]
"""{address without the instance key: {address of an instance: None}}"""
MOST_ROWS = 2_000_000
_NOTHING: Meant = (set(), set())


class Impact:
    """The impact of the changes in one plan. The nodes of the graph are resources; instances are distinguished only
    when rows are built. `graph`: builds the plan graph. `owners`: finds the blocks of objects, which determine the
    instances to which references refer."""

    # decided in Python: which objects a change may affect (`blast`) -- a relation of all pairs would be too large

    def __init__(self, plan: Plan, graph: Callable[[], Graph], owners: ConfiguredOwners | None = None) -> None:
        self.plan, self._make, self.owners = plan, graph, owners
        self._meant: dict[str, Meant] = {}
        self._grouped: dict[tuple[str, str | None], Instances] = {}

    @cached_property
    def graph(self) -> Graph:
        return self._make()

    @cached_property
    def instances(self) -> dict[str, list[str]]:
        """{resource: addresses of its instances in the plan, in plan order}. Instances that do not change are included;
        deposed objects are not."""
        result: dict[str, list[str]] = {}
        for c in self.plan.changes:
            if not c.deposed:
                object = format_resource(module_path(c.module), c.mode, c.type, c.name)
                result.setdefault(object, []).append(c.address)
        return result

    @cached_property
    def _declared_reach(self) -> tuple[dict[str, set[str]], dict[str, set[str]], set[str]]:
        """({resource: direct dependencies}, {resource: dependencies on a path that leaves its module}, resources to
        which provider configurations refer)."""
        graph = self.graph
        nodes = graph.nodes
        resources = {n.name: join(n.module, n.object) for n in nodes.values() if n.kind == "resource"}
        table: dict[str, set[str]] = {}
        left: dict[str, set[str]] = {}
        through: dict[str, tuple[set[str], set[str]]] = {}
        nothing: tuple[set[str], set[str]] = (set(), set())
        for node in _dependencies_first(graph.edges):
            reached: set[str] = set()
            outside: set[str] = set()
            for dependency in graph.edges.get(node, ()):
                is_within = nodes[dependency].module == nodes[node].module
                if dependency in resources:
                    reached.add(resources[dependency])
                    outside |= set() if is_within else {resources[dependency]}
                else:
                    every, beyond = through.get(dependency, nothing)
                    reached |= every
                    outside |= beyond if is_within else every
            if node in resources:
                table[resources[node]], left[resources[node]] = reached, outside
            else:
                through[node] = reached, outside
        configuring = {
            object for name, (every, _) in through.items() if nodes[name].kind == "provider" for object in every
        }
        return table, left, configuring

    @cached_property
    def dependencies(self) -> dict[str, set[str]]:
        """{resource: direct dependencies}. A dependency is taken from the state if the dependency or the resource is no
        longer declared."""
        result = {object: set(reached) for object, reached in self._declared_reach[0].items()}
        for resource in self.plan.prior_state.resources.values():
            object = format_resource(module_path(resource.module), resource.mode, resource.type, resource.name)
            remembered = {d for i in resource.instances.values() if i.current for d in i.current.dependencies}
            if object in result:
                remembered -= result.keys()
            result.setdefault(object, set()).update(remembered)
        return result

    @cached_property
    def dependents(self) -> dict[str, list[str]]:
        """{resource: resources that directly depend on it, sorted}."""
        result: dict[str, list[str]] = {}
        for object in sorted(self.dependencies):
            for dependency in self.dependencies[object]:
                result.setdefault(dependency, []).append(object)
        return result

    def within(self, object: str) -> set[str]:
        """The direct dependencies of a resource to which all paths stay within its module."""
        reached, left = (one.get(object, set()) for one in self._declared_reach[:2])
        return reached - left

    def pairs(self) -> Iterator[tuple[str, str]]:
        """The rows of `depends`."""
        return iter(self._linked[0])

    def maybe_through(self) -> Iterable[Row]:
        return iter(self._linked[1])

    def maybe_reached(self) -> Iterable[Row]:
        return iter(self._linked[2])

    @cached_property
    def _changes(self) -> dict[str, ResourceChange]:
        return {c.address: c for c in self.plan.changes if not c.deposed}

    @cached_property
    def _linked(self) -> tuple[list[tuple[str, str]], list[Row], set[Row]]:
        """(rows of `depends`, rows of `maybe_through`, rows of `maybe_reached`). The last two are about references to
        an unknown instance. A reference within a repeated module means only instances in the same module instance."""
        changes = self._changes
        paths = Counter(module_path(module) for module in {c.module for c in changes.values() if c.module})
        pairs: list[tuple[str, str]] = []
        through: list[Row] = []
        reached: dict[str, list[str]] = {}
        for object, dependencies in self.dependencies.items():
            addresses = self.instances.get(object, ())
            path = module_path(changes[addresses[0]].module) if addresses else ""
            within = self.within(object) if paths[path] > 1 else set[str]()
            for address in addresses:
                change = changes[address]
                for dependency in dependencies:
                    module = change.module if dependency in within else None
                    others = self._by_resource(dependency, module)
                    count = sum(map(len, others.values()))
                    if count < 2:
                        pairs += [(address, other) for item in others.values() for other in item]
                        continue
                    sure, unsure = self._split_instances(change, dependency, others)
                    pairs += [(address, other) for other in sure]
                    if unsure:
                        is_all = module is None and len(unsure) == count
                        group = dependency if is_all else f"{dependency} {address}"
                        through.append((address, dependency, group))
                        reached.setdefault(group, unsure)
        return pairs, through, {(group, other) for group, item in reached.items() for other in item}

    def _by_resource(self, object: str, module: str | None) -> Instances:
        """The instances of a resource in the module instance `module` (None: in all module instances)."""
        if (object, None) not in self._grouped:
            item: Instances = {}
            for address in self.instances.get(object, ()):
                change = self._changes[address]
                of_module = item.setdefault(change.resource_address, {})
                of_module[address] = None
                self._grouped[object, change.module] = {change.resource_address: of_module}
            self._grouped[object, None] = item
        return self._grouped.get((object, module), {})

    def _split_instances(
        self, change: ResourceChange, dependency: str, others: Instances
    ) -> tuple[list[str], list[str]]:
        """(instances among `others` to which the object of a change refers, instances among them to which it may
        refer), sorted."""
        meant = self.meant(change)
        sure, unsure = (_among(targets, others) for targets in meant)
        if dependency in self.configuring or not any(resource in others for item in meant for resource, _ in item):
            unsure = {other for item in others.values() for other in item}
        return sorted(sure), sorted(unsure - sure)

    def meant(self, change: ResourceChange) -> Meant:
        """(instances to which the object of a change refers, instances to which it may refer). They are determined from
        the object's block, because the state records only resources."""
        if change.address not in self._meant:
            decl = self.owners.declaration(change) if self.owners is not None else None
            result = (
                self._references.of(parse_module(change.module), decl, change.key) if decl is not None else _NOTHING
            )
            self._meant[change.address] = result
        return self._meant[change.address]

    @cached_property
    def _references(self) -> InstanceReferences:
        assert self.owners is not None
        modules = {parse_module(change.module) for change in self.plan.changes}
        return InstanceReferences(self.owners.config, self.plan.variables, modules)

    @property
    def configuring(self) -> set[str]:
        """The resources to which provider configurations refer. All objects of these providers depend on these
        resources."""
        return self._declared_reach[2]

    def sources(self) -> dict[str, list[str]]:
        """{resource: addresses of its instances whose planned change may affect other objects}."""
        touched = {c.address for c in self.plan.changes if not c.deposed and does(c.action, "disturbs")}
        touched_by = {object: [a for a in addresses if a in touched] for object, addresses in self.instances.items()}
        return {object: addresses for object, addresses in touched_by.items() if addresses}

    def blast(self) -> Iterator[tuple[str, str, int]]:
        """The rows of `blast`. Raises Failure if there are more than MOST_ROWS."""
        if not self.sources():
            return  # then the graph is not needed, which is slow to build
        rows = 0
        for object, addresses in self.sources().items():
            depths = {object: 0}
            queue = deque([object])
            while queue:
                at = queue.popleft()
                for dependent in self.dependents.get(at, ()):
                    if dependent not in depths:
                        depths[dependent] = depths[at] + 1
                        queue.append(dependent)
                        for other in self.instances.get(dependent, ()):
                            rows += len(addresses)
                            if rows > MOST_ROWS:
                                raise Failure(_too_many())
                            for address in addresses:
                                yield address, other, depths[dependent]

    def sizes(self) -> Iterator[tuple[str, int]]:
        """The rows of `blast_size`. The computation represents a set of dependents by an integer with one bit for each
        resource."""
        if not self.sources():
            return
        order = sorted(self.dependencies.keys() | self.dependents.keys())
        numbers = {object: i for i, object in enumerate(order)}
        counts = [len(self.instances.get(object, ())) for object in order]
        alike = all(count == 1 for count in counts)
        below: dict[str, int] = {}
        edges = {object: tuple(self.dependents.get(object, ())) for object in order}
        for object in _dependencies_first(edges):
            bits = 0
            for dependent in edges.get(object, ()):
                bits |= below.get(dependent, 0) | 1 << numbers[dependent]
            below[object] = bits
        for object, addresses in self.sources().items():
            bits = below.get(object, 0)
            total = bits.bit_count() if alike else sum(n for i, n in enumerate(counts) if n and bits >> i & 1)
            for address in addresses:
                yield address, total


def _among(targets: set[Target], others: Instances) -> set[str]:
    """The instances in `others` that are among the targets."""
    result: set[str] = set()
    for resource, which in targets:
        instances = others.get(resource, ())
        result.update(instances if which in (EVERY, SOME) else (which,) if which in instances else ())
    return result


def _dependencies_first(edges: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """The nodes of an acyclic graph, each after the targets of its edges."""
    done: set[str] = set()
    for start in edges:
        stack = [(start, False)]
        while stack:
            node, is_left = stack.pop()
            if is_left:
                yield node
            elif node not in done:
                done.add(node)
                stack.append((node, True))
                stack += [(other, False) for other in edges.get(node, ()) if other not in done]


def _too_many() -> Diagnostic:
    detail = (
        f"There are more than {MOST_ROWS:,} pairs of a changed and a dependent object. Policies about plans of this "
        "size should read blast_size, which has one tuple for each changed object."
    )
    return error("policy.blast", "Too many dependents to list", detail)
