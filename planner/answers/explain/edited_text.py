"""Describes edits of expressions in the configuration, and of files that the configuration reads."""

from __future__ import annotations

from planner.answers.explain.data_files import value_of_file
from planner.answers.explain.origins import same_parts
from planner.foundation.values.expression_text import common_ends, shorten_common
from planner.foundation.vocabulary.span import Span

_MOST_NAMES = 4
"""maximum number of keys that are listed as added, as removed or as changed"""


def changed_lines(before: str, now: Span) -> Span:
    """The lines of a text from the first to the last line that differs from the former text; the whole text if it has
    fewer lines than before. White space at the beginning and the end of lines is ignored."""
    lines = now.text.splitlines(keepends=True)
    sides = [line.strip() for line in before.splitlines()], [line.strip() for line in lines]
    if len(sides[0]) > len(sides[1]):
        return now
    first, same = common_ends(*sides)
    first = min(first, len(lines) - 1)
    start = now.start + sum(map(len, lines[:first]))
    text = "".join(lines[first : max(len(lines) - same, first + 1)])
    return Span(now.source, start, start + len(text.rstrip()))


def edited_texts(before: str, now: Span) -> tuple[str, str]:
    """(former text, current text) of the only line in which a part of an expression changed, shortened to the
    difference. "" if several lines changed, or if lines were added or removed."""
    sides = [[line.strip() for line in text.splitlines()] for text in (before, now.text)]
    lines = [pair for pair in zip(*sides, strict=False) if pair[0] != pair[1]]
    if len(sides[0]) != len(sides[1]) or len(lines) != 1 or not "".join(lines[0]).isprintable():
        return "", ""
    return shorten_common(*lines[0])


def file_edit(path: str, before: str, now: str, has_lines: bool = False) -> str:
    """A description of an edit, to append to the name of a file. For an object in a YAML or JSON file, it lists keys,
    as in `: added b; changed a`, or ` in a.b: changed c` if one nested object contains all differences. For other
    files, it is as in ` at line 3`; with `has_lines`, the first changed line is added. "" for equal contents."""
    was, value = (value_of_file(path, text) for text in (before, now))
    inside: list[str] = []
    while was.__class__ is value.__class__ is dict:
        groups = {
            "removed": [key for key in was if key not in value],
            "added": [key for key in value if key not in was],
            "changed": [key for key in value if key in was and not same_parts(was[key], value[key])],
        }
        (key, *others) = groups["changed"] or [""]
        deeper = key and not others and not groups["removed"] and not groups["added"]
        if deeper and was[key].__class__ is value[key].__class__ is dict:
            inside.append(key)
            was, value = was[key], value[key]
            continue
        parts = [f"{verb} {_key_list(keys)}" for verb, keys in groups.items() if keys]
        return f"{' in ' if inside else ''}{'.'.join(inside)}: {'; '.join(parts)}" if parts else ""
    if before == now:
        return ""
    lines = before.splitlines(), now.splitlines()
    first, same = common_ends(*lines)
    sides = [some[first : len(some) - same] for some in lines]
    place = f" at line {first + 1}"
    shown = shorten_common(*("".join(some[:1]).strip() for some in sides))
    if not has_lines or not any(shown) or not "".join(shown).isprintable():
        return place
    edit = f"added {shown[1]}" if not sides[0] else f"removed {shown[0]}" if not sides[1] else " -> ".join(shown)
    more = max(map(len, sides)) - 1
    return f"{place}: {edit}{f' and {more} more line' + 's' * (more > 1) if more else ''}"


def _key_list(keys: list[str]) -> str:
    shown = keys if len(keys) <= _MOST_NAMES else [*keys[: _MOST_NAMES - 1], f"{len(keys) - _MOST_NAMES + 1} more"]
    return ", ".join(shown)
