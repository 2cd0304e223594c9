"""What the state records of each instance: `recorded_dependency` of rules/graph/dependencies.dl, lifted."""

from __future__ import annotations

from planner.foundation.vocabulary.address_set import Addresses, AddressSet
from planner.logic.datalog.engine.evaluate import Database
from planner.logic.datalog.engine.reachable_labels import Behind


class ResourceDependencies:
    """The resources that the vertices of a graph depend on, each set sorted by address."""

    def __init__(self, database: Database) -> None:
        rows = database.rows("recorded_dependency")
        # a rule of somebody's that reads the relation has made it one of rows
        self._behind = rows if isinstance(rows, Behind) else Behind(rows, {(name, name) for _, name in rows})
        self._shared = Addresses(self._behind.names)

    def of(self, node: str) -> AddressSet:
        """The resources that the objects of a vertex depend on."""
        return AddressSet(self._shared, self._behind.bits(node))
