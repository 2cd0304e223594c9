"""The context of a plan: the run, installed and locked providers, provider configurations and data sources, with a
method for each relation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from planner.answers.policy.planned_values import ValueRows
from planner.foundation.support.disk import note_time
from planner.foundation.values.value import Unknown, Value
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.foundation.vocabulary.records import frozen
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.language.values import FALSE, TRUE, Row, member, number
from planner.logic.model.plan import Plan

RECORDED = ("run", "plan_time", "variable_origin", "module_version", "locked_provider")
"""relations that are recorded with a plan, so that a later check has the same result"""


@frozen(eq=False)
class PlanSurroundings:
    """The context of a plan. `recorded`: rows (relation, columns...) of the relations in RECORDED. `references` and
    `data` are called only if policies read these relations."""

    recorded: tuple[tuple[str, ...], ...] = ()
    references: Callable[[], FactBase] = lambda: FactBase({}, {})
    data: Callable[[], Iterable[tuple[str, Value]]] = tuple
    """returns (address, value) of each data source that was read while planning"""


NOTHING = PlanSurroundings()


class Around:
    """The relations about the context of a plan. `rows` collects unknown and sensitive values."""

    def __init__(self, plan: Plan, around: PlanSurroundings, rows: ValueRows) -> None:
        self.plan, self.surroundings, self.rows = plan, around, rows
        self.unknown: dict[tuple[str, str], Unknown] = {}
        """{(address, path): unknown part} of provider configurations and data sources"""
        self.unknown_arguments: frozenset[tuple[str, str]] = frozenset()
        """(address, path) of unknown parts of provider configurations; complete once provider_argument is built"""

    def _record_rows(self, relation: str) -> Iterable[Row]:
        return (row[1:] for row in self.surroundings.recorded if row[0] == relation)

    def run(self) -> Iterable[Row]:
        return self._record_rows("run")

    def plan_time(self) -> Iterable[Row]:
        note_time()
        return self._record_rows("plan_time")

    def variable_origin(self) -> Iterable[Row]:
        return self._record_rows("variable_origin")

    def module_version(self) -> Iterable[Row]:
        return self._record_rows("module_version")

    def locked_provider(self) -> Iterable[Row]:
        return self._record_rows("locked_provider")

    def reference(self) -> Iterable[Row]:
        return self.surroundings.references().relation("reference")

    def backend(self) -> Iterable[Row]:
        if self.plan.backend:
            yield (str(self.plan.backend.get("type", "local")),)

    def backend_argument(self) -> Iterable[Row]:
        for name in sorted(self.plan.backend):
            if name != "type":
                yield from _plain_rows(name, self.plan.backend[name])

    def provider_instance(self) -> Iterable[Row]:
        for address, _ in self.plan.providers:
            parsed = parse_provider_configuration(address)
            yield (address, parsed.source, parsed.alias, "" if parsed.key is None else str(parsed.key))

    def provider_argument(self) -> Iterable[Row]:
        result = self._walked(self.plan.providers)
        self.unknown_arguments = frozenset(result.unknown)
        return result.values

    def data_value(self) -> Iterable[Row]:
        later = ((c.address, c.after) for c in self.plan.changes if c.mode == "data")
        return self._walked((*self.surroundings.data(), *later)).values

    def _walked(self, values: Iterable[tuple[str, Value]]) -> ValueRows:
        result = ValueRows(False)
        for address, value in values:
            result.add_object(address, value)
        self.rows.hidden.update(result.hidden)
        self.unknown |= result.unknown
        self.rows.exact |= result.exact
        self.rows.open |= result.open
        return result


def _plain_rows(path: str, value: Any) -> Iterable[Row]:
    """(path, value) for each plain value in a setting; null has no row."""
    if isinstance(value, bool):
        yield (path, TRUE if value else FALSE)
    elif isinstance(value, str):
        yield (path, value)
    elif isinstance(value, dict):
        for name in sorted(value):
            yield from _plain_rows(member(path, str(name)), value[name])
    elif isinstance(value, list | tuple):
        for i, part in enumerate(value):
            yield from _plain_rows(f"{path}[{i}]", part)
    elif value is not None:
        yield (path, number(Decimal(repr(value))))
