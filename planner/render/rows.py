"""Rows of an answer as a table, CSV or JSON."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

from planner.foundation.support.exact_json import dumps
from planner.render.terminal import cell

Rows = Sequence[tuple[Any, ...]]


def table(columns: Sequence[str], rows: Rows) -> str:
    """A table for people. Control characters are escaped, so each row is one line."""
    from tabulate import tabulate

    return tabulate([_texts(row) for row in rows], headers=columns, disable_numparse=True)


def by_object(columns: Sequence[str], rows: Rows) -> Rows:
    """The rows of the answer of a query verb such as `deps`, with objects instead of vertices. All vertices of an
    object become one row, or one step of a path. In rows that are not paths, the root and vertices that close providers
    and modules are omitted, unless there are only such vertices. Rows without vertices are unchanged."""
    if "node" not in columns:
        return rows
    if "step" in columns:
        return _paths_by_object(rows, "path" in columns)
    at = columns.index("node")
    objects = [(*row[:at], _PART.sub("", row[at]), *row[at + 1 :]) for row in rows if not _is_internal(row[at])]
    known: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for row in objects or rows:
        known.setdefault(row[at:], row)  # the smallest of several depths
    return list(known.values())


def _paths_by_object(rows: Rows, is_numbered: bool) -> Rows:
    paths: dict[int, list[str]] = {}
    for row in rows:
        steps = paths.setdefault(row[0] if is_numbered else 0, [])
        name = _PART.sub("", row[-1])
        if steps[-1:] != [name]:
            steps.append(name)
    different = dict.fromkeys(map(tuple, paths.values()))
    return [
        (number, step, name)[not is_numbered :]
        for number, steps in enumerate(different, 1)
        for step, name in enumerate(steps)
    ]


def _is_internal(vertex: str) -> bool:
    return vertex == "root" or vertex.endswith(" (close)")


_PART = re.compile(r" \((?:expand(?:, (?:input|reference))?|close)\)$")
"""the suffix of a vertex that performs only a part of an object's change"""


def _texts(row: Iterable[Any]) -> list[str]:
    return [cell(plain(value)) for value in row]


def plain(value: Any) -> str:
    """The text of a value: "" for None, `true` and `false`, digits for numbers."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def csv_text(columns: Sequence[str], rows: Rows) -> str:
    """The rows as CSV (RFC 4180). The first line has the names of the columns. Lines end with a line feed."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([plain(value) for value in row] for row in rows)
    return stream.getvalue().removesuffix("\n")


def json_text(columns: Sequence[str], rows: Rows) -> str:
    """The rows as JSON of format 1.0: the names of the columns, and the rows, in which values keep their types."""
    document = {"format_version": "1.0", "columns": list(columns), "rows": [list(row) for row in rows]}
    return dumps(document, escape_html=False).decode("utf-8")
