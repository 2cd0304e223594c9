"""Writes values as expressions of the language, formatted like hclwrite's TokensForValue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from planner.foundation.support.exact_json import dumps, loads
from planner.foundation.values.json_codec import CodecError, simple_json
from planner.foundation.values.numbers import number_to_text
from planner.foundation.values.value import (
    EPHEMERAL,
    SENSITIVE,
    List,
    Map,
    Marked,
    Null,
    Set,
    Unknown,
    Value,
    is_wholly_known,
    unmark_deep,
)
from planner.foundation.vocabulary.address import quote, valid_identifier


def expression_text(value: Value) -> str:
    """The value as an expression. The expression does not distinguish lists, sets and tuples, nor maps and objects.
    Marks are lost. Raises ValueError for unknown values."""
    return "\n".join(_indent(_lines(value)))


def attributes_text(values: Mapping[str, Value]) -> str:
    """Aligned lines `name = value`, sorted by name. Raises ValueError."""
    return "".join(f"{line}\n" for line in _indent(_assignments((name, values[name]) for name in sorted(values))))


def _lines(value: Value) -> list[str]:
    """The expression as lines without indentation."""
    cls = value.__class__
    if cls is dict or cls is Map:
        items: Mapping[str, Value] = value if cls is dict else value.items
        if not items:
            return ["{}"]
        named = ((k if valid_identifier(k) else quote(k), items[k]) for k in sorted(items))
        return ["{", *_assignments(named), "}"]
    if cls is tuple or cls is List or cls is Set:
        lines = ["["]
        for i, item in enumerate(value if cls is tuple else value.items):
            first, *rest = _lines(item)
            lines[-1] += f"{', ' if i else ''}{first}"
            lines += rest
        lines[-1] += "]"
        return lines
    if cls is Marked:
        return _lines(value.value)
    return [_scalar(value)]


def _scalar(value: Value) -> str:
    cls = value.__class__
    if cls is str:
        return quote(value)
    if cls is bool:
        return "true" if value else "false"
    if cls is Null:
        return "null"
    if cls is Unknown:
        raise ValueError("a value that is not known yet cannot be written as an expression")
    text = number_to_text(value)
    return {"+Inf": "1 / 0", "-Inf": "-1 / 0"}.get(text, text)


def _assignments(items: Iterable[tuple[str, Value]]) -> list[str]:
    """Lines `name = value`, with the equals signs of successive one-line values aligned."""
    lines: list[str] = []
    run: list[tuple[str, str]] = []

    def close() -> None:
        width = max((len(name) for name, _ in run), default=0)
        lines.extend(f"{name:<{width}} = {text}" for name, text in run)
        run.clear()

    for name, value in items:
        first, *rest = _lines(value)
        if rest:
            close()
            lines.extend([f"{name} = {first}", *rest])
        else:
            run.append((name, first))
    close()
    return lines


def _indent(lines: Iterable[str]) -> list[str]:
    """Indent lines. After a line that opens more brackets than it closes, the following lines are indented by two more
    spaces, however many brackets it opens."""
    out: list[str] = []
    opened: list[int] = []
    for line in lines:
        balance = _balance(line)
        closing = -balance
        while closing > 0 and opened:
            last = opened.pop()
            if last > closing:
                opened.append(last - closing)
            closing -= last
        out.append("  " * len(opened) + line)
        if balance > 0:
            opened.append(balance)
    return out


def _balance(line: str) -> int:
    balance, quoted, skip = 0, False, False
    for char in line:
        if skip:
            skip = False
        elif quoted:
            skip = char == "\\"
            quoted = char != '"'
        elif char == '"':
            quoted = True
        else:
            balance += (char in "[{") - (char in "]}")
    return balance


# Short texts of values, for messages.


_MOST_COMPARED = 250_000
"""maximum number of pairs of lines that are compared"""
LONGEST = 60  # characters
_LEAD, _TAIL = 24, 35  # characters shown before and after a difference
_MAX_DIFFERENT = 400
HIDDEN = "(sensitive value)"


def short_text(value: Value, hidden: bool = False) -> str:
    """The value as shortened JSON. Sensitive or `hidden` values are not shown."""
    return _cut(whole_text(value, hidden))


def short_texts(before: Value, after: Value, hidden: bool = False) -> tuple[str, str]:
    """Two values as JSON, shortened around their difference. None represents a missing value, which is shown as
    "nothing". For strings of several lines, the first line that differs is shown, with its number. For strings that
    contain JSON, the first part that differs is shown, with its path."""
    texts = [whole_text(v, hidden) if v is not None else "nothing" for v in (before, after)]
    plain = [unmark_deep(v)[0] if v is not None else None for v in (before, after)]
    is_json = all(v.__class__ is str and v[:1] in ("{", "[") for v in plain) and HIDDEN not in texts
    part = _first_part(*(_parse_json(str(v)) for v in plain)) if is_json else None
    if part is not None:
        return part
    if all(v.__class__ is str for v in plain) and "\n" in f"{plain[0]}{plain[1]}" and HIDDEN not in texts:
        return _first_line(*(str(v).split("\n") for v in plain))
    return shorten_common(*texts)


def text_differences(before: Value, after: Value) -> list[tuple[str, str]]:
    """The different parts of two JSON objects or arrays, with their paths, or the different lines of two strings
    that have the same number of lines (at least two). Empty for other strings, for other values and for sensitive
    strings."""
    if before.__class__ is not str or after.__class__ is not str:
        return []
    one, other = _parse_json(before), _parse_json(after)
    if before[:1] in ("{", "[") and one.__class__ is other.__class__ and one.__class__ in (dict, list):
        parts = list(_different_parts(one, other, ""))
        return [_with_title(f"at {path}: ", *map(_part_text, sides)) for path, *sides in parts]
    lines = before.split("\n"), after.split("\n")
    if len(lines[0]) != len(lines[1]) or len(lines[0]) < 2:
        return []
    pairs = enumerate(zip(*lines, strict=True), 1)
    return [_with_title(f"line {number}: ", whole_text(a), whole_text(b)) for number, (a, b) in pairs if a != b]


def _with_title(title: str, before: str, after: str) -> tuple[str, str]:
    """Shorten two strings around their difference, and prefix them with the title. The string "nothing", which
    represents a missing value, gets no title."""
    one, other = (text if text == "nothing" else f"{title}{text}" for text in shorten_common(before, after))
    return one, other


def _parse_json(text: str) -> Any:
    """The value of a JSON string; None for other strings."""
    try:
        return loads(text.encode())
    except (ValueError, RecursionError):
        return None


def _first_part(before: Any, after: Any) -> tuple[str, str] | None:
    """The first difference of two JSON values, with its path; None if there is no difference, or if the values are
    neither two objects nor two lists."""
    if before.__class__ is not after.__class__ or before.__class__ not in (dict, list):
        return None
    parts = list(_different_parts(before, after, ""))
    if not parts:
        return None
    path, *sides = parts[0]
    title = f"at {path}{f' (and {len(parts) - 1} more)' if len(parts) > 1 else ''}: "
    return _with_title(title, *map(_part_text, sides))


_NONE = object()


def _part_text(side: Any) -> str:
    return "nothing" if side is _NONE else dumps(side).decode()


def _different_parts(before: Any, after: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if before.__class__ is dict and after.__class__ is dict:
        for key in sorted({*before, *after}):
            step = f".{key}" if valid_identifier(key) else f"[{dumps(key).decode()}]"
            yield from _different_parts(before.get(key, _NONE), after.get(key, _NONE), path + step)
    elif before.__class__ is list and after.__class__ is list and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _different_parts(one, other, f"{path}[{number}]")
    elif before is _NONE or after is _NONE or before.__class__ is not after.__class__ or before != after:
        yield path.lstrip(".") or "the top", before, after


def _first_line(before: list[str], after: list[str]) -> tuple[str, str]:
    start, same = common_ends(before, after)
    sides = [lines[start : len(lines) - same] for lines in (before, after)]
    others = _changed_lines(*sides) - 1
    title = f"line {start + 1}{f' (and {others} more)' if others > 0 else ''}: "
    return _with_title(title, *(whole_text(side[0]) if side else "nothing" for side in sides))


def _changed_lines(before: list[str], after: list[str]) -> int:
    """The number of changed, added and removed lines; for long texts, the number of lines of the longer one."""
    if len(before) * len(after) > _MOST_COMPARED:
        return max(len(before), len(after))
    from difflib import SequenceMatcher

    blocks = SequenceMatcher(None, before, after, False).get_opcodes()
    return sum(max(end - start, until - at) for tag, start, end, at, until in blocks if tag != "equal")


def shorten_common(one: str, other: str) -> tuple[str, str]:
    """Two strings; if they are long, "..." replaces most of their common beginning and end."""
    if max(len(one), len(other)) <= LONGEST or "nothing" in (one, other):
        return _cut(one), _cut(other)
    begin, end = common_ends(one, other)
    start, rest = max(0, begin - _LEAD), max(0, end - _TAIL)
    while start and one[start - 1] == "\\":  # do not cut inside an escape
        start -= 1
    first, last = (_middle(text[start : len(text) - rest]) for text in (one, other))
    quote_sign = '"' if one[:1] == other[:1] == '"' else ""
    lead, tail = f"{quote_sign}..." if start else "", f"...{quote_sign}" if rest else ""
    return f"{lead}{first}{tail}", f"{lead}{last}{tail}"


def _middle(text: str) -> str:
    return text if len(text) <= _MAX_DIFFERENT else f"{text[: _MAX_DIFFERENT // 2]}...{text[-_MAX_DIFFERENT // 2 :]}"


def common_start(one: Sequence[str], other: Sequence[str]) -> int:
    """The number of equal characters or lines at the beginning of two texts."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def common_ends(one: Sequence[str], other: Sequence[str]) -> tuple[int, int]:
    """Compare two texts. Returns how many characters or lines are equal at the beginning, and how many of the others
    are equal at the end."""
    begin = common_start(one, other)
    return begin, common_start(one[begin:][::-1], other[begin:][::-1])


def whole_text(value: Value, hidden: bool = False) -> str:
    """The value as JSON; None is null. A placeholder represents a sensitive or `hidden` value, and one that is not
    completely known."""
    if value is None or value.__class__ is Null:
        return "null"
    plain, marks = unmark_deep(value)
    if hidden or marks & {SENSITIVE, EPHEMERAL}:
        return HIDDEN
    if plain.__class__ is Unknown or not is_wholly_known(plain):
        return "(known after apply)"
    try:
        return dumps(simple_json(plain), escape_html=False).decode("utf-8")
    except CodecError:
        return "a value"


def _cut(text: str, start: int = 0) -> str:
    end = start + LONGEST
    return f"{'...' if start else ''}{text[start:end]}{'...' if len(text) > end else ''}"


def literal(text: str) -> str:
    """Convert JSON to an expression on one line. Other strings, such as shortened values, are returned unchanged."""
    try:
        return _one_line(loads(text.encode()))
    except (ValueError, RecursionError):
        return text


def _one_line(value: Any) -> str:
    if isinstance(value, dict):
        items = ((key if valid_identifier(key) else quote(key), _one_line(inner)) for key, inner in value.items())
        return f"{{ {', '.join(f'{key} = {inner}' for key, inner in items)} }}" if value else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_one_line, value))}]"
    return quote(value) if isinstance(value, str) else dumps(value).decode()
