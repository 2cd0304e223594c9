"""Native operators that read texts: what stands in those that are JSON, as relations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from planner.logic.datalog.language.values import Row


def json_values(texts: Iterable[Row], shared: Any) -> list[Row]:
    """json_values(texts)(a, b, inner, value): the last column of (a, b, text) is the text of a JSON object or array,
    and this text, number or truth value stands at `inner` in it (`Statement[0].Effect`); nothing for null. Of a name
    that an object has twice all values count: readers differ in which they take."""
    from planner.logic.datalog.language.documents import json_rows

    return [(*key, *row) for key, text in _objects(texts) for row in json_rows(text) or ()]


def json_parts(texts: Iterable[Row], shared: Any) -> list[Row]:
    """json_parts(texts)(a, b, inner, key, part): as json_values, but for the elements of the object or array at
    `inner`, which is "" for the whole."""
    from planner.logic.datalog.language.documents import json_elements

    return [(*key, *row) for key, text in _objects(texts) for row in json_elements(text) or ()]


_OPEN = ("{", "[")


def _objects(texts: Iterable[Row]) -> Iterator[tuple[Row, str]]:
    for row in texts:
        text = row[-1]
        if type(text) is str and (text[:1] in _OPEN or (text[:1].isspace() and text.lstrip()[:1] in _OPEN)):
            yield row[:-1], text
