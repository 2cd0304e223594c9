"""Rows of an answer as a table, CSV or JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from planner.foundation.support.exact_json import dumps
from planner.render.terminal import cell

Rows = Sequence[tuple[Any, ...]]


def table(columns: Sequence[str], rows: Rows) -> str:
    """A table for people; control characters in text are escaped, so that each row is one line."""
    from tabulate import tabulate

    return tabulate([_texts(row) for row in rows], headers=columns, disable_numparse=True)


def _texts(row: Iterable[Any]) -> list[str]:
    return [cell(plain(value)) for value in row]


def plain(value: Any) -> str:
    """A value as text: nothing for None, true and false, numbers in digits."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def csv_text(columns: Sequence[str], rows: Rows) -> str:
    """Comma-separated values (RFC 4180) with a line of names; lines end with a line feed."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([plain(value) for value in row] for row in rows)
    return stream.getvalue().removesuffix("\n")


def json_text(columns: Sequence[str], rows: Rows) -> str:
    """Format 1.0: the names of the columns, and the rows with their values in the types that they have."""
    document = {"format_version": "1.0", "columns": list(columns), "rows": [list(row) for row in rows]}
    return dumps(document, escape_html=False).decode("utf-8")
