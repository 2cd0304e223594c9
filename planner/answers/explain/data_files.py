"""Entries of YAML and JSON files that the configuration reads: their differences, mixtures and positions."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any

from planner.answers.explain.mixtures import mixed_value
from planner.answers.explain.origins import Path, differences
from planner.foundation.values.value import Value
from planner.foundation.vocabulary.span import Source, Span

MOST_ENTRIES = 12
"""maximum number of entries of one file that are separate causes"""


def value_of_file(path: str, text: str) -> Value:
    """The value of a YAML or JSON file; None for other files and invalid texts."""
    if path.endswith(".json"):
        from planner.language.functions.json_reader import read
    elif path.endswith((".yaml", ".yml")):
        from planner.language.functions.yaml import read
    else:
        return None
    try:
        return read(text)
    except (ValueError, RecursionError):
        return None


def changed_entries(path: str, before: str, now: str) -> tuple[Path, ...]:
    """The innermost parts in which two versions of a YAML or JSON file differ; a list whose length changed is one part.
    If there are more than MOST_ENTRIES, the parts around them at the greatest depth with at most MOST_ENTRIES such
    parts. Empty if there is no such depth or only one such part, for equal values, and for other files."""
    was, value = value_of_file(path, before), value_of_file(path, now)
    if was is None or value is None:
        return ()
    entries = {one[:-1] if is_new and one[-1][0] == "index" else one for one, is_new in differences(was, value)}
    for depth in range(max(map(len, entries), default=0), 0, -1):
        around = {one[:depth] for one in entries}
        if len(around) <= MOST_ENTRIES:
            return tuple(sorted(around, key=str)) if len(around) > 1 or len(entries) == 1 else ()
    return ()


def mixed_file(path: str, before: str, now: str, chosen: Collection[Path]) -> str:
    """A version of a YAML or JSON file in which only the chosen entries are current; as JSON, which is also YAML."""
    from planner.language.functions.encoding import json_text

    return json_text(mixed_value(value_of_file(path, before), value_of_file(path, now), (), chosen))


def entry_span(path: str, text: str, entry: Path) -> Span:
    """The text of an entry with its key, or of the smallest part around it that has a known position; for the whole
    file, its first line."""
    node: Any = _nodes(text)
    start = end = None
    for _, key in entry if node is not None else ():
        items: Any = getattr(node, "value", None)
        if key.__class__ is int and node.id == "sequence" and key < len(items):
            node = items[key]
            start = node.start_mark
        elif key.__class__ is str and node.id == "mapping" and any(one.value == key for one, _ in items):
            name, node = next(item for item in reversed(items) if item[0].value == key)
            start = name.start_mark
        else:
            break
        end = node.end_mark
    lines = text.splitlines(keepends=True)
    if start is None or end is None:
        return Span(Source(path, text), 0, len("".join(lines[:1]).rstrip()))
    at, after = (sum(map(len, lines[: mark.line])) + mark.column for mark in (start, end))
    return Span(Source(path, text), at, at + len(text[at:after].rstrip()))


@lru_cache(4)
def _nodes(text: str) -> Any:
    import yaml

    try:
        return yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError):
        return None
