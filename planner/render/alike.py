"""Addresses that differ in their keys alone, in one text: `module.web["api", "worker"].terraform_data.config[0..7]`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_KEY = re.compile(r'(\["(?:[^"\\]|\\.)*"\]|\[[0-9]+\])')
_MOST_KEYS = 4
"""keys that are listed at one position"""


class AlikeNames(NamedTuple):
    """A text for several names, and the number of them."""

    text: str
    number: int


def alike(names: Iterable[str]) -> list[AlikeNames]:
    """The names, those that differ in keys alone together, in the order of the first of each."""
    groups: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for name in dict.fromkeys(names):
        pieces = _KEY.split(name)
        groups.setdefault(tuple(pieces[::2]), []).append(tuple(pieces[1::2]))
    return [one for pieces, keys in groups.items() for one in _products(pieces, keys)]


def _products(pieces: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[AlikeNames]:
    """The rows as texts, each for all combinations of its keys."""
    columns = [list(dict.fromkeys(column)) for column in zip(*rows, strict=True)]
    total = 1
    for column in columns:
        total *= len(column)
    if total != len(rows):
        at = next(at for at, column in enumerate(columns) if len(column) > 1)
        for key in columns[at]:
            yield from _products(pieces, [row for row in rows if row[at] == key])
        return
    keys = [_keys(column) for column in columns]
    text = "".join(piece + key for piece, key in zip(pieces, [*keys, ""], strict=True))
    yield AlikeNames(text, len(rows))


def _keys(column: list[str]) -> str:
    """`["a", "b"]`, `[0..7]`, `["a", "b", "c", ... 5 more]`."""
    inner = [key[1:-1] for key in column]
    if len(inner) > 2 and all(key.isdecimal() for key in inner):
        numbers = sorted(map(int, inner))
        if numbers[-1] - numbers[0] == len(numbers) - 1:
            return f"[{numbers[0]}..{numbers[-1]}]"
    if len(inner) > _MOST_KEYS:
        inner = [*inner[: _MOST_KEYS - 1], f"... {len(inner) - _MOST_KEYS + 1} more"]
    return f"[{', '.join(inner)}]"
