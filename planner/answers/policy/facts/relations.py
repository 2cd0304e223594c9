"""Relations about a plan: their columns, their rows, and the parts of the plan that policies read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeAlias

from planner.answers.policy.paths_read import EVERYTHING, Looked
from planner.answers.policy.values_read import OUTPUT, Interest, kind_of
from planner.foundation.values.value import Unknown
from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import OutputDecl, ProviderDecl, ResourceDecl, VariableDecl
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.language.values import Row
from planner.logic.model.plan import ResourceChange

VALUE = "value"
"""the path of the value of an output or variable"""
PATHS = {
    "planned": (1,),
    "configured": (1,),
    "prior": (1,),
    "provider_argument": (1,),
    "data_value": (1,),
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
"""{predicate: indexes of the columns with paths}; the first column is the address"""
CONTENTS: dict[str, tuple[int, ...]] = {
    "planned": (2,),
    "configured": (2,),
    "prior": (2,),
    "provider_argument": (2,),
    "data_value": (2,),
    "size_of": (2,),
    "part": (2,),
}
CONTENTS |= {"json_value": (2, 3), "json_part": (2, 3, 4)}
"""{predicate: indexes of the columns with the value at the path, or with its size or keys}"""
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
"""predicates whose first column is an address"""


@frozen
class PolicyInputs:
    """The inputs of policies. `predicates`: the relations that policies read. `interest`: the values that they read
    (None: all values). `given`: the facts of packs."""

    predicates: frozenset[str]
    interest: Interest | None = None
    given: FactBase = field(factory=lambda: FactBase({}, {}))

    def __contains__(self, predicate: str) -> bool:
        return predicate in self.predicates

    def attributes(self, change: ResourceChange | None) -> frozenset[str] | None:
        """The attributes that policies read of the object of an entry (None: of an output). None means all
        attributes."""
        if self.interest is None:
            return None
        return self.interest.attributes(kind_of(change) if change is not None else OUTPUT)

    def looked(self, change: ResourceChange) -> Looked:
        """The parts of the object of an entry that policies read."""
        return EVERYTHING if self.interest is None else self.interest.looked(kind_of(change))


class Owners(Protocol):
    """Finds the objects to which addresses in facts belong, and the places of these objects."""

    @property
    def changes(self) -> dict[str, ResourceChange]:
        """{address: entry of the plan}; the address of a deposed object includes its deposed key (see
        `change_name`)."""

    def about(self, address: str) -> ResourceDecl | OutputDecl | VariableDecl | ProviderDecl | None:
        """The block with the declaration of an object: a resource, an instance, a root output or variable, or a
        provider configuration. None if there is none."""

    def span(self, address: str, path: str = "") -> Span | None:
        """The span of the declaration at an address. With a path, it is the span of the argument with which the path
        begins, if that argument is set. None if there is no declaration."""

    def given(self, address: str) -> frozenset[str]:
        """The names of the arguments and nested blocks in the block of a resource or instance; empty for other
        objects."""

    def source(self, predicate: str, row: Row) -> Any | None:
        """The source location of a fact; None if it is unknown."""


class PolicyFacts(FactBase):
    """The facts of a plan. `hidden`: {(address, path) of a sensitive value: the path at which it is marked as
    sensitive}. `mentions`: the facts of the relation `reference`. `given`: the facts of packs. `untold`: relations that
    policies read but that are not available. `later`: resources deferred to a later plan. `unknown`: {(address, path):
    unknown value}; None if unknown values are not recorded."""

    __slots__ = ("given", "hidden", "later", "mentions", "owners", "unknown", "untold")

    def __init__(
        self,
        relations: Mapping[str, Iterable[Row]],
        hidden: dict[tuple[str, str], str],
        owners: Owners,
        mentions: FactBase | None = None,
        given: FactBase | None = None,
        untold: frozenset[str] = frozenset(),
        unknown: Mapping[tuple[str, str], Unknown] | None = None,
        later: tuple[DeferredResource, ...] = (),
    ) -> None:
        self.given = given if given is not None else FactBase({}, {})
        elsewhere = {name: self.given.rows(name) for name in self.given.predicates}
        super().__init__({**elsewhere, **{name: dict.fromkeys(rows) for name, rows in relations.items()}}, {})
        self.hidden, self.owners, self.mentions = hidden, owners, mentions
        self.untold, self.unknown, self.later = untold, unknown, later

    def source(self, predicate: str, row: Row) -> Any | None:
        if predicate == "reference" and self.mentions is not None:
            return self.mentions.source(predicate, row)
        if self.given.relation(predicate):
            return self.given.source(predicate, row)
        return self.owners.source(predicate, row)


# Resources that are deferred to a later plan (-allow-deferral)


Deferred: TypeAlias = tuple[tuple[str, str, str], ...]
"""(block, argument, place), as in Plan.deferred"""


@frozen
class DeferredResource:
    """A deferred resource, with the block and the argument because of which it is deferred."""

    address: str
    mode: str
    type: str
    block: str
    argument: str


def deferred_resources(
    deferred: Deferred, resources: Iterable[tuple[str, str, str]], dependents: Callable[[], Mapping[str, list[str]]]
) -> Iterator[DeferredResource]:
    """The resources in deferred blocks, and the resources that depend on them. `resources`: (address, mode, type) of
    all resources. `dependents`: returns {address: resources that depend on it}."""
    declared = {address: (mode, type) for address, mode, type in resources}
    seen: set[str] = set()
    for block, argument, _ in deferred:
        waiting = [address for address in declared if address == block or address.startswith(f"{block}.")]
        while waiting:
            address = waiting.pop(0)
            if address in declared and address not in seen:
                seen.add(address)
                yield DeferredResource(address, *declared[address], block, argument)
                waiting += dependents().get(address, ())
