"""JSON as OpenTofu writes what it read without a type: members by name, every number a float of 64 bits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from planner.foundation.support.exact_json import dumps


def members(values: Mapping[str, Any]) -> bytes:
    """An object whose own members keep their order."""
    return b"{" + b",".join(dumps(name) + b":" + go_json(value) for name, value in values.items()) + b"}"


def go_json(value: Any) -> bytes:
    """Compact, with < > & escaped. Raises ValueError for a number that no float holds."""
    if value.__class__ is dict:
        sorted_members = (
            dumps(name) + b":" + go_json(value[name])
            for name in sorted(value, key=lambda n: n.encode("utf-8", "replace"))
        )
        return b"{" + b",".join(sorted_members) + b"}"
    if value.__class__ is list:
        return b"[" + b",".join(map(go_json, value)) + b"]"
    if value.__class__ in (int, float):
        return _number(float(value)).encode()
    return dumps(value)


def _number(value: float) -> str:
    """The shortest digits that are this float, without an exponent unless it is very small or large."""
    if not math.isfinite(value):
        raise ValueError("beyond all numbers")
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    text = repr(abs(value))
    mantissa, _, exponent = text.partition("e")
    whole, _, part = mantissa.partition(".")
    part = "" if part == "0" else part
    digits, point = whole + part, len(whole) + int(exponent or 0)
    kept = digits.lstrip("0")
    point -= len(digits) - len(kept)
    digits = kept.rstrip("0")
    sign = "-" if value < 0 else ""
    if not 1e-6 <= abs(value) < 1e21:
        power = point - 1
        tail = f".{digits[1:]}" if digits[1:] else ""
        return f"{sign}{digits[0]}{tail}e{'-' if power < 0 else '+'}{abs(power):0{1 if power < 0 else 2}d}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if point >= len(digits):
        return f"{sign}{digits}{'0' * (point - len(digits))}"
    return f"{sign}{digits[:point]}.{digits[point:]}"
