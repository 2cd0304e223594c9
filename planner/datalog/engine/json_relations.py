"""Native operators that read texts: what stands in those that are JSON, as relations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from planner.datalog.front.values import Number, Row, encode, number


def json_values(texts: Iterable[Row], shared: Any) -> list[Row]:
    """json_values(texts)(a, b, inner, value): the last column of (a, b, text) is the text of a JSON object or array,
    and this text, number or truth value stands at `inner` in it (`Statement[0].Effect`); nothing for null. Of a name
    that an object has twice the last one counts."""
    return [(*key, path, value) for key, path, value in _json(texts) if type(value) not in (dict, list)]


def json_parts(texts: Iterable[Row], shared: Any) -> list[Row]:
    """json_parts(texts)(a, b, inner, key, part): as json_values, but for the elements of the object or array at
    `inner`, which is "" for the whole."""
    parts: list[Row] = []
    for at, path, value in _json(texts):
        for key, part, _ in _elements(path, value):
            parts.append((*at, path, key, part))
    return parts


def _json(texts: Iterable[Row]) -> Iterator[tuple[Row, str, Any]]:
    """Everything that stands in texts that are JSON, with its path."""
    import json

    for *key, text in texts:
        if type(text) is not str or text.lstrip()[:1] not in ("{", "["):
            continue
        try:
            waiting = [("", json.loads(text, parse_float=_json_number, parse_int=_json_number))]
        except (ValueError, RecursionError):
            continue
        while waiting:
            path, value = waiting.pop()
            if value is not None:
                yield tuple(key), path, value if type(value) in (dict, list) else encode(value)
            waiting += [(part, inner) for _, part, inner in _elements(path, value)]


def _json_number(text: str) -> Number:
    from decimal import Decimal

    return number(Decimal(text))


def _elements(path: str, value: Any) -> list[tuple[Any, str, Any]]:
    """The elements of a JSON object or array: key, path, value."""
    if type(value) is list:
        return [(i, f"{path}[{i}]", item) for i, item in enumerate(value)]
    if type(value) is not dict:
        return []
    return [(key, member(path, key), item) for key, item in value.items()]


def member(path: str, name: str) -> str:
    """The path of a named part: `tags.Name`, or `tags["a.b"]` where the name is not a plain one."""
    if name.replace("-", "_").isidentifier():
        return f"{path}.{name}" if path else name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'{path}["{escaped}"]'
