"""Conversion between values of the language and Python objects.

string, bool, null    str, bool, None           list, set, tuple    list
number                int, or else float        map, object         dict
not known yet         UNKNOWN                   sensitive           Sensitive, which hides the value"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from planner.foundation.values.json_codec import implied_value
from planner.foundation.values.numbers import to_float
from planner.foundation.values.value import SENSITIVE, List, Map, Marked, Null, Set, Unknown, Value, mark, unmark_deep

Path = tuple[str | int, ...]
"""the path to a part of a Python object: a sequence of attribute names, map keys and list indexes"""


class NotKnown:
    """The type of UNKNOWN."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "(known after apply)"

    def __bool__(self) -> bool:
        raise TypeError("A value that is known only after apply is neither true nor false: compare it with UNKNOWN.")

    def __reduce__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = NotKnown()
"""a value that is known only after apply"""


class Sensitive:
    """A sensitive value. It is printed as `(sensitive value)`, also within other values. `reveal` returns the value
    itself."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def reveal(self) -> Any:
        """The value itself, which must not appear in logs."""
        return self._value

    def __repr__(self) -> str:
        return "(sensitive value)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sensitive) and bool(self._value == other._value)

    def __hash__(self) -> int:
        return hash(Sensitive)


def to_python(value: Value) -> Any:
    """A value of the language as a Python object (see the docstring of the module)."""
    kind = value.__class__
    if kind is Marked:
        inner = to_python(value.value)
        return Sensitive(inner) if SENSITIVE in value.marks else inner
    if kind is str or kind is bool or kind is int:
        return value
    if kind is Null:
        return None
    if kind is Unknown:
        return UNKNOWN
    if kind is dict:
        return {name: to_python(item) for name, item in value.items()}
    if kind is Map:
        return {name: to_python(item) for name, item in sorted(value.items.items())}
    if kind is tuple:
        return [to_python(item) for item in value]
    if kind is List or kind is Set:
        return [to_python(item) for item in value.items]
    return to_float(value)


def from_python(value: Any) -> Value:
    """A Python object as a value of the language. The object may have a type of JSON, or be Sensitive or UNKNOWN.
    Raises TypeError for other objects, and ValueError for numbers and strings that the language does not support."""
    if value is UNKNOWN:
        return Unknown()
    if isinstance(value, Sensitive):
        plain, _ = unmark_deep(from_python(value.reveal()))
        return mark(plain, frozenset((SENSITIVE,)))
    if isinstance(value, Mapping):
        return {str(name): from_python(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(map(from_python, value))
    if isinstance(value, str):
        value.encode()  # this raises UnicodeEncodeError, which is a ValueError, for half of a surrogate pair
    if value is None or isinstance(value, str | bool | int | float):
        return implied_value(value)
    raise TypeError(f"values cannot have the type {type(value).__name__}: use the types of JSON")


def path_text(path: Path) -> str:
    """The path as written after an address: `.tags["a"][0]`."""
    first, *rest = path or ("",)
    keys = (f"[{step}]" if isinstance(step, int) else f'["{step}"]' for step in rest)
    return "".join([f".{first}" if first else "", *keys])


def unknown_parts(value: Any) -> tuple[Path, ...]:
    """The paths of the parts of a Python object that are UNKNOWN."""
    return tuple(path for path, part in _parts_with_paths(value) if isinstance(part, NotKnown))


def sensitive_parts(value: Any) -> tuple[Path, ...]:
    """The paths of the parts of a Python object that are Sensitive."""
    leaves = ((path, part) for path, part in _parts_with_paths(value, False) if not isinstance(part, NotKnown))
    return tuple(path for path, part in leaves if isinstance(part, Sensitive))


def _parts_with_paths(value: Any, through: bool = True, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """(path, part) for each part that is not a dictionary or a list. `through`: whether a Sensitive part is replaced by
    the parts of the value in it."""
    is_known = not isinstance(value, NotKnown)
    inner = value.reveal() if is_known and through and isinstance(value, Sensitive) else value
    if isinstance(inner, NotKnown):
        yield path, inner
    elif isinstance(inner, dict):
        for name, item in inner.items():
            yield from _parts_with_paths(item, through, (*path, name))
    elif isinstance(inner, list):
        for index, item in enumerate(inner):
            yield from _parts_with_paths(item, through, (*path, index))
    else:
        yield path, inner


def secrets_in(value: Any) -> Iterator[str]:
    """The strings in sensitive parts that have at least 6 characters. Shorter strings are omitted, because they occur
    by chance in other text."""
    for _, part in _parts_with_paths(value, False):
        if not isinstance(part, NotKnown) and isinstance(part, Sensitive):
            for _, leaf in _parts_with_paths(part):
                if isinstance(leaf, str) and len(leaf) >= 6:
                    yield leaf


def without_copies(*values: Any, secrets: frozenset[str] = frozenset()) -> tuple[Any, ...]:
    """Copies of `values`, which are versions of one object. Strings that equal one of `secrets`, or a sensitive string
    in any of the versions, become sensitive."""
    secrets = secrets.union(secret for value in values for secret in secrets_in(value))
    return tuple(_hidden(value, secrets) for value in values)


def share_secrets(one: Any, other: Any) -> Any:
    """A copy of `one`, in which each part is sensitive that is sensitive in `other`. (A state that was edited may lack
    marks.)"""
    if isinstance(one, Sensitive) or one is None:
        return one
    if isinstance(other, Sensitive):
        return Sensitive(one)
    if isinstance(one, dict) and isinstance(other, dict):
        return {name: share_secrets(item, other[name]) if name in other else item for name, item in one.items()}
    if isinstance(one, list) and isinstance(other, list):
        return [share_secrets(item, other[i]) if i < len(other) else item for i, item in enumerate(one)]
    return one


def _hidden(value: Any, secrets: frozenset[str]) -> Any:
    if not secrets or isinstance(value, NotKnown | Sensitive):
        return value
    if isinstance(value, str):
        return Sensitive(value) if value in secrets else value
    if isinstance(value, dict):
        return {name: _hidden(item, secrets) for name, item in value.items()}
    if isinstance(value, list):
        return [_hidden(item, secrets) for item in value]
    return value


def without(text: str, secrets: Iterable[str]) -> str:
    """The text, with each of the strings `secrets` replaced by `(sensitive value)`. Longer strings are replaced
    first."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, repr(Sensitive(None)))
    return text


def hide_secrets(document: Any, secrets: Iterable[str]) -> Any:
    """The document, with the strings `secrets` replaced by `(sensitive value)` in all string values, but not in
    keys."""
    if not secrets:
        return document
    if isinstance(document, str):
        return without(document, secrets)
    if isinstance(document, Mapping):
        return {name: hide_secrets(item, secrets) for name, item in document.items()}
    if isinstance(document, list | tuple):
        return type(document)(hide_secrets(item, secrets) for item in document)
    return document
