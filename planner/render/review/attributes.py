"""The changed attributes of an object, as entries of a review document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from planner.foundation.values.expression_text import common_start
from planner.foundation.vocabulary.address import valid_identifier
from planner.render.diff_model import (
    MISSING,
    BlockDiff,
    Diff,
    MappingDiff,
    PrimitiveDiff,
    SensitiveDiff,
    SequenceDiff,
    TypeChange,
    UnknownDiff,
    WriteOnlyDiff,
)
from planner.render.review.links import Links
from planner.render.value import format_value, quoted

UNKNOWN = "(known after apply)"
HIDDEN = "(sensitive value)"
UNKEPT = "(write-only)"
ABSENT = ""
_EMPTY_LABEL = re.compile(r"(?<=\.)\s+[A-Z]\w*:\s*\Z")


def place_of_line(filename: str, line: int, links: Links) -> dict[str, Any]:
    """A line of a file as review documents represent it, with a link to the line if there is one."""
    link = links.to(filename, line)
    return {"file": filename, "line": line, **({"link": link} if link else {})}


LONGEST = 1_000
"""maximum length of a value, in characters"""
_AROUND = 60
"""number of characters that are shown on each side of a difference in a long value"""


def changed_attributes(
    diff: Diff, hide: Callable[[str], str], path: str = "", replaces: bool = False
) -> Iterator[dict[str, Any]]:
    """A dictionary for each place that changes: `path`, `action`, `before` and `after` in the language's syntax ("" if
    absent), and `forces_replacement`. `hide` replaces sensitive strings. `replaces`: whether a part that contains the
    place forces replacement."""
    replaces = replaces or diff.replace
    if diff.action == "no-op":
        return
    if isinstance(diff, BlockDiff):
        for name, item in diff.attributes.items():
            yield from changed_attributes(item, hide, _inner(path, name), replaces)
        for name, group in diff.blocks.items():
            for at, (label, block) in enumerate(group.blocks):
                key = f"[{quoted(label)}]" if label else "" if len(group.blocks) == 1 else f"[{at}]"
                place = f"{_inner(path, name)}{key}"
                yield from changed_attributes(block, hide, place, replaces or group.replace)
    elif isinstance(diff, MappingDiff) and diff.action == "update":
        for name, item in diff.items.items():
            inner = f"{path}[{quoted(name)}]" if diff.quoted or not valid_identifier(name) else _inner(path, name)
            yield from changed_attributes(item, hide, inner, replaces)
    elif isinstance(diff, SequenceDiff) and diff.action == "update":
        if diff.ordered:
            yield from _item_changes(diff, hide, path, replaces)
            return
        for item in diff.items:
            yield from changed_attributes(item, hide, f"{path}[*]", replaces)
    else:
        before, after = (hide(side) for side in sides(diff))
        before, after = shortened(before, after)
        yield _entry(path, diff.action, before, after, replaces)


def _item_changes(
    diff: SequenceDiff, hide: Callable[[str], str], path: str, replaces: bool
) -> Iterator[dict[str, Any]]:
    """The changes of a list by index. Removed items have their index in the old list, all other items their index in
    the new list. A removed and an added item with the same index are one change."""
    removed: dict[int, Diff] = {}
    added: dict[int, Diff] = {}
    was = now = 0

    def between() -> Iterator[dict[str, Any]]:
        for at in sorted({*removed, *added}):
            old, new = removed.get(at), added.get(at)
            before, after = hide(sides(old)[0]) if old else ABSENT, hide(sides(new)[1]) if new else ABSENT
            action = "update" if old and new else "delete" if old else "create"
            is_forcing = replaces or any(item.replace for item in (old, new) if item)
            yield _entry(f"{path}[{at}]", action, *shortened(before, after), is_forcing)
        removed.clear()
        added.clear()

    for item in diff.items:
        if item.action == "delete":
            removed[was] = item
        elif item.action == "create":
            added[now] = item
        else:
            yield from between()
            yield from changed_attributes(item, hide, f"{path}[{now}]", replaces)
        was += item.action != "create"
        now += item.action != "delete"
    yield from between()


def _inner(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _entry(path: str, action: str, before: str, after: str, replaces: bool) -> dict[str, Any]:
    return {"path": path, "action": action, "before": before, "after": after, "forces_replacement": replaces}


def sides(diff: Diff) -> tuple[str, str]:
    """The former and the new value as text; ABSENT for a missing value."""
    if isinstance(diff, SensitiveDiff):
        there_before, there_after = (side != ABSENT for side in sides(diff.inner))
        return HIDDEN if there_before else ABSENT, HIDDEN if there_after else ABSENT
    if isinstance(diff, WriteOnlyDiff):
        return ABSENT, UNKEPT
    if isinstance(diff, UnknownDiff):
        return sides(diff.before)[0] if diff.before is not None else ABSENT, UNKNOWN
    if isinstance(diff, TypeChange):
        return sides(diff.before)[0], sides(diff.after)[1]
    if isinstance(diff, PrimitiveDiff):
        return _text(diff.before), _text(diff.after)
    if isinstance(diff, MappingDiff):
        parts = {name: sides(item) for name, item in diff.items.items()}
        return (
            ABSENT if diff.action == "create" else _mapping({name: both[0] for name, both in parts.items()}),
            ABSENT if diff.action == "delete" else _mapping({name: both[1] for name, both in parts.items()}),
        )
    if isinstance(diff, SequenceDiff):
        items = [sides(item) for item in diff.items]
        return (
            ABSENT if diff.action == "create" else f"[{', '.join(text for text, _ in items if text != ABSENT)}]",
            ABSENT if diff.action == "delete" else f"[{', '.join(text for _, text in items if text != ABSENT)}]",
        )
    return (ABSENT if diff.action == "create" else "{...}"), (ABSENT if diff.action == "delete" else "{...}")


def _mapping(parts: dict[str, str]) -> str:
    shown = (f"{name if valid_identifier(name) else quoted(name)} = {text}" for name, text in parts.items() if text)
    return f"{{{', '.join(shown)}}}"


def _text(value: Any) -> str:
    return ABSENT if value is MISSING else format_value(value)


def shortened(before: str, after: str, most: int = LONGEST) -> tuple[str, str]:
    """Two values. Long values are reduced to the part around their first difference."""
    if max(len(before), len(after)) <= most:
        return before, after
    start = common_start(before, after) if before and after else 0
    return _around(before, start, most), _around(after, start, most)


def _around(text: str, start: int, most: int) -> str:
    begin = max(0, start - _AROUND) if len(text) > most else 0
    kept = text[begin : begin + most]
    return f"{'...' if begin else ''}{kept}{'...' if begin + most < len(text) else ''}"


# words about drift in all forms of the review

RESTORED, KEPT, CHANGED, OPEN = "restored", "kept", "changed", "unknown"
"""kinds of values of a drifted attribute after an apply: the value of the last apply, the drifted value, a different
value, an unknown value"""
FATES = {
    RESTORED: "an apply restores it",
    KEPT: "an apply keeps it",
    CHANGED: "an apply changes it to another value",
    OPEN: "known after apply",
}


def without_label(text: str) -> str:
    """A message without an empty label at its end; in `exit status 1. Output:`, for example, `Output:` is removed."""
    return _EMPTY_LABEL.sub("", text)


def remark(change: Mapping[str, Any]) -> str:
    """The sentence about drift: `was changed outside planner (last modified ... by alice)`, as far as the provider
    records this. For a destroyed object, the sentence also states the effect of an apply, if there is one."""
    drift = change["drift"]
    if change["action"] == "delete":
        fate = {RESTORED: "an apply creates it again", KEPT: "an apply forgets it"}.get(drift["outcome"], "")
        return f"was destroyed outside planner{f'; {fate}' if fate else ''}"
    at, by = drift["modified_at"], drift["modified_by"]
    last = f" (last modified{f' {at}' if at else ''}{f' by {by}' if by else ''})" if at or by else ""
    return f"was changed outside planner{last}"
