"""Facts with their sources: the immutable FactBase, and the FactBuilder that creates it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from planner.logic.datalog.language.values import Row, Rows, encode, sorted_rows

_PLAIN = frozenset((str, int))


class FactBase:
    """The rows of each predicate. A row may have a source: any object that describes the origin of the fact. Returned
    sets must not be changed."""

    __slots__ = ("_relations", "_sources")

    def __init__(self, relations: dict[str, Rows], sources: dict[str, dict[Row, Any]]) -> None:
        self._relations, self._sources = relations, sources

    @classmethod
    def build(cls, relations: Mapping[str, Iterable[Row]]) -> FactBase:
        """Facts without sources: `FactBase.build({"edge": [("a", "b")]})`."""
        builder = FactBuilder()
        for predicate, rows in relations.items():
            for row in rows:
                builder.add(predicate, *row)
        return builder.build()

    @property
    def predicates(self) -> list[str]:
        """The names of the predicates with at least one row, sorted."""
        return sorted(name for name, rows in self._relations.items() if rows)

    def relation(self, predicate: str) -> AbstractSet[Row]:
        return self.rows(predicate).keys()

    def rows(self, predicate: str) -> Rows:
        """The relation of a predicate, in the evaluator's representation."""
        return self._relations.get(predicate, _NOTHING)

    def sorted(self, predicate: str) -> list[Row]:
        return sorted_rows(self.relation(predicate))

    def without(self, removed: Mapping[str, AbstractSet[Row]]) -> FactBase:
        kept = {name: {r: v for r, v in self.rows(name).items() if r not in rows} for name, rows in removed.items()}
        return FactBase({**self._relations, **kept}, self._sources)

    def says_the_same(self, other: FactBase) -> bool:
        """Whether both fact bases contain the same facts; their sources may differ."""
        return self._relations == other._relations

    def source(self, predicate: str, row: Row) -> Any | None:
        """The source with which a fact was first added; None if it has none."""
        return self._sources.get(predicate, {}).get(row)

    def sources(self, predicate: str) -> Mapping[Row, Any]:
        """{row: source} of the facts of a predicate; facts without a source are left out."""
        return self._sources.get(predicate, {})

    def __len__(self) -> int:
        return sum(map(len, self._relations.values()))

    def __repr__(self) -> str:
        return f"FactBase({len(self)} facts of {len(self.predicates)} predicates)"


_NOTHING: Rows = {}


class FactBuilder:
    """Collects facts: `builder.add("edge", "a", "b", source=span)`, then `builder.build()`. If `base` is given, the
    builder begins with its facts. `base` is not changed, and shares the relations to which no facts are added."""

    __slots__ = ("_base", "_relations", "_sources")

    def __init__(self, base: FactBase | None = None) -> None:
        self._base = base if base is not None else FactBase({}, {})
        self._relations: dict[str, Rows] = {}  # relations with added rows, including the rows of the base
        self._sources: dict[str, dict[Row, Any]] = {}

    def add(self, predicate: str, *columns: Any, source: Any = None) -> None:
        """Add a fact. If the same fact is added several times, its first source is kept. Raises TypeError for a value
        that cannot be in a column."""
        for column in columns:
            if type(column) not in _PLAIN:
                columns = tuple(map(encode, columns))
                break
        relation = self._relations.get(predicate)
        if relation is None:
            relation = self._own(predicate)
        relation[columns] = None
        if source is not None:
            self._sources[predicate].setdefault(columns, source)

    def extend(self, predicate: str, rows: Iterable[Row], source: Any) -> None:
        """Add many facts with the same source. Columns must be strings and integers."""
        rows = list(rows)
        relation = self._relations.get(predicate)
        if relation is None:
            relation = self._own(predicate)
        relation |= dict.fromkeys(rows)
        sources = self._sources[predicate]
        sources.update([(row, source) for row in rows if row not in sources])

    def rows(self, predicate: str) -> Iterable[Row]:
        return self._relations.get(predicate) or self._base._relations.get(predicate, _NOTHING)

    def _own(self, predicate: str) -> Rows:
        base = self._base
        relation = self._relations[predicate] = dict(base._relations.get(predicate, _NOTHING))
        self._sources[predicate] = dict(base._sources.get(predicate, {}))
        return relation

    def build(self) -> FactBase:
        """The facts that were added so far. Later additions do not change the returned fact base."""
        base = self._base
        self._base = FactBase({**base._relations, **self._relations}, {**base._sources, **self._sources})
        self._relations, self._sources = {}, {}
        return self._base
