"""Where the units of a fleet are drawn: a column for each wave, what waits to the right of what it waits for.

Within a column, units are ordered by the mean place of their neighbours, a few times back and forth (the barycentre
heuristic of Sugiyama, Tagawa and Toda 1981), so that few edges cross.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen

SWEEPS = 4
ROW, GAP, BOX, MARGIN = 40, 90, 28, 20
"""pixels: from row to row, between columns, the height of a box, around everything"""
LETTER, PADDING = 7.3, 24
"""pixels: of a letter, and beside a name"""


@frozen
class Box:
    """A unit's rectangle."""

    x: float
    y: float
    width: float
    height: float = BOX


@frozen
class Layout:
    """All rectangles, and the size of the picture."""

    boxes: dict[str, Box]
    width: float
    height: float


def layout(waves: Mapping[str, int], edges: Sequence[tuple[str, str]]) -> Layout:
    """Places for units with their waves; an edge leads from a unit to one that it waits for."""
    columns: dict[int, list[str]] = {}
    for unit in sorted(waves):
        columns.setdefault(waves[unit], []).append(unit)
    numbers = sorted(columns)
    left: dict[str, list[str]] = {unit: [] for unit in waves}
    right: dict[str, list[str]] = {unit: [] for unit in waves}
    for dependent, dependency in sorted(edges):
        left[dependent].append(dependency)
        right[dependency].append(dependent)
    rank = {unit: float(place) for column in columns.values() for place, unit in enumerate(column)}
    for sweep in range(SWEEPS):
        neighbours, order = (left, numbers) if sweep % 2 == 0 else (right, numbers[::-1])
        for number in order:
            _arrange(columns[number], neighbours, rank)
    return _placed([columns[number] for number in numbers])


def _arrange(column: list[str], neighbours: Mapping[str, list[str]], rank: dict[str, float]) -> None:
    """Order a column by the mean rank of neighbours; who has none stays."""

    def mean(unit: str) -> float:
        found = neighbours[unit]
        return sum(rank[other] for other in found) / len(found) if found else rank[unit]

    column.sort(key=lambda unit: (mean(unit), unit))
    for place, unit in enumerate(column):
        rank[unit] = float(place)


def _placed(columns: list[list[str]]) -> Layout:
    boxes: dict[str, Box] = {}
    tallest = max((len(column) for column in columns), default=0)
    x = float(MARGIN)
    for column in columns:
        width = max(len(unit) for unit in column) * LETTER + PADDING
        top = MARGIN + (tallest - len(column)) * ROW / 2
        for place, unit in enumerate(column):
            boxes[unit] = Box(x, top + place * ROW, width)
        x += width + GAP
    return Layout(boxes, max(x - GAP + MARGIN, 2 * MARGIN), tallest * ROW + 2 * MARGIN)
