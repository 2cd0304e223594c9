"""Finds the objects to which addresses in facts belong, and the places of these objects. The places are looked up only
for proofs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from planner.answers.policy.facts.relations import PATHS
from planner.answers.policy.planned_values import root_of
from planner.foundation.vocabulary.address import AddressError, format_resource, join
from planner.foundation.vocabulary.provider_address import ProviderConfiguration, parse_provider_configuration
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Config, ModuleConfig, OutputDecl, ProviderDecl, ResourceDecl, VariableDecl
from planner.language.syntax.body import BodySchema, ExpectedBlock
from planner.logic.datalog.language.values import Row
from planner.logic.facts.from_state import module_path
from planner.logic.model.graph import StateEntry
from planner.logic.model.plan import Plan, ResourceChange, change_name

Declaration: TypeAlias = "ResourceDecl | OutputDecl | VariableDecl | ProviderDecl"


def is_provider(address: str) -> bool:
    """Whether `address` is the address of a provider configuration, with or without a key."""
    return 'provider["' in address and _parsed(address) is not None


def _parsed(address: str) -> ProviderConfiguration | None:
    try:
        return parse_provider_configuration(address)
    except AddressError:
        return None


class ConfiguredOwners:
    """Finds objects among the entries of a plan and the declarations of its configuration."""

    def __init__(self, plan: Plan, config: Config) -> None:
        self.config = config
        self.changes = {change_name(change): change for change in plan.changes}
        self._decls: dict[str, ResourceDecl | None] = {}
        self._given: dict[int, frozenset[str]] = {}

    def module(self, address: str) -> ModuleConfig | None:
        """The module at an address such as `module.a.module.b`; None if there is none."""
        path = tuple(name for name in address.removeprefix("module.").split(".module.") if name)
        return self.config.root.descendant(path)

    def declaration(self, change: ResourceChange) -> ResourceDecl | None:
        """The resource block to which the object of an entry of the plan belongs; None if there is none."""
        path = module_path(change.module)
        address = format_resource(path, change.mode, change.type, change.name)
        if address not in self._decls:
            module = self.module(path)
            self._decls[address] = module.resources.get(address_in(path, address)) if module else None
        return self._decls[address]

    def about(self, address: str) -> Declaration | None:
        """The block with the declaration of an object: a resource, an instance, a root output or variable, or a
        provider configuration. None if there is none."""
        if is_provider(address):
            return self.provider(address)
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

    def provider(self, address: str) -> ProviderDecl | None:
        """The block of the provider configuration at an address, which may have an instance key; None if there is
        none."""
        named = _parsed(address)
        module = self.config.root.descendant(named.module) if named is not None else None
        return module.provider_block(named.source, named.alias) if named is not None and module is not None else None

    def moves(self) -> Iterator[tuple[Row, Span]]:
        """(row, span of the moved block) for each row of `move_block`."""
        for module in self.config.root.walk():
            path = ".".join(f"module.{name}" for name in module.path)
            for moved in module.moved:
                yield (join(path, moved.from_), join(path, moved.to)), moved.span

    def given(self, address: str) -> frozenset[str]:
        """The names of the arguments and nested blocks in the block of a resource or instance; empty for other
        objects."""
        change = self.changes.get(address)
        decl = self.declaration(change) if change is not None else self.about(address)
        if not isinstance(decl, ResourceDecl):
            return frozenset()
        names = self._given.get(id(decl))
        if names is None:
            names = self._given[id(decl)] = arguments(decl)
        return names

    def span(self, address: str, path: str = "") -> Span | None:
        """The span of the declaration at an address (for a module, of its call). With a path, it is the span of the
        argument with which the path begins, if that argument is set. None if there is no declaration."""
        decl = self.about(address)
        if decl is None:
            module = self.module(address) if address else None
            return module.call.span if module is not None and module.call is not None else None
        if isinstance(decl, ResourceDecl | ProviderDecl) and path:
            spans = argument_spans(decl, root_of(path))
            return spans[0] if spans else decl.span
        return decl.span

    def source(self, predicate: str, row: Row) -> Any | None:
        if not row or type(row[0]) is not str:
            return None
        address = row[0]
        change = self.changes.get(address)
        stands = StateEntry(address if change is None else change.address)
        if predicate in ("prior", "deposed", "drifted", "moved_from", "data_value"):
            return stands
        if predicate in ("backend", "backend_argument"):
            backend = self.config.root.backend
            return backend.span if backend is not None else None
        if predicate in ("run", "plan_time", "locked_provider"):
            return None
        if predicate == "move_block":
            return next((span for where, span in self.moves() if where == row), None)
        if predicate in ("edge", "node"):
            return None
        path = row[1] if predicate in PATHS else ""
        span = self.span(address, path)
        if span is None and change is not None:
            return stands
        return span


def address_in(path: str, address: str) -> str:
    return address[len(path) + 1 :] if path else address


def _split(address: str) -> tuple[str, str, str]:
    """(module address, "", rest) of a configuration address, in the form of `str.partition`."""
    at = 0
    while address.startswith("module.", at):
        at = address.find(".", at + len("module.")) + 1
        if at == 0:
            return address, "", ""
    return address[: max(at - 1, 0)], "", address[at:]


def argument_spans(decl: ResourceDecl | ProviderDecl, name: str) -> list[Span]:
    """The spans of the argument and of the nested or `dynamic` blocks with this name in a block."""
    schema = BodySchema({name: False}, (ExpectedBlock(name), ExpectedBlock("dynamic", ("type",))))
    content, _ = decl.body.partial_content(schema)
    spans = [Span(a.source, a.start, a.end) for a in content.attributes.values()]
    for block in content.blocks:
        if block.type == name or (block.type == "dynamic" and block.labels and block.labels[0].value == name):
            spans.append(block.span)
    return spans


def arguments(decl: ResourceDecl) -> frozenset[str]:
    """The names of the arguments and of the nested and dynamic blocks in a resource block."""
    content, rest = decl.body.partial_content(BodySchema({}, (ExpectedBlock("dynamic", ("type",)),)))
    names = {block.labels[0].value for block in content.blocks if block.labels}
    names.update(rest.just_attributes()[0])
    names.update(block.type for block in getattr(rest, "blocks", ()) if block.type != "dynamic")
    return frozenset(names)
