"""Built-in relations that take texts apart, and that of a range of numbers. Each returns the rows of its other columns,
or None where its arguments make no sense."""

from __future__ import annotations

from planner.logic.datalog.language.functions import compiled_pattern, searched
from planner.logic.datalog.language.values import Row, Value

MOST_ROWS = 100_000
_MOST_WORK = 1_000_000_000
"""characters that may be looked at: each match may look at the whole text again"""


def is_pattern(value: Value) -> bool:
    """Whether a string is a regular expression of RE2."""
    return type(value) is str and compiled_pattern(value) is not None


def split(text: Value, separator: Value) -> list[Row] | None:
    """(index, part), from 0: the strings between separators."""
    if type(text) is not str or type(separator) is not str or not separator:
        return None
    if text.count(separator) >= MOST_ROWS:
        return None
    return list(enumerate(text.split(separator)))


def captures(text: Value, pattern: Value) -> list[Row] | None:
    """(group, part): the parts of the first match's groups; 0 is the whole. A group with a name has two rows. One that
    took no part has none."""
    if type(text) is not str or type(pattern) is not str:
        return None
    expression = compiled_pattern(pattern)
    if expression is None:
        return None
    match = searched(expression, text)
    if match is None:
        return []
    rows: list[Row] = [(n, match.group(n)) for n in range(expression.groups + 1)]
    rows += [(name, match.group(n)) for name, n in sorted(expression.groupindex.items())]
    return [row for row in rows if row[1] is not None]


def find_all(text: Value, pattern: Value) -> list[Row] | None:
    """(index, part), from 0: the matches of the pattern, one behind the other."""
    if type(text) is not str or type(pattern) is not str:
        return None
    expression = compiled_pattern(pattern)
    if expression is None or searched(expression, text) is None:
        return None if expression is None else []
    rows: list[Row] = []
    for match in expression.finditer(text):
        if len(rows) == MOST_ROWS or len(rows) * len(text) > _MOST_WORK:
            return None
        rows.append((len(rows), match.group(0)))
    return rows


def range_(first: Value, last: Value) -> list[Row] | None:
    """(number,): the whole numbers from the first to the last."""
    if type(first) is not int or type(last) is not int or last - first >= MOST_ROWS:
        return None
    return [(number,) for number in range(first, last + 1)]


def member(*values: Value) -> list[Row]:
    """(value,): each of the values of a list."""
    return [(value,) for value in dict.fromkeys(values)]
