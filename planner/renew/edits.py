"""Which top-level blocks of a file were edited, without reading all of it: what both texts begin and end with is the
same, and in between stand whole blocks again, since a block ends with its brace and the next one begins on a new line.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from planner.syntax.parse import parse_config
from planner.vocabulary.records import frozen
from planner.vocabulary.span import Source

EDITABLE = {"resource": 2, "output": 1}
"""types of blocks whose edits can be followed, and how many labels they have"""


@frozen(eq=False)
class Edit:
    """`texts`: of the blocks that are new or have another text, by what expressions call them. `gone`: those that are
    no more. `begin` and `end`: the part of the old text in which all that was, from the end of a block to the start of
    another; `rest` is what else stands there now."""

    texts: dict[str, str]
    gone: tuple[str, ...]
    begin: int
    end: int
    rest: str


def edit(old: str, new: str, spans: Sequence[tuple[int, int]]) -> Edit | None:
    """What was edited in a file; `spans` are where its resource blocks stand in the old text, in order. None when that
    is not to be seen so: something else was edited, too, or it is not well-formed."""
    first = _same(old, new)
    last = min(_same_at_end(old, new), len(old) - first, len(new) - first)
    ends, starts = [end for _, end in spans], [start for start, _ in spans]
    before = bisect_right(ends, first)  # blocks that end before the difference
    behind = bisect_left(starts, len(old) - last)
    begin = ends[before - 1] if before else 0
    end = starts[behind] if behind < len(starts) else len(old)
    now = new[begin : len(new) - (len(old) - end)]
    was = old[begin:end]
    if (begin and not _begins_behind_line(now)) or (end < len(old) and not now.rstrip(" \t").endswith("\n")):
        return None  # what stands on one line with another block is not well-formed
    blocks, others = blocks_of(now), blocks_of(was)
    if blocks is None or others is None:
        return None
    texts: dict[str, str] = {}
    for name, (kind, text) in blocks.items():
        if others.get(name, ("", ""))[1] != text:
            if kind not in EDITABLE:
                return None
            texts[name] = text
    gone = [name for name in others if name not in blocks]
    if any(others[name][0] not in EDITABLE for name in gone):
        return None
    rest = "\n".join(text for name, (kind, text) in blocks.items() if kind != "resource" and name not in texts)
    return Edit(texts, tuple(gone), begin, end, rest)


def _begins_behind_line(text: str) -> bool:
    return text.lstrip(" \t").startswith(("\n", "\r\n", "#", "//"))


def blocks_of(text: str) -> dict[str, tuple[str, str]] | None:
    """The top-level blocks of a text, by what expressions call them (others by number): type and text. None when it is
    not well-formed, or a name occurs twice."""
    body, problems = parse_config(Source("", text))
    if problems or body.attributes:
        return None
    found: dict[str, tuple[str, str]] = {}
    others: list[str] = []
    for block in body.blocks:
        labels = [label.value for label in block.labels]
        if len(labels) == EDITABLE.get(block.type):
            name = ".".join(labels) if block.type == "resource" else f"{block.type}.{labels[0]}"
        else:
            name = " ".join((block.type, *labels))
            others.append(name)
            name = f"{name} {others.count(name)}"
        if name in found:
            return None
        found[name] = block.type, text[block.start : block.end]
    return found


def _same(old: str, new: str) -> int:
    """How much both begin with, found by halves: comparing slices costs nothing beside looking at each character."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _same_at_end(old: str, new: str) -> int:
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[len(old) - middle : len(old) - low] == new[len(new) - middle : len(new) - low]:
            low = middle
        else:
            high = middle - 1
    return low
