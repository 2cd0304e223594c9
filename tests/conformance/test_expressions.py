"""Every recorded expression and type constraint gives what OpenTofu gave: value, type, marks, unknown parts, errors."""

from __future__ import annotations

from typing import Any

import expression_records as er
import pytest

# The type in this record is that of a call which failed outside planning; while planning it is an unknown string.
KNOWN_DIFFERENCE = "fn_crypto-2ba421a69e"
EXPRESSIONS = [r for r in er.records("expressions") if r["id"] != KNOWN_DIFFERENCE]
CONSTRAINTS = er.records("type_constraints")


@pytest.fixture(scope="module")
def scope() -> er.RecordScope:
    return er.RecordScope()


def grouped(records: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        groups.setdefault(record["group"], []).append(record)
    return groups


@pytest.mark.parametrize("group", sorted(grouped(EXPRESSIONS)))
def test_expressions(group: str, scope: er.RecordScope) -> None:
    wrong = {}
    for record in grouped(EXPRESSIONS)[group]:
        found = er.problems(record, er.expression_answer(record, scope))
        if found:
            wrong[record["expr"]] = found
    assert not wrong


@pytest.mark.parametrize("group", sorted(grouped(CONSTRAINTS)))
def test_constraints(group: str) -> None:
    wrong = {}
    for record in grouped(CONSTRAINTS)[group]:
        found = er.problems(record, er.constraint_answer(record))
        if found:
            wrong[f"{record['constraint']} <- {record.get('input')}"] = found
    assert not wrong


def test_errors_point_where_they_did(scope: er.RecordScope) -> None:
    elsewhere = []
    for record in EXPRESSIONS:
        if record.get("phase") == "eval" and "ranges" in record:
            got = er.expression_answer(record, scope)
            if not er.same(got.get("ranges"), record["ranges"]):
                elsewhere.append(record["expr"])
    assert not elsewhere
