"""The block around a place in a file, as in diagnostics: `resource "terraform_data" "a"`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from operator import itemgetter

from planner.foundation.vocabulary.span import Source
from planner.language.syntax.json_reader import JsonArray, JsonObject, JsonValue, read_json

_OPEN, _CLOSE = "{[(", "}])"


def enclosing_block(source: Source, offset: int) -> str | None:
    """The header of the outermost block around the offset; None outside of blocks. The file may have syntax errors,
    because only brackets, strings and comments are examined. In JSON, the result is the path to the innermost object:
    `resource.terraform_data.a`."""
    if offset < 0:
        return None
    if source.filename.endswith(".json"):
        return "".join(_way(_json(source), offset)).lstrip(".") or None
    items = _items(source)
    number = bisect_right(items, offset, key=itemgetter(0)) - 1
    if number < 0:
        return None
    start, end = items[number]
    return _header(source.text, start, end) if offset < end else None


@lru_cache(4)
def _json(source: Source) -> JsonValue | None:
    return read_json(source)[0]


def _way(value: JsonValue | None, offset: int) -> Iterator[str]:
    """The steps from a JSON value to the innermost object at an offset: `.name` and `[index]`."""
    if isinstance(value, JsonObject):
        for name, inner in value.members:
            if isinstance(inner, (JsonObject, JsonArray)) and inner.start <= offset < inner.end:
                yield f".{name.text}"
                yield from _way(inner, offset)
                return
    elif isinstance(value, JsonArray):
        for i, item in enumerate(value.items):
            if isinstance(item, JsonObject) and item.start <= offset < item.end:
                yield f"[{i}]"
                yield from _way(item, offset)
                return


@lru_cache(4)
def _items(source: Source) -> list[tuple[int, int]]:
    """(start, end) of the blocks and attributes of a file. The result is cached, because a file may have many
    diagnostics."""
    text, items, at = source.text, [], 0
    while (start := _skip_blank(text, at)) < len(text):
        end = _item_end(text, start)
        items.append((start, end))
        at = max(end, start + 1)
    return items


def _skip_blank(text: str, at: int) -> int:
    while at < len(text):
        if text[at].isspace() or text[at] == "\ufeff":
            at += 1
        elif text[at] == "#" or text.startswith("//", at):
            at = _line_end(text, at)
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            at = len(text) if end < 0 else end + 2
        else:
            break
    return at


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _item_end(text: str, at: int) -> int:
    """The end of the block or attribute at this position: after the first brace that closes all open brackets, or the
    end of the first line that leaves no bracket open."""
    depth = 0
    while at < len(text):
        char = text[at]
        if char == "\n" and depth <= 0:
            return at
        if char == '"':
            at = _string_end(text, at)
            continue
        if text.startswith("<<", at):
            at = _heredoc_end(text, at)
            continue
        if char == "#" or text.startswith("//", at):
            at = _line_end(text, at)
            continue
        if text.startswith("/*", at):
            end = text.find("*/", at + 2)
            at = len(text) if end < 0 else end + 2
            continue
        if char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
            if depth == 0 and char == "}":
                return at + 1
        at += 1
    return at


def _string_end(text: str, at: int) -> int:
    """The position after the closing quote. Interpolations in the string may contain further strings. A string without
    a closing quote ends at the end of its line."""
    at += 1
    depth = 0
    while at < len(text) and text[at] != "\n":
        if text[at] == "\\" and not depth:
            at += 2
            continue
        if text.startswith(("${", "%{"), at):
            depth += 1
            at += 2
            continue
        if depth and text[at] == '"':
            at = _string_end(text, at)
            continue
        if depth and text[at] == "}":
            depth -= 1
        elif text[at] == '"':
            return at + 1
        at += 1
    return at


def _heredoc_end(text: str, at: int) -> int:
    """The end of the line with the closing marker; the position after `<<` if no heredoc begins here."""
    start = at + (3 if text.startswith("<<-", at) else 2)
    line = _line_end(text, start)
    marker = text[start:line].strip()
    if not marker.isidentifier():
        return start
    while line < len(text):
        begin = line + 1
        line = _line_end(text, begin)
        if text[begin:line].strip() == marker:
            return line
    return len(text)


def _header(text: str, start: int, end: int) -> str | None:
    """The header of a block, `type "label" ...`; None for an attribute."""
    words: list[str] = []
    at = start
    while at < end:
        if text[at] in " \t":
            at += 1
        elif text[at] == '"':
            close = _string_end(text, at)
            words.append(text[at:close])
            at = close
        elif text[at] == "{":
            return " ".join(words) if words else None
        elif text[at].isalnum() or text[at] in "_-":
            begin = at
            while at < end and (text[at].isalnum() or text[at] in "_-"):
                at += 1
            words.append(text[begin:at] if not words else f'"{text[begin:at]}"')
        else:
            return None
    return None
