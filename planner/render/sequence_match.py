"""Which items of two lists belong together: a longest common subsequence, and pairs in the gaps between."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

LARGEST = 4_000_000
"""cells of the table that are still worth filling; beyond, the part that differs is shown as replaced"""


def aligned(
    before: Sequence[Hashable], after: Sequence[Hashable], pair: Callable[[int, int], bool]
) -> list[tuple[int | None, int | None]]:
    """Positions (before, after) in order of display: common items as pairs, removed ones (i, None), added (None, j).
    Items in a gap stand as a pair when `pair` says that they should be compared with each other."""
    out: list[tuple[int | None, int | None]] = []
    i = j = 0
    for common_i, common_j in [*common(before, after), (len(before), len(after))]:
        while i < common_i:
            if j < common_j and pair(i, j):
                out.append((i, j))
                j += 1
            else:
                out.append((i, None))
            i += 1
        while j < common_j:
            out.append((None, j))
            j += 1
        if common_i < len(before):
            out.append((common_i, common_j))
            i, j = common_i + 1, common_j + 1
    return out


def common(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Positions of a longest common subsequence. O(n) for equal ends, O(n m) for the middle."""
    low, high_a, high_b = 0, len(before), len(after)
    tail = []
    while high_a and high_b and before[high_a - 1] == after[high_b - 1]:
        high_a -= 1
        high_b -= 1
        tail.append((high_a, high_b))
    # Among equally long answers the latest items are taken, so an equal beginning is only cut off when it must be.
    if high_a * high_b > LARGEST:
        while low < high_a and low < high_b and before[low] == after[low]:
            low += 1
    middle = _table([*before[low:high_a]], [*after[low:high_b]])
    return [(k, k) for k in range(low)] + [(low + a, low + b) for a, b in middle] + tail[::-1]


def _table(a: list[Hashable], b: list[Hashable]) -> list[tuple[int, int]]:
    if not a or not b or len(a) * len(b) > LARGEST:
        return []
    width = len(a) + 1
    rows = [[0] * width]
    for item in b:
        last, row = rows[-1], [0] * width
        for x, other in enumerate(a, 1):
            row[x] = last[x - 1] + 1 if item == other else max(row[x - 1], last[x])
        rows.append(row)
    pairs = []
    x, y = len(a), len(b)
    while x and y:
        if a[x - 1] == b[y - 1]:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        elif rows[y][x - 1] > rows[y - 1][x]:
            x -= 1
        else:
            y -= 1
    return pairs[::-1]
