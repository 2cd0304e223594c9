"""Encodes values and plans as JSON, and decodes the JSON. Unknown values, refinements, marks and types are preserved
exactly. It is safe to decode JSON from untrusted files.

Strings, booleans, integers of at most 64 bits and None are unchanged. Every other value is an object whose key is a
letter for the kind of the value:

    {"t": [...]} tuple   {"o": {...}} object or dict   {"l": [...], "e": T} list   {"s": ...} set   {"p": ...} map
    {"z": T} null of a type   {"u": T, "r": [...], "d": ...} unknown   {"m": [...], "v": V} marked
    {"n": TEXT} wide integer, inf, -inf or -0   {"f": [MANTISSA, EXPONENT, PRECISION]} mantissa * 2**exponent
    {"c": NAME, "f": {...}} a record of the plan

Types are in the ecosystem's JSON form. Only the marks sensitive and ephemeral are encoded; other marks are used only
for messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planner.foundation.support.lazy import Later
from planner.foundation.values.numbers import PRECISION, context
from planner.foundation.values.types import Type, type_from_json, type_to_json
from planner.foundation.values.value import (
    EPHEMERAL,
    SENSITIVE,
    List,
    Map,
    Marked,
    Null,
    Refinement,
    Set,
    Unknown,
    mark,
)
from planner.foundation.vocabulary.address_set import AddressSet
from planner.foundation.vocabulary.records import fields

_WORDS = ("inf", "-inf", "-0")


def encode(value: Any, records: dict[str, type]) -> Any:
    """Encode a value, or data of a plan, which consists of records, tuples, dicts and values. `records`: {class name:
    class} of the records. Raises TypeError for other arguments."""
    cls = value.__class__
    if cls is str or cls is bool or value is None:
        return value
    if cls is int:
        return value if -(1 << 63) <= value < 1 << 63 else {"n": str(value)}
    if cls is dict:
        return {"o": {k: encode(v, records) for k, v in value.items()}}
    if cls is tuple or cls is Later or cls is AddressSet:
        return {"t": [encode(v, records) for v in value]}
    if cls is Null:
        return {"z": type_to_json(value.type)}
    if cls is Unknown:
        raw: dict[str, Any] = {"u": type_to_json(value.type)}
        if value.refinement is not None:
            raw["r"] = [encode(part, records) for part in value.refinement.key()]
        if value.document is not None:
            raw["d"] = encode(value.document, records)
        return raw
    if cls is Marked:
        kept = sorted(m for m in value.marks if m in (SENSITIVE, EPHEMERAL))
        inner = encode(value.value, records)
        return {"m": kept, "v": inner} if kept else inner
    if cls is List or cls is Set:
        return {
            "l" if cls is List else "s": [encode(v, records) for v in value.items],
            "e": type_to_json(value.element),
        }
    if cls is Map:
        return {"p": {k: encode(v, records) for k, v in value.items.items()}, "e": type_to_json(value.element)}
    record = records.get(cls.__name__)
    if record is not None and record is cls:
        raw = {f.name: encode(getattr(value, f.name), records) for f in fields(record)}
        return {"c": record.__name__, "f": raw}
    return _encode_number(value)


def _encode_number(value: Any) -> Any:
    import gmpy2

    if not isinstance(value, gmpy2.mpfr):
        raise TypeError(f"{type(value).__name__} cannot be stored in a plan file")
    if gmpy2.is_infinite(value):
        return {"n": "inf" if value > 0 else "-inf"}
    if gmpy2.is_zero(value):
        return {"n": "-0"}
    mantissa, exponent = value.as_mantissa_exp()
    return {"f": [hex(mantissa), int(exponent), value.precision]}


def decode(raw: Any, records: dict[str, type]) -> Any:
    """Decode JSON that `encode` has returned. Raises ValueError, KeyError, TypeError or AttributeError for any other
    JSON."""
    cls = raw.__class__
    if cls is str or cls is bool or cls is int or raw is None:
        return raw
    if cls is not dict:
        raise ValueError("not an encoded value")
    if "o" in raw:
        return {k: decode(v, records) for k, v in raw["o"].items()}
    if "t" in raw:
        return tuple(decode(v, records) for v in raw["t"])
    if "z" in raw:
        return Null(type_from_json(raw["z"]))
    if "u" in raw:
        document = decode(raw["d"], records) if "d" in raw else None
        return Unknown(type_from_json(raw["u"]), _decode_refinement(raw.get("r"), records), document)
    if "m" in raw:
        return mark(decode(raw["v"], records), _decode_marks(raw["m"]))
    if "l" in raw:
        return List(_element(raw), tuple(decode(v, records) for v in raw["l"]))
    if "s" in raw:
        return Set(_element(raw), tuple(decode(v, records) for v in raw["s"]))
    if "p" in raw:
        return Map(_element(raw), {k: decode(v, records) for k, v in raw["p"].items()})
    if "c" in raw:
        return _decode_record(raw, records)
    return _decode_number(raw)


def _element(raw: dict[str, Any]) -> Type:
    return type_from_json(raw["e"])


def _decode_marks(raw: Iterable[Any]) -> frozenset[Any]:
    marks = frozenset(raw)
    if not marks <= {SENSITIVE, EPHEMERAL}:
        raise ValueError("unknown mark")
    return marks


def _decode_refinement(raw: Any, records: dict[str, type]) -> Refinement | None:
    if raw is None:
        return None
    not_null, prefix, lower, upper, shortest, longest = (decode(part, records) for part in raw)
    _expect(not_null, bool)
    _expect(prefix, str)
    for bound in (lower, upper):
        if bound is not None:
            _expect(bound, tuple)
            _expect(bound[1], bool)
    for length in (shortest, longest):
        if length is not None:
            _expect(length, int)
    return Refinement(not_null, prefix, lower, upper, shortest, longest)


def _decode_number(raw: dict[str, Any]) -> Any:
    if "n" in raw:
        text = raw["n"]
        return _float(text) if text in _WORDS else int(text)
    mantissa, exponent, precision = raw["f"]
    _expect(exponent, int)
    _expect(precision, int)
    if abs(exponent) > 1 << 40 or not 1 <= precision <= PRECISION:
        raise ValueError("number out of range")
    import gmpy2

    with context(precision):
        whole = gmpy2.mpfr(int(mantissa, 16), precision)
        return gmpy2.mul_2exp(whole, exponent) if exponent >= 0 else gmpy2.div_2exp(whole, -exponent)


def _float(word: str) -> Any:
    import gmpy2

    return gmpy2.mpfr(word, PRECISION)


def _decode_record(raw: dict[str, Any], records: dict[str, type]) -> Any:
    cls = records[raw["c"]]
    given = {name: decode(value, records) for name, value in raw["f"].items()}
    for field in fields(cls):
        expected = _PLAIN.get(str(field.type))
        if expected is not None and field.name in given and given[field.name].__class__ not in expected:
            raise ValueError(f"{field.name} is not of type {field.type}")
    return cls(**given)


_PLAIN: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "Action": (str,),
    "bool": (bool,),
    "str | None": (str, type(None)),
    "InstanceKey": (str, int, type(None)),
    "tuple[Any, ...]": (tuple,),
    "tuple[str, ...]": (tuple,),
    "tuple[tuple[str, ...], ...]": (tuple,),
}


def _expect(value: Any, cls: type) -> None:
    if value.__class__ is not cls:
        raise ValueError(f"{cls.__name__} expected")
