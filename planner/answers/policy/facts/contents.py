"""Builds the relations about the values of a plan, in as few passes over the values as possible."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Generic, TypeVar

from planner.answers.policy.facts.relations import VALUE, Owners, PolicyInputs
from planner.answers.policy.paths_read import Looked
from planner.answers.policy.planned_values import END, ValueRows, root_of
from planner.foundation.values.value import SENSITIVE, Null, Unknown, Value, mark
from planner.logic.datalog.language.values import Row
from planner.logic.model.plan import OutputChange, Plan

R = TypeVar("R", bound=ValueRows)
AFTER = frozenset(("planned", "size_of", "part", "unknown_after", "sensitive_at", "maybe"))
"""relations that are built from the planned values of objects and outputs"""
RootVariables = Callable[[], Iterable[tuple[str, bool]]]
"""returns (name, whether it is secret) of each root variable"""


class Contents(Generic[R]):
    def __init__(
        self, plan: Plan, owners: Owners, reads: PolicyInputs, root_variables: RootVariables, kind: Callable[[bool], R]
    ) -> None:
        self.plan, self.owners, self.reads, self.root_variables = plan, owners, reads, root_variables
        self.kind = kind
        self.after = kind("size_of" in reads or "part" in reads)
        self.before = kind(False)
        self.configured: set[Row] = set()
        self.elsewhere: dict[tuple[str, str], Unknown] = {}
        """{(address, path): unknown part of a variable's value}"""

    def read(self) -> None:
        """Visit the values of the plan's entries, outputs and variables that policies read."""
        reads = self.reads
        configured, prior = "configured" in reads, "prior" in reads
        if not (reads.predicates & AFTER or configured or prior):
            return
        after, before = self.after, self.before
        for address, change in self.owners.changes.items():
            looked = reads.looked(change)
            if not looked.all and not looked.parts:
                continue
            self._object(after, address, change.after, looked)
            if prior or "sensitive_at" in reads:
                self._object(before, address, change.before, looked)
        of_outputs = reads.attributes(None)
        for output in self.plan.outputs if of_outputs is None or VALUE in of_outputs else ():
            address = f"output.{output.name}"
            self._output(after, address, output, output.after)
            if prior:
                self._output(before, address, output, output.before)
        if configured or "sensitive_at" in reads:
            variables = self._variables()
            after.hidden.update(variables.hidden)
            if configured:
                self.configured = self._argument_rows() | variables.values
                self.elsewhere = variables.unknown
                after.exact |= variables.exact  # in a fleet, values may depend on other units
                after.open |= variables.open

    def _object(self, rows: R, address: str, value: Value, looked: Looked) -> None:
        rows.add_object(address, value, looked)

    def _output(self, rows: R, address: str, output: OutputChange, value: Value) -> None:
        rows.walk(address, VALUE, _output_value(output, value))

    @property
    def hidden(self) -> dict[tuple[str, str], str]:
        """{(address, path) of a sensitive value: the path at which it is marked as sensitive}."""
        return {**self.before.hidden, **self.after.hidden}

    def relations(self, unknown: Collection[tuple[str, str]] = ()) -> dict[str, Collection[Row]]:
        """{relation: its rows} for the relations that policies read. `unknown`: (address, path) of further unknown
        values."""
        after, reads = self.after, self.reads
        table: dict[str, Collection[Row]] = {
            "planned": after.values,
            "configured": self.configured,
            "size_of": after.sizes,
            "part": after.parts,
            "prior": self.before.values,
            "unknown_after": {*after.unknown, *unknown} if unknown else after.unknown,
            "sensitive_at": self.hidden if "sensitive_at" in reads else (),
            "maybe": maybe_rows(after) if "maybe" in reads else (),
            "maybe_exact": after.exact,
            "maybe_open": after.open,
        }
        return {predicate: rows for predicate, rows in table.items() if predicate in reads}

    def _argument_rows(self) -> set[Row]:
        """The rows of `configured`: the planned values of arguments that the configuration sets."""
        given = self.owners.given
        known = {address: given(address) for address in {row[0] for row in self.after.values}}
        return {row for row in self.after.values if root_of(row[1]) in known[row[0]]}

    def _variable(self, rows: R, address: str, value: Value, secret: str | None) -> None:
        rows.walk(address, VALUE, value, secret)

    def _variables(self) -> R:
        """The rows of the values of root variables."""
        rows = self.kind(False)
        for name, is_secret in self.root_variables():
            address, value = f"var.{name}", self.plan.variables.get(name)
            secret = VALUE if is_secret else None
            if value is not None:
                self._variable(rows, address, value, secret)
            elif secret:
                rows.hidden[address, VALUE] = VALUE
        return rows


def _output_value(output: OutputChange, value: Value) -> Value:
    if value.__class__ is Null or not output.sensitive:
        return value
    return mark(value, frozenset((SENSITIVE,)))


def maybe_rows(rows: ValueRows) -> set[Row]:
    """(address, path, prefix) for each prefix of each unknown path. A path that is unknown because of `path` begins
    with one of these prefixes."""
    unsure = {*((place, True) for place in rows.open), *((place, False) for place in rows.exact - rows.open)}
    return {(address, at, begin) for (address, at), is_open in unsure for begin in beginnings(at, is_open)}


def beginnings(at: str, is_open: bool = True) -> tuple[str, ...]:
    """The prefixes that identify an unknown path or, if `is_open`, the paths below it. They are compared with paths to
    which END is appended."""
    if not is_open:
        return (f"{at}{END}",)
    return (f"{at}.", f"{at}[") if at else ("",)
