"""Reads JSON and YAML strings for built-in relations and native operators. A string is also invalid if it is too large
or nested too deeply, or if it contains too many values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any

from planner.logic.datalog.language.values import LARGEST_EXPONENT, Number, Row, Value, encode, member, number

LONGEST_JSON = 16_000_000  # characters
LONGEST_YAML = 1_000_000  # characters; fewer than for JSON, because YAML is read event by event, which is slower
MAX_VALUES = 300_000
MAX_TEXT = 100_000_000  # maximum total length of all paths in a string, in characters
DEEPEST = 250
_TINY = 5_000
_SMALL = 100_000
_MAX_DIGITS = 1_000


class UnreadableError(ValueError):
    """The string is not JSON or YAML that rules can read."""


def is_json(value: Value) -> bool:
    return _places(value, "json") is not None


def json_rows(text: Value) -> list[Row] | None:
    """(path, value) of each string, number and bool in a JSON string. None if the string is invalid."""
    result = _places(text, "json")
    return None if result is None else result[0]


def json_elements(text: Value) -> list[Row] | None:
    """(path of an object or array, key, path of the element) of each element of an object or array in a JSON string.
    None if the string is invalid."""
    result = _places(text, "json")
    return None if result is None else result[1]


def is_yaml(value: Value) -> bool:
    return _places(value, "yaml") is not None


def yaml_rows(text: Value) -> list[Row] | None:
    """(path, value) of each string, number and bool in a YAML string, as in `json_rows`. None if the string is
    invalid."""
    result = _places(text, "yaml")
    return None if result is None else result[0]


def yaml_elements(text: Value) -> list[Row] | None:
    """(path of an object or array, key, path of the element) of each element in a YAML string, as in `json_elements`.
    None if the string is invalid."""
    result = _places(text, "yaml")
    return None if result is None else result[1]


_Places = tuple[list[Row], list[Row]]


def _places(text: Value, kind: str) -> _Places | None:
    if type(text) is not str:
        return None
    if len(text) <= _TINY:
        return _of_tiny(text, kind)
    return (_of_small if len(text) <= _SMALL else _of_large)(text, kind)


def _read_places(text: str, kind: str) -> _Places | None:
    try:
        return _collect(read_json(text) if kind == "json" else read_yaml(text))
    except UnreadableError:
        return None


def _collect(document: Any) -> _Places:
    """(values, elements) of a document, as in `json_rows` and `json_elements`. Raises UnreadableError."""
    kind = type(document)
    if kind not in _CONTAINERS:
        return ([] if document is None else [("", document)]), []
    values: list[Row] = []
    parts: list[Row] = []
    waiting: list[tuple[str, Any, int]] = [("", document, 1)]
    count = length = 0
    while waiting:
        path, value, depth = waiting.pop()
        count += len(value)
        if count >= MAX_VALUES or (value and depth > DEEPEST):
            raise UnreadableError
        held = elements(path, value)
        depth += 1
        for key, inner, item in held:
            parts.append((path, key, inner))
            length += len(inner)
            kind = type(item)
            if kind in _CONTAINERS:
                waiting.append((inner, item, depth))
            elif item is not None:
                values.append((inner, item))
        if length > MAX_TEXT:
            raise UnreadableError
    return values, list(dict.fromkeys(parts))


_of_tiny = lru_cache(maxsize=5_000)(_read_places)
_of_small = lru_cache(maxsize=500)(_read_places)
_of_large = lru_cache(maxsize=2)(_read_places)


def places(document: Any) -> Iterator[tuple[str, Any]]:
    """(path, value) of each value in a document: dicts, lists, RepeatedNames, None and values of rules. Raises
    UnreadableError."""
    return ((path, value) for path, value, _ in _visit(document))


_Elements = list[tuple[Any, str, Any]]


def _visit(document: Any) -> Iterator[tuple[str, Any, _Elements | None]]:
    """(path, value, elements) of each value in a document; the elements are None if the value is not an object or
    array. Raises UnreadableError."""
    waiting: list[tuple[str, Any, int]] = [("", document, 0)]
    count = length = 0
    while waiting:
        path, value, depth = waiting.pop()
        count, length = count + 1, length + len(path)
        if count > MAX_VALUES or length > MAX_TEXT or depth > DEEPEST:
            raise UnreadableError
        kind = type(value)
        if kind not in _CONTAINERS:
            yield path, value, None
            continue
        if len(value) > MAX_VALUES:
            raise UnreadableError
        held = elements(path, value)
        yield path, value, held
        depth += 1
        waiting += [(part, inner, depth) for _, part, inner in reversed(held)]


def elements(path: str, value: Any) -> _Elements:
    """(key, path, value) of each element of an object or array; [] for other values. `path`: the path of the object or
    array."""
    if type(value) is list:
        return [(i, f"{path}[{i}]", item) for i, item in enumerate(value)]
    if type(value) not in _CONTAINERS:
        return []
    return [(key, member(path, key), item) for key, item in value.items()]


class RepeatedNames:
    """An object in which a name occurs several times. JSON readers differ in which of the values they use, so rules
    read all of them."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self.pairs = pairs

    def __len__(self) -> int:
        return len(self.pairs)

    def items(self) -> list[tuple[str, Any]]:
        return self.pairs


_CONTAINERS = frozenset((dict, list, RepeatedNames))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | RepeatedNames:
    made = dict(pairs)
    return made if len(made) == len(pairs) else RepeatedNames(pairs)


# ---------------------------------------------------------------- JSON


def read_json(text: str) -> Any:
    """The parsed JSON: dicts, RepeatedNames, lists, None and values of rules. Raises UnreadableError."""
    if len(text) > LONGEST_JSON:
        raise UnreadableError
    try:
        result = json.loads(
            text, parse_float=_number, parse_int=_number, parse_constant=_no_number, object_pairs_hook=_object
        )
    except (ValueError, RecursionError):
        raise UnreadableError from None
    if "\\u" in text or not text.isascii():
        return _replace_surrogates(result)
    has_words = "true" in text or "false" in text
    return _encode(result) if has_words or text.count("{") + text.count("[") > DEEPEST else result


def _number(text: str) -> Number:
    mantissa, _, exponent = text.lower().partition("e")
    if len(mantissa) > _MAX_DIGITS or len(exponent) > 6 or abs(int(exponent or 0)) > LARGEST_EXPONENT:
        raise UnreadableError
    return number(Decimal(text))


def _no_number(text: str) -> Any:
    raise UnreadableError


def _encode(value: Any, depth: int = 0) -> Any:
    """The value, in which bools are converted to the representation in rules. Raises UnreadableError."""
    if depth > DEEPEST:
        raise UnreadableError
    kind = type(value)
    if kind is dict:
        return {key: _encode(inner, depth + 1) for key, inner in value.items()}
    if kind is list:
        return [_encode(inner, depth + 1) for inner in value]
    if kind is RepeatedNames:
        return RepeatedNames([(key, _encode(inner, depth + 1)) for key, inner in value.pairs])
    return value if value is None or kind is str else encode(value)


_HALF = re.compile("[\ud800-\udfff]")


def _replace_surrogates(value: Any, depth: int = 0) -> Any:
    """The value, in which lone surrogates are replaced, because they cannot be encoded for output, and values are
    converted to those of rules. Raises UnreadableError."""
    if depth > DEEPEST:
        raise UnreadableError
    kind = type(value)
    if kind is str:
        return _HALF.sub("\ufffd", value)
    if kind is dict:
        return {_HALF.sub("\ufffd", key): _replace_surrogates(inner, depth + 1) for key, inner in value.items()}
    if kind is list:
        return [_replace_surrogates(inner, depth + 1) for inner in value]
    if kind is RepeatedNames:
        return RepeatedNames(
            [(_HALF.sub("\ufffd", key), _replace_surrogates(inner, depth + 1)) for key, inner in value.pairs]
        )
    return None if value is None else encode(value)


# ---------------------------------------------------------------- YAML

_PREFIX = "tag:yaml.org,2002:"
_TRUE = frozenset(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"])
_FALSE = frozenset(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"])
_NULLS = frozenset(["", "~", "null", "Null", "NULL"])
_DECIMAL = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_BASED = re.compile(r"([-+]?)0(?:x([0-9a-fA-F]{1,16})|o([0-7]{1,22}))", re.ASCII)


def read_yaml(text: str) -> Any:
    """The parsed YAML, in the form of `read_json`. Scalars are read according to YAML 1.1, as in configurations: yes
    and on are true. Raises UnreadableError, also if a key occurs twice in a mapping."""
    import yaml

    if len(text) > LONGEST_YAML:
        raise UnreadableError
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(_HALF.sub("\ufffd", text) or "\n")
    try:
        return _document(loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise UnreadableError from None
    finally:
        loader.dispose()


def _document(loader: Any) -> Any:
    """The value of the only document of a YAML string. Raises UnreadableError if there are several documents or
    none."""
    root: list[Any] = []
    stack: list[tuple[Any, str | None]] = [(root, None)]  # pairs (container, anchor)
    keys: list[Any] = []
    names: list[set[str]] = []  # for each open mapping, the keys that were read so far
    anchors: dict[str, Any] = {}
    documents = 0
    while True:
        event = loader.get_event()
        name = type(event).__name__
        if name == "StreamEndEvent":
            break
        if name == "DocumentStartEvent":
            documents += 1
            if documents > 1:
                raise UnreadableError
            continue
        if name in ("StreamStartEvent", "DocumentEndEvent"):
            continue
        if name in ("SequenceEndEvent", "MappingEndEvent"):
            made, anchor = stack.pop()
            if anchor:
                anchors[anchor] = made
            if name == "MappingEndEvent":
                keys.pop()
                names.pop()
            _add(stack[-1][0], keys, made)
            continue
        if name == "SequenceStartEvent" or name == "MappingStartEvent":
            kind = "seq" if name == "SequenceStartEvent" else "map"
            if event.tag not in (None, _PREFIX + kind, "!") or len(stack) > DEEPEST or _wants_key(stack, keys):
                raise UnreadableError
            stack.append(([] if kind == "seq" else {}, event.anchor))
            if kind == "map":
                keys.append(None)
                names.append(set())
            continue
        if name == "AliasEvent":
            if event.anchor not in anchors or _wants_key(stack, keys):
                raise UnreadableError
            _add(stack[-1][0], keys, anchors[event.anchor])
            continue
        value = _scalar(event)
        if event.anchor:
            anchors[event.anchor] = value
        if _wants_key(stack, keys):
            is_merge = (not event.tag and event.implicit[0] and event.value == "<<") or event.tag == _PREFIX + "merge"
            keys[-1] = _MERGE if is_merge else _key(value)
            if not is_merge:
                if keys[-1] in names[-1]:
                    raise UnreadableError
                names[-1].add(keys[-1])
        else:
            _add(stack[-1][0], keys, value)
    if len(root) != 1:
        raise UnreadableError
    return root[0]


_MERGE = object()


def _wants_key(stack: list[Any], keys: list[Any]) -> bool:
    return type(stack[-1][0]) is dict and keys[-1] is None


def _key(value: Any) -> str:
    if value is None:
        raise UnreadableError
    return value if type(value) is str else str(value)


def _add(container: Any, keys: list[Any], value: Any) -> None:
    if type(container) is list:
        container.append(value)
        return
    key, keys[-1] = keys[-1], None
    if key is not _MERGE:
        container[key] = value
        return
    for part in value if type(value) is list else [value]:
        if type(part) is not dict:
            raise UnreadableError
        for name, inner in part.items():
            container.setdefault(name, inner)
    if len(container) > MAX_VALUES:
        raise UnreadableError


def _scalar(event: Any) -> Any:
    tag, source = event.tag or "", event.value
    if tag and tag != "!" and not tag.startswith(_PREFIX):
        raise UnreadableError
    kind = tag.removeprefix(_PREFIX)
    if kind not in ("", "!", "str", "int", "float", "bool", "null", "timestamp", "binary"):
        raise UnreadableError
    if kind in ("str", "!", "timestamp", "binary") or (not kind and not event.implicit[0]):
        return source
    if source in _NULLS and kind in ("", "null"):
        return None
    if (source in _TRUE or source in _FALSE) and kind in ("", "bool"):
        return encode(source in _TRUE)
    based = _BASED.fullmatch(source)
    if based is not None and kind in ("", "int"):
        size = int(based[2], 16) if based[2] else int(based[3], 8)
        return -size if based[1] == "-" else size
    if _DECIMAL.fullmatch(source) and kind in ("", "int", "float"):
        return _number(source.removeprefix("+"))
    if kind:
        raise UnreadableError
    return source
