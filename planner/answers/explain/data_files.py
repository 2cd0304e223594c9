"""Compares two versions of a YAML or JSON file that the configuration reads, mixes their entries, and finds the places
of entries."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import lru_cache
from typing import Any

from planner.answers.explain.mixtures import mixed_value
from planner.answers.explain.origins import Path, differences, same_parts
from planner.foundation.values.convert import convert
from planner.foundation.values.types import STRING
from planner.foundation.values.value import Value
from planner.foundation.vocabulary.span import Source, Span

MOST_ENTRIES = 12
"""maximum number of entries of one file that are separate causes"""
MOST_DEPTH = 12
"""maximum number of keys and indexes in the name of an entry"""


@lru_cache(8)
def value_of_file(path: str, text: str) -> Value:
    """The value of a YAML or JSON file. None for other files, for a content that is not valid, and for YAML with
    aliases, because there one edit of an anchor changes several entries."""
    if path.endswith(".json"):
        from planner.language.functions.json_reader import read
    elif path.endswith((".yaml", ".yml")) and not (_ALIAS.search(text) and _ANCHOR.search(text)):
        from planner.language.functions.yaml import read
    else:
        return None
    try:
        return read(text)
    except (ValueError, RecursionError):
        return None


_ALIAS = re.compile(r"(?:^|[\s,\[{:-])\*[^\s,\[\]{}*]", re.MULTILINE)
_ANCHOR = re.compile(r"(?:^|[\s,\[{:-])&[^\s,\[\]{}&]", re.MULTILINE)


def changed_entries(path: str, before: str, now: str) -> tuple[Path, ...]:
    """The paths of the innermost entries in which two versions of a YAML or JSON file differ. A list whose length
    changed counts as one entry. If there are more than MOST_ENTRIES, entries that contain them are returned instead,
    all with paths of the same length. Empty if there are still too many, if the values are equal, and for other
    files."""
    was, value = value_of_file(path, before), value_of_file(path, now)
    if was is None or value is None or _writer(path, before, now) is None:
        return ()
    entries = {
        (one[:-1] if is_new and one[-1][0] == "index" else one)[:MOST_DEPTH] for one, is_new in differences(was, value)
    }
    for depth in range(max(map(len, entries), default=0), 0, -1):
        around = {one[:depth] for one in entries}
        if len(around) <= MOST_ENTRIES:
            return tuple(sorted(around, key=str)) if len(around) > 1 or len(entries) == 1 else ()
    return ()


@lru_cache(8)
def _writer(path: str, before: str, now: str) -> Callable[[Value], str] | None:
    """A function that writes the value of a file so that reading the result returns the same value. It must do this for
    both versions of the file, so it can be used for mixtures of them. None if there is no such function. For YAML
    files, JSON is preferred, because it is valid YAML and is read faster."""
    from planner.language.functions.encoding import json_text
    from planner.language.functions.yaml import write

    for form in (json_text,) if path.endswith(".json") else (json_text, write):
        with suppress(ValueError, RecursionError):
            values = [value_of_file(path, text) for text in (before, now)]
            if all(same_parts(value, value_of_file(path, form(value))) for value in values):
                return form
    return None


def mixed_file(path: str, before: str, now: str, chosen: Collection[Path]) -> str:
    """The content of a YAML or JSON file in which the entries `chosen` have their current values, and all others their
    former values."""
    form = _writer(path, before, now)
    assert form is not None, "such a file has no entries of its own"
    return form(mixed_value(value_of_file(path, before), value_of_file(path, now), (), chosen))


def entry_span(path: str, text: str, entry: Path) -> Span | None:
    """The span of an entry with its key or, if the entry is not in the file, of the innermost entry that would contain
    it. If this is the whole file, the span is the first line. None if positions are unknown."""
    node: Any = _nodes(text)
    if node is None:
        return None
    start = end = None
    for _, key in entry:
        items: Any = getattr(node, "value", None)
        if key.__class__ is int and node.id == "sequence" and key < len(items):
            node = items[key]
            start = node.start_mark
        elif key.__class__ is str and node.id == "mapping" and any(_key(one) == key for one, _ in items):
            name, node = next(item for item in reversed(items) if _key(item[0]) == key)
            start = name.start_mark
        else:
            break
        end = node.end_mark
    lines = text.splitlines(keepends=True)
    if start is None or end is None:
        return Span(Source(path, text), 0, len("".join(lines[:1]).rstrip()))
    at, after = (sum(map(len, lines[: mark.line])) + mark.column for mark in (start, end))
    return Span(Source(path, text), at, at + len(text[at:after].rstrip()))


def _key(node: Any) -> str:
    """The key of a mapping as a string, as `yamldecode` returns it."""
    from planner.language.functions.yaml import resolve

    if node.id != "scalar":
        return ""
    try:
        key = resolve("", node.value, node.style)
        return str(key if key.__class__ is str else convert(key, STRING))
    except ValueError:
        return ""


@lru_cache(4)
def _nodes(text: str) -> Any:
    import yaml

    try:
        return yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError):
        return None
