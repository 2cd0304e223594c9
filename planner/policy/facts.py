"""A plan as facts for policies: the predicates of rules/policy/inputs.dl, each built only when policies read it.

A fact's source is looked up when a proof asks for it: the argument that the value comes from, else its block, else the
entry in the state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

from attrs import frozen

from planner.config.model import Config, ModuleConfig, OutputDecl, ResourceDecl, VariableDecl
from planner.datalog.engine.evaluate import evaluate
from planner.datalog.engine.fact_base import FactBase, FactBuilder
from planner.datalog.engine.json_relations import member
from planner.datalog.front.values import FALSE, TRUE, Row
from planner.facts.from_state import module_path
from planner.facts.unknowns import UnknownFacts
from planner.model.plan import OutputChange, Plan, ResourceChange
from planner.model.sources import StateEntry
from planner.policy.impact import Impact
from planner.policy.interest import OUTPUT, Interest, kind_of
from planner.policy.values import ValueRows, root_of
from planner.programs.rule_programs import relevance_program
from planner.syntax.body import BlockSchema, BodySchema
from planner.values.value import SENSITIVE, Null, Value, mark
from planner.vocabulary.address import format_resource, join
from planner.vocabulary.span import Span

if TYPE_CHECKING:
    from planner.model.graph import Graph

VALUE = "value"
"""the path of the value of an output or variable"""
PATHS = {
    "planned": (1,),
    "configured": (1,),
    "prior": (1,),
    "size_of": (1,),
    "part": (1, 3),
    "json_value": (1,),
    "json_part": (1,),
    "unknown_after": (1,),
    "unknown_because": (1,),
    "sensitive_at": (1,),
    "replace_path": (1,),
    "maybe": (1, 2),
    "maybe_exact": (1,),
    "maybe_open": (1,),
}
"""the columns that are paths, of predicates whose first column is the address"""
CONTENTS: dict[str, tuple[int, ...]] = {
    "planned": (2,),
    "configured": (2,),
    "prior": (2,),
    "size_of": (2,),
    "part": (2,),
}
CONTENTS |= {"json_value": (2, 3), "json_part": (2, 3, 4)}
"""the columns that hold what stands at the path"""
KEYED = frozenset(PATHS) | {
    "change",
    "action",
    "reason",
    "undecided",
    "moved_from",
    "deposed",
    "instance_of",
    "drifted",
    "output",
    "variable",
    "check_result",
    "depends",
    "blast",
    "blast_size",
}
"""the predicates whose first column is the address that a fact is about"""


@frozen
class Reads:
    """What policies read: input predicates, and of which values (None: of all)."""

    predicates: frozenset[str]
    interest: Interest | None = None

    def __contains__(self, predicate: str) -> bool:
        return predicate in self.predicates

    def attributes(self, change: ResourceChange | None) -> frozenset[str] | None:
        """The attributes of a changed object that have to be looked at; None for all."""
        if self.interest is None:
            return None
        return self.interest.attributes(kind_of(change) if change is not None else OUTPUT)


class PolicyFacts(FactBase):
    """The facts of one plan. `hidden` maps (address, path) of everything sensitive to the path of its mark."""

    __slots__ = ("hidden", "owners")

    def __init__(
        self,
        relations: dict[str, set[Row]],
        hidden: dict[tuple[str, str], str],
        owners: Owners,
    ) -> None:
        super().__init__({name: dict.fromkeys(rows) for name, rows in relations.items()}, {})
        self.hidden, self.owners = hidden, owners

    def source(self, predicate: str, row: Row) -> Any | None:
        return self.owners.source(predicate, row)


# ---------------------------------------------------------------- sources


class Owners:
    """What addresses are about: changes and declarations."""

    def __init__(self, plan: Plan, config: Config) -> None:
        self.config = config
        self.changes = {change.address: change for change in plan.changes if not change.deposed}
        self._decls: dict[str, ResourceDecl | None] = {}

    def module(self, address: str) -> ModuleConfig | None:
        """The module with a path such as `module.a.module.b`."""
        path = tuple(name for name in address.removeprefix("module.").split(".module.") if name)
        return self.config.root.descendant(path)

    def declaration(self, change: ResourceChange) -> ResourceDecl | None:
        """The resource block of a changed object."""
        path = module_path(change.module)
        address = format_resource(path, change.mode, change.type, change.name)
        if address not in self._decls:
            module = self.module(path)
            self._decls[address] = module.resources.get(address_in(path, address)) if module else None
        return self._decls[address]

    def about(self, address: str) -> ResourceDecl | OutputDecl | VariableDecl | None:
        """The block that declares a resource, an instance of one, a root output or a root variable."""
        change = self.changes.get(address)
        if change is not None:
            return self.declaration(change)
        kind, _, name = address.partition(".")
        if kind == "output":
            return self.config.root.outputs.get(name)
        if kind == "var":
            return self.config.root.variables.get(name)
        path, _, relative = _split(address)
        module = self.module(path)
        return module.resources.get(relative) if module is not None else None

    def span(self, address: str, path: str = "") -> Span | None:
        """Where an address is declared; the argument that a path begins with, where there is one."""
        decl = self.about(address)
        if decl is None:
            module = self.module(address) if address else None
            return module.call.span if module is not None and module.call is not None else None
        if isinstance(decl, ResourceDecl) and path:
            spans = argument_spans(decl, root_of(path))
            return spans[0] if spans else decl.span
        return decl.span

    def source(self, predicate: str, row: Row) -> Any | None:
        if not row or type(row[0]) is not str:
            return None
        address = row[0]
        if predicate in ("prior", "deposed", "drifted", "moved_from"):
            return StateEntry(address)
        if predicate in ("edge", "node"):
            return None
        path = row[1] if predicate in PATHS else ""
        span = self.span(address, path)
        if span is None and address in self.changes:
            return StateEntry(address)
        return span


def address_in(path: str, address: str) -> str:
    """An address seen from a module."""
    return address[len(path) + 1 :] if path else address


def _split(address: str) -> tuple[str, str, str]:
    """Module path, an empty word, and the rest of a configuration address."""
    at = 0
    while address.startswith("module.", at):
        at = address.find(".", at + len("module.")) + 1
        if at == 0:
            return address, "", ""
    return address[: max(at - 1, 0)], "", address[at:]


def argument_spans(decl: ResourceDecl, name: str) -> list[Span]:
    """Where an argument or the nested blocks of this name stand in a resource block, `dynamic` blocks included."""
    schema = BodySchema({name: False}, (BlockSchema(name), BlockSchema("dynamic", ("type",))))
    content, _ = decl.body.partial_content(schema)
    spans = [Span(a.source, a.start, a.end) for a in content.attributes.values()]
    for block in content.blocks:
        if block.type == name or (block.type == "dynamic" and block.labels and block.labels[0].value == name):
            spans.append(block.span)
    return spans


def arguments(decl: ResourceDecl) -> frozenset[str]:
    """The names of the arguments and nested blocks that a resource block sets."""
    content, rest = decl.body.partial_content(BodySchema({}, (BlockSchema("dynamic", ("type",)),)))
    names = {block.labels[0].value for block in content.blocks if block.labels}
    names.update(rest.just_attributes()[0])
    names.update(block.type for block in getattr(rest, "blocks", ()) if block.type != "dynamic")
    return frozenset(names)


# ---------------------------------------------------------------- facts


def plan_facts(plan: Plan, config: Config, reads: Reads, graph: Callable[[], Graph]) -> PolicyFacts:
    """The facts that policies read. `graph` makes the plan graph, for the few that read it."""
    return Builder(plan, config, reads, graph).build()


class Builder:
    """Builds one relation after the other."""

    def __init__(self, plan: Plan, config: Config, reads: Reads, graph: Callable[[], Graph]) -> None:
        self.plan, self.config, self.reads = plan, config, reads
        self.owners = Owners(plan, config)
        self.current = self.owners.changes
        self.impact = Impact(plan, graph)
        self.relations: dict[str, set[Row]] = {}
        self.hidden: dict[tuple[str, str], str] = {}

    def build(self) -> PolicyFacts:
        for predicate in sorted(self.reads.predicates):
            make = getattr(self, f"_{predicate}", None)
            if make is not None:
                self.relations[predicate] = set(make())
        self._values()
        return PolicyFacts(self.relations, self.hidden, self.owners)

    # -------- changes

    def _change(self) -> Iterable[Row]:
        for c in self.current.values():
            yield (c.address, c.type, c.name, c.module, c.provider, c.mode)

    def _action(self) -> Iterable[Row]:
        return ((c.address, c.action) for c in self.current.values())

    def _undecided(self) -> Iterable[Row]:
        return ((c.address, what) for c in self.current.values() for what in c.undecided)

    def _reason(self) -> Iterable[Row]:
        return ((c.address, c.reason) for c in self.current.values() if c.reason)

    def _replace_path(self) -> Iterable[Row]:
        for c in self.current.values():
            for path in c.replace_paths:
                text = ""
                for kind, key in path:
                    named = kind == "attr" or type(key) is str
                    text = member(text, str(key)) if named else f"{text}[{key if type(key) is int else '...'}]"
                yield (c.address, text.removeprefix("."))

    def _moved_from(self) -> Iterable[Row]:
        changes = self.current.values()
        return ((c.address, c.previous_address) for c in changes if c.address != c.previous_address)

    def _deposed(self) -> Iterable[Row]:
        return ((c.address, c.deposed, c.action) for c in self.plan.changes if c.deposed)

    def _instance_of(self) -> Iterable[Row]:
        for c in self.current.values():
            yield (c.address, format_resource(module_path(c.module), c.mode, c.type, c.name))

    def _drifted(self) -> Iterable[Row]:
        return ((c.address, c.action) for c in self.plan.drift if c.action != "no-op")

    # -------- the root module's interface

    def _output(self) -> Iterable[Row]:
        return ((f"output.{o.name}", o.name, o.action) for o in self.plan.outputs)

    def _variable(self) -> Iterable[Row]:
        return ((f"var.{name}", name) for name in self.config.root.variables)

    def _plan_mode(self) -> Iterable[Row]:
        return [(self.plan.mode,)]

    def _targeted(self) -> Iterable[Row]:
        for option, addresses in (
            ("target", self.plan.targets),
            ("exclude", self.plan.excludes),
            ("replace", self.plan.replace),
        ):
            yield from ((option, address) for address in addresses)

    def _check_result(self) -> Iterable[Row]:
        return ((c.address, c.kind, c.status) for c in self.plan.checks)

    def _unknown_because(self) -> Iterable[Row]:
        interest = self.reads.interest
        asked = [c for c in self.current.values() if interest is None or interest.asks_why_unknown(kind_of(c))]
        if not asked:
            return
        builder = FactBuilder()
        facts = UnknownFacts(builder, self.config, self.plan.changes)
        for change in asked:
            facts.add(change)
        yield from evaluate(relevance_program(), builder.build(), ["unknown_cause"]).sorted("unknown_cause")

    # -------- configuration

    def _modules(self) -> Iterable[tuple[str, ModuleConfig]]:
        waiting = [("", self.config.root)]
        while waiting:
            path, module = waiting.pop()
            yield path, module
            waiting += [(join(path, f"module.{name}"), child) for name, child in module.children.items()]

    def _blocks(self) -> Iterable[tuple[str, str, ResourceDecl]]:
        for path, module in self._modules():
            for key, decl in module.resources.items():
                yield join(path, key), path, decl

    def _resource(self) -> Iterable[Row]:
        return ((object, path, decl.mode, decl.type) for object, path, decl in self._blocks())

    def _provisioner(self) -> Iterable[Row]:
        yield from ((object, p.type, p.when) for object, _, decl in self._blocks() for p in decl.provisioners)
        for path, module in self._modules():
            for removed in module.removed:
                yield from ((join(path, removed.from_), p.type, p.when) for p in removed.provisioners)

    def _lifecycle(self) -> Iterable[Row]:
        for object, _, decl in self._blocks():
            cycle = decl.lifecycle
            if cycle.create_before_destroy is not None:
                yield (object, "create_before_destroy", "true" if cycle.create_before_destroy else "false")
            for setting, expr in (("prevent_destroy", cycle.prevent_destroy), ("destroy", cycle.destroy)):
                if expr is not None:
                    yield (object, setting, expr.span.text)
            if cycle.ignore_changes == "all":
                yield (object, "ignore_changes", "all")
            else:
                yield from ((object, "ignore_changes", reference.span.text) for reference in cycle.ignore_changes)

    def _module_call(self) -> Iterable[Row]:
        for path, module in self._modules():
            for name, call in module.calls.items():
                yield (join(path, f"module.{name}"), call.source, call.version or "")

    def _required_provider(self) -> Iterable[Row]:
        for path, module in self._modules():
            for name, required in module.required_providers.items():
                yield (path, name, required.source, required.version or "")

    def _uses_provider(self) -> Iterable[Row]:
        for path, module in self._modules():
            for name in {decl.provider_name for decl in module.resources.values()}:
                yield (path, name, module.provider_source(name))

    def _removed_block(self) -> Iterable[Row]:
        for path, module in self._modules():
            for removed in module.removed:
                yield (join(path, removed.from_), TRUE if removed.destroy else FALSE)

    # -------- what depends on what

    def _node(self) -> Iterable[Row]:
        return ((n.name, n.kind, n.object) for n in self.impact.graph.nodes.values())

    def _edge(self) -> Iterable[Row]:
        edges = self.impact.graph.edges
        return ((dependent, dependency) for dependent, dependencies in edges.items() for dependency in dependencies)

    def _depends(self) -> Iterable[Row]:
        return self.impact.pairs()

    def _blast(self) -> Iterable[Row]:
        return self.impact.blast()

    def _blast_size(self) -> Iterable[Row]:
        return self.impact.sizes()

    # -------- values

    def _values(self) -> None:
        """Everything that is read off values, in as few passes over them as the policies allow."""
        reads, relations = self.reads, self.relations
        after_wanted = reads.predicates & {"planned", "size_of", "part", "unknown_after", "sensitive_at", "maybe"}
        configured, prior = "configured" in reads, "prior" in reads
        if not (after_wanted or configured or prior):
            return
        structure = "size_of" in reads or "part" in reads
        after = ValueRows(structure)
        before = ValueRows(False)
        for change in self.current.values():
            roots = reads.attributes(change)
            if roots is not None and not roots:
                continue
            after.add_object(change.address, change.after, roots)
            if prior or "sensitive_at" in reads:
                before.add_object(change.address, change.before, roots)
        of_outputs = reads.attributes(None)
        for output in self.plan.outputs if of_outputs is None or VALUE in of_outputs else ():
            address = f"output.{output.name}"
            after.walk(address, VALUE, _output_value(output, output.after))
            if prior:
                before.walk(address, VALUE, _output_value(output, output.before))
        if configured or "sensitive_at" in reads:
            variables = self._variables()
            after.hidden.update(variables.hidden)
            if configured:
                relations["configured"] = self._given(after) | variables.values
                after.exact |= variables.exact  # in a fleet they may wait for another unit
                after.open |= variables.open
        self.hidden = {**before.hidden, **after.hidden}
        found: dict[str, Collection[Row]] = {
            "planned": after.values,
            "size_of": after.sizes,
            "part": after.parts,
            "prior": before.values,
            "unknown_after": after.unknown,
            "sensitive_at": self.hidden,
            "maybe_exact": after.exact,
            "maybe_open": after.open,
        }
        for predicate, rows in found.items():
            if predicate in reads:
                relations[predicate] = rows if isinstance(rows, set) else set(rows)
        if "maybe" in reads:
            relations["maybe"] = maybe_rows(after)

    def _given(self, after: ValueRows) -> set[Row]:
        """The planned values of arguments that are written down, and the values of root variables."""
        given: dict[str, frozenset[str]] = {}
        by_decl: dict[int, frozenset[str]] = {}
        for address in {row[0] for row in after.values}:
            change = self.current.get(address)
            decl = self.owners.declaration(change) if change is not None else None
            if change is not None and decl is not None:
                names = by_decl.get(id(decl))
                if names is None:
                    names = by_decl[id(decl)] = arguments(decl)
                given[change.address] = names
        nothing: frozenset[str] = frozenset()
        return {row for row in after.values if root_of(row[1]) in given.get(row[0], nothing)}

    def _variables(self) -> ValueRows:
        """The values of the root module's input variables."""
        rows = ValueRows(False)
        for name, decl in self.config.root.variables.items():
            address, value = f"var.{name}", self.plan.variables.get(name)
            secret = VALUE if decl.sensitive or decl.ephemeral else None
            if value is not None:
                rows.walk(address, VALUE, value, secret)
            elif secret:
                rows.hidden[address, VALUE] = VALUE
        return rows


def _output_value(output: OutputChange, value: Value) -> Value:
    if value.__class__ is Null or not output.sensitive:
        return value
    return mark(value, frozenset((SENSITIVE,)))


def maybe_rows(rows: ValueRows) -> set[Row]:
    """The unknown paths with what the paths at or below them begin with."""
    return {(address, at, at + end) for address, at in rows.exact | rows.open for end in ".["}
