"""How cost grows with size: the exponent of a power law, fitted by least squares in logarithms."""

from __future__ import annotations

from collections.abc import Iterable
from math import log


def exponent(points: Iterable[tuple[float, float]]) -> float | None:
    """The b of cost = a * size**b that fits (size, cost) best; None for fewer than two different sizes."""
    logs = [(log(size), log(cost)) for size, cost in points if size > 0 and cost > 0]
    if len({x for x, _ in logs}) < 2:
        return None
    mean_x = sum(x for x, _ in logs) / len(logs)
    mean_y = sum(y for _, y in logs) / len(logs)
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / sum((x - mean_x) ** 2 for x, _ in logs)
