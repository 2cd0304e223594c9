"""Combines addresses that differ only in keys: `module.web["api", "worker"].terraform_data.config[0..7]`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

_KEY = re.compile(r'(\["(?:[^"\\]|\\.)*"\]|\[[0-9]+\])')
_MOST_KEYS = 4
"""maximum number of keys listed at one position"""


MOST_ALIKE = 3
"""if more than this number of combined names differ only in keys, a line shows a single name with `[*]` instead"""


class AlikeNames(NamedTuple):
    text: str
    number: int


def every_key(name: str) -> str:
    """The name with `[*]` for each key: `a["x"].b[0]` -> `a[*].b[*]`."""
    return _KEY.sub("[*]", name)


def alike(names: Iterable[str], most: int = 0) -> list[AlikeNames]:
    """The names, combined if they differ only in keys. A combined name is at the position of the first of its names. If
    more than `most` combined names would still differ only in keys, a single name replaces them, with `[*]` for the
    keys that differ."""
    groups: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for name in dict.fromkeys(names):
        parts = _KEY.split(name)
        groups.setdefault(tuple(parts[::2]), []).append(tuple(parts[1::2]))
    combined: list[AlikeNames] = []
    for pieces, keys in groups.items():
        own = list(_products(pieces, keys))
        combined += own if not most or len(own) <= most else [_every(pieces, keys)]
    return combined


def alike_moves(texts: Sequence[str]) -> list[AlikeNames]:
    """Texts about moves (`a["x"] was b["x"]`). If more than MOST_ALIKE moves differ only in keys, and the keys remain
    the same in each move, a single text replaces them, with `[*]` for each key."""
    groups: dict[str, list[str]] = {}
    for text in texts:
        new, _, old = text.partition(" was ")
        groups.setdefault(every_key(text) if _KEY.findall(new) == _KEY.findall(old) else text, []).append(text)
    return [
        one
        for whole, group in groups.items()
        for one in (
            [AlikeNames(whole, len(group))] if len(group) > MOST_ALIKE else [AlikeNames(text, 1) for text in group]
        )
    ]


def _every(pieces: tuple[str, ...], rows: list[tuple[str, ...]]) -> AlikeNames:
    """One name for names that differ only in keys, with `[*]` for the keys that differ. `rows`: the keys of each
    name."""
    columns = (set(column) for column in zip(*rows, strict=True))
    keys = [min(column) if len(column) == 1 else "[*]" for column in columns]
    return AlikeNames("".join(piece + key for piece, key in zip(pieces, [*keys, ""], strict=True)), len(rows))


_NUMBERED = re.compile(r"([^:]*?)([0-9]+)([^0-9:]*(?::.*)?)", re.DOTALL)


def numbered(names: Iterable[str]) -> list[AlikeNames]:
    """The names. Names that differ only in the last number of their first part are combined if at least three of the
    numbers are successive: `live/u0002..u0050`, or `live/u0002..u0050: a.b` for objects in units."""
    runs: dict[tuple[str, str, int], list[int]] = {}
    texts: dict[str | tuple[str, str, int], int] = {}
    for name in dict.fromkeys(names):
        match = _NUMBERED.fullmatch(name)
        if match is None or len(match[2]) > 18:
            texts[name] = 1
            continue
        key = match[1], match[3], len(match[2])
        texts.setdefault(key, 0)
        runs.setdefault(key, []).append(int(match[2]))
    result: list[AlikeNames] = []
    for entry in texts:
        if isinstance(entry, str):
            result.append(AlikeNames(entry, 1))
            continue
        (head, tail, width), numbers = entry, sorted(runs[entry])
        start = 0
        for at in range(1, len(numbers) + 1):
            if at < len(numbers) and numbers[at] == numbers[at - 1] + 1:
                continue
            first, last, count = numbers[start], numbers[at - 1], at - start
            start = at
            if count < 3:
                result += [AlikeNames(f"{head}{n:0{width}}{tail}", 1) for n in (first, last)[:count]]
            else:
                text = f"{head}{first:0{width}}..{head.rpartition('/')[2]}{last:0{width}}{tail}"
                result.append(AlikeNames(text, count))
    return result


def _products(pieces: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[AlikeNames]:
    """Combine names whose keys are `rows`. Each combined name represents all combinations of the keys that it lists.
    Together, the combined names represent each row once, and no other keys."""
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
    """The keys at one position: `["a", "b"]`, `[0..7]`, `["a", "b", "c", ... 5 more]`."""
    inner = [key[1:-1] for key in column]
    if len(inner) > 2 and all(key.isdecimal() for key in inner):
        numbers = sorted(map(int, inner))
        if numbers[-1] - numbers[0] == len(numbers) - 1:
            return f"[{numbers[0]}..{numbers[-1]}]"
    if len(inner) > _MOST_KEYS:
        inner = [*inner[: _MOST_KEYS - 1], f"... {len(inner) - _MOST_KEYS + 1} more"]
    return f"[{', '.join(inner)}]"
