"""Which top-level blocks of a file were edited, without reading all of it: only what stands between two blocks that are
the same, since a block ends with its brace and the next one begins on a new line.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Source
from planner.language.syntax.native_body import NativeBody
from planner.language.syntax.parse import parse_config

_PREFIXES = {"resource": "", "output": "output.", "variable": "var.", "local": "local."}
"""of blocks, and of single local values, whose edits can be followed: what stands before their names in expressions"""
_LABELS = {"resource": 2, "output": 1, "variable": 1}


MOST_TEXT = 1 << 16
"""characters that are read anew; where it is more, planning all takes no longer"""

Spans = dict[str, tuple[int, int]]
"""by what expressions call blocks, where these begin and end"""


@frozen(eq=False)
class EditedBlock:
    """A top-level block, or a local value (`local`): its type, and what expressions call it (others by their words and
    number)."""

    type: str
    name: str
    start: int
    end: int


@frozen(eq=False)
class Edit:
    """`edited`: the blocks that are new or have another text; `gone`: those that are no more; `spans`: where the
    resource blocks of the file stand now."""

    edited: frozenset[str]
    gone: frozenset[str]
    spans: Spans


def edit(old: str, new: str, spans: Spans) -> Edit | None:
    """What was edited in a file; `spans` are where its resource blocks stood, in order. None when that is not to be
    seen so: something else was edited, too, or it is not well-formed."""
    edited: set[str] = set()
    gone: set[str] = set()
    found: Spans = {}
    count = at = moved = 0
    names, places = list(spans), list(spans.values())
    for region in _regions(old, new, places):
        was, now = old[region.begin : region.end], new[region.begin_now : region.end_now]
        if len(was) > MOST_TEXT or len(now) > MOST_TEXT:
            return None
        ends = region.end == len(old)
        if (region.begin and not _begins_behind_line(now)) or not (ends or now.rstrip(" \t").endswith("\n")):
            return None  # what stands on one line with another block is not well-formed
        here, there = blocks_of(now), blocks_of(was)
        if here is None or there is None:
            return None
        texts = {block.name: was[block.start : block.end] for block in there}
        stay = {block.name for block in here}
        other = [block for block in here if texts.get(block.name) != now[block.start : block.end]]
        away = [block for block in there if block.name not in stay]
        if any(block.type not in _PREFIXES for block in (*other, *away)):
            return None
        edited.update(block.name for block in other)
        gone.update(block.name for block in away)
        for name, (start, end) in zip(names[at : region.first], places[at : region.first], strict=True):
            found[name] = start + moved, end + moved
        for block in here:
            if block.type == "resource":
                found[block.name] = region.begin_now + block.start, region.begin_now + block.end
                count += 1
        count += region.first - at
        at, moved = region.last, region.end_now - region.end
    for name, (start, end) in zip(names[at:], places[at:], strict=True):
        found[name] = start + moved, end + moved
    if len(found) < count + len(names) - at:
        return None  # a name occurs twice
    return Edit(frozenset(edited), frozenset(gone), found)


@frozen(eq=False)
class _Region:
    """Where two texts differ, from the end of a block to the beginning of another: in the old one, and in the new one;
    and which blocks stood in it, the first and the one behind the last."""

    begin: int
    end: int
    begin_now: int
    end_now: int
    first: int
    last: int


_FEW = 50
"""blocks behind a difference that are looked for in the new text, to find out where it ends"""


def _regions(old: str, new: str, places: Sequence[tuple[int, int]]) -> Iterator[_Region]:
    at = now = 0
    while True:
        first = at + _same(old, new, at, now)
        if first == len(old) and first - at + now == len(new):
            return
        before = bisect_right(places, first, key=lambda place: place[1])  # blocks that end before the difference
        begin = max(at, places[before - 1][1]) if before else at
        begin_now = now + begin - at
        behind = bisect_left(places, first, key=lambda place: place[0])
        for last in range(behind, min(behind + _FEW, len(places))):
            start, end = places[last]
            end_now = new.find(old[start:end], begin_now)
            if end_now > 0 and new[end_now - 1] == "\n":
                yield _Region(begin, start, begin_now, end_now, before, last)
                at, now = start, end_now
                break
        else:
            yield _Region(begin, len(old), begin_now, len(new), before, len(places))
            return


def _begins_behind_line(text: str) -> bool:
    return text.lstrip(" \t").startswith(("\n", "\r\n", "#", "//"))


def blocks_of(text: str) -> list[EditedBlock] | None:
    """The top-level blocks of a text, local values by themselves. None when it is not well-formed, or a name occurs
    twice."""
    body, problems = parse_config(Source("", text))
    if problems or body.attributes:
        return None
    found: list[EditedBlock] = []
    others: list[str] = []
    for block in body.blocks:
        labels = [label.value for label in block.labels]
        if len(labels) == _LABELS.get(block.type):
            name = _PREFIXES[block.type] + ".".join(labels)
        elif block.type == "locals" and not labels and isinstance(block.body, NativeBody) and not block.body.blocks:
            values = block.body.attributes.values()
            found += [EditedBlock("local", f"local.{value.name}", value.start, value.end) for value in values]
            continue
        else:
            name = " ".join((block.type, *labels))
            others.append(name)
            name = f"{name} {others.count(name)}"
        found.append(EditedBlock(block.type, name, block.start, block.end))
    return found if len({block.name for block in found}) == len(found) else None


def blanked(text: str, places: Iterable[tuple[int, int]]) -> str:
    """The text without these parts, in order, but for their line breaks: what is left stands on its line."""
    pieces: list[str] = []
    at = 0
    for start, end in places:
        pieces += (text[at:start], "\n" * text.count("\n", start, end))
        at = end
    return "".join((*pieces, text[at:]))


def _same(old: str, new: str, at: int, now: int) -> int:
    """How much is the same from here on, found by halves: comparing slices costs nothing beside looking at each
    character."""
    low, high = 0, min(len(old) - at, len(new) - now)
    while low < high:
        middle = (low + high + 1) // 2
        if old[at + low : at + middle] == new[now + low : now + middle]:
            low = middle
        else:
            high = middle - 1
    return low
