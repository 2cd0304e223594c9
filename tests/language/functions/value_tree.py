"""Values as JSON trees that tell everything: types, marks, and what is known of unknown values.

{"s": text} {"n": digits} true [tuple...] {"object": {...}} {"list": type, "v": [...]} {"set": type, "v": [...]}
{"map": type, "v": {...}} {"null": type} {"m": [marks], "v": tree} and, for unknown values, {"u": type} with "nn" (not
null), "prefix", "lo", "hi" (bound, inclusive), "min", "max" (lengths).
"""

from __future__ import annotations

from typing import Any

from planner.foundation.values.numbers import number_to_text
from planner.foundation.values.types import (
    BOOL,
    DYNAMIC,
    NUMBER,
    STRING,
    ListType,
    MapType,
    ObjectType,
    SetType,
    TupleType,
)
from planner.foundation.values.types import type_to_json as written
from planner.foundation.values.value import EPHEMERAL, UNKNOWN, List, Map, Marked, Null, Refinement, Set, Unknown
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.span import Source
from planner.language.expressions.evaluate import MappingScope, evaluate, evaluate_template
from planner.language.functions import CallContext
from planner.language.functions.formatting import general
from planner.language.syntax.parse import parse_expression

BOUND_DIGITS = 30
_EPHEMERAL = frozenset([EPHEMERAL])

# What the recorded expressions refer to: unknown values of many kinds, and ephemeral ones.
VARIABLES: dict[str, Any] = {
    "u": {
        "dyn": UNKNOWN,
        "str": Unknown(STRING),
        "num": Unknown(NUMBER),
        "bool": Unknown(BOOL),
        "list": Unknown(ListType(STRING)),
        "nums": Unknown(ListType(NUMBER)),
        "set": Unknown(SetType(STRING)),
        "map": Unknown(MapType(STRING)),
        "obj": Unknown(ObjectType({"a": STRING, "b": NUMBER})),
        "tup": Unknown(TupleType((STRING, NUMBER))),
        "dynlist": Unknown(ListType(DYNAMIC)),
        "nnstr": Unknown(STRING, Refinement(True)),
        "prefix": Unknown(STRING, Refinement(True, "https://x/")),
        "json": Unknown(STRING, Refinement(True, '{"a')),
        "len2": Unknown(ListType(STRING), Refinement(True, min_length=2, max_length=4)),
        "nnlist": Unknown(ListType(STRING), Refinement(True)),
        "setmax": Unknown(SetType(NUMBER), Refinement(True, max_length=3)),
        "low": Unknown(NUMBER, Refinement(True, lower=(3, True))),
    },
    "e": {
        "str": Marked("eph", _EPHEMERAL),
        "num": Marked(7, _EPHEMERAL),
        "list": List(STRING, ("a", Marked("b", _EPHEMERAL))),
        "unk": Marked(Unknown(STRING), _EPHEMERAL),
    },
}


def tree(value: Any) -> Any:
    """The tree of a value."""
    cls = value.__class__
    if cls is Marked:
        return {"m": sorted(map(str, value.marks)), "v": tree(value.value)}
    if cls is Unknown:
        return _unknown(value)
    if cls is Null:
        return {"null": written(value.type)}
    if cls is str:
        return {"s": value}
    if cls is bool:
        return value
    if cls is tuple:
        return [tree(part) for part in value]
    if cls is dict:
        return {"object": {name: tree(part) for name, part in value.items()}}
    if cls is List or cls is Set:
        return {cls.__name__.lower(): written(value.element), "v": [tree(part) for part in value.items]}
    if cls is Map:
        return {"map": written(value.element), "v": {key: tree(part) for key, part in value.items.items()}}
    return {"n": number_to_text(value)}


def _unknown(value: Unknown) -> dict[str, Any]:
    out: dict[str, Any] = {"u": written(value.type)}
    known = value.refinement
    if known is None:
        return out
    if known.not_null:
        out["nn"] = True
    if known.prefix:
        out["prefix"] = known.prefix
    for name, bound in (("lo", known.lower), ("hi", known.upper)):
        if bound is not None:
            out[name] = [general(bound[0], BOUND_DIGITS, "e"), bound[1]]
    if known.min_length:
        out["min"] = known.min_length
    if known.max_length is not None:
        out["max"] = known.max_length
    return out


def evaluated(text: str, context: CallContext | None = None) -> Any:
    """The value of an expression with VARIABLES in scope. Raises Failure."""
    source = Source("test", text)
    node, problems = parse_expression(source)
    if node is None or problems:
        raise Failure(problems)
    context = context or CallContext(evaluate_template=evaluate_template)
    return evaluate(node, MappingScope(VARIABLES, context=context), source)


def answer(text: str) -> dict[str, Any]:
    """`value` as a tree, or `error` with the byte ranges that the problems point at."""
    try:
        return {"value": tree(evaluated(text))}
    except Failure as failure:
        spans = {
            (len(text[: d.subject.start].encode()), len(text[: d.subject.end].encode()))
            for d in failure.diagnostics
            if d.subject
        }
        return {"error": [list(span) for span in sorted(spans)]}
