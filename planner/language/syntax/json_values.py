"""JSON values with their positions in the text."""

from __future__ import annotations

from typing import Any, TypeAlias

DEEPEST = 400
"""values inside values; no configuration comes near it"""


class JsonText:
    """A string: its text, and its span with the quotes."""

    __slots__ = ("end", "start", "text")

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text, self.start, self.end = text, start, end

    def __reduce__(self) -> tuple[Any, ...]:
        return (JsonText, (self.text, self.start, self.end))


class JsonAtom:
    """A number (as its text), true, false or null."""

    __slots__ = ("end", "start", "value")

    def __init__(self, value: str | bool | None, start: int, end: int) -> None:
        self.value, self.start, self.end = value, start, end

    def __reduce__(self) -> tuple[Any, ...]:
        return (JsonAtom, (self.value, self.start, self.end))


class JsonArray:
    """An array; start is its opening bracket."""

    __slots__ = ("end", "items", "start")

    def __init__(self, items: list[JsonValue], start: int, end: int) -> None:
        self.items, self.start, self.end = items, start, end

    def __reduce__(self) -> tuple[Any, ...]:
        return (JsonArray, (self.items, self.start, self.end))


class JsonObject:
    """An object: names with their values, in order and with repetitions."""

    __slots__ = ("end", "members", "start")

    def __init__(self, members: list[tuple[JsonText, JsonValue]], start: int, end: int) -> None:
        self.members, self.start, self.end = members, start, end

    def __reduce__(self) -> tuple[Any, ...]:
        return (JsonObject, (self.members, self.start, self.end))


JsonValue: TypeAlias = JsonText | JsonAtom | JsonArray | JsonObject
