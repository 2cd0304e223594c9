"""Declares and calls functions.

As in go-cty (package function): arguments are converted to the types of their parameters, null is rejected, a call with
an unknown argument returns an unknown value of the declared type, and the result has all marks of the arguments.
`allow_...` flags of a parameter leave these cases to the implementation."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from planner.foundation.support.disk import UnrecordedError
from planner.foundation.values.convert import convert
from planner.foundation.values.numbers import is_infinite
from planner.foundation.values.refine import NOTHING, not_null, refine
from planner.foundation.values.types import DYNAMIC, ListType, MapType, ObjectType, Primitive, SetType, TupleType, Type
from planner.foundation.values.value import (
    NO_MARKS,
    NOT_NULL,
    UNKNOWN,
    List,
    Map,
    Mark,
    Marked,
    Null,
    Refinement,
    Set,
    Unknown,
    Value,
    mark,
    type_of,
    unmark_deep,
)
from planner.foundation.vocabulary.release import follows_next


class FunctionError(Exception):
    """A failed call. `argument` is the index of the invalid argument, None for the whole call. `kind` selects the
    position of the message: `missing` (too few arguments: the closing parenthesis), `surplus` (the first extra
    argument), `argument` (that argument) or `call` (the function's name). `also`: errors about other arguments of the
    same call."""

    def __init__(
        self,
        message: str,
        argument: int | None = None,
        kind: str | None = None,
        also: Sequence[FunctionError] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.argument = argument
        self.kind = kind or ("call" if argument is None else "argument")
        self.also = tuple(also)


class Param:
    """A parameter. `allow_dynamic`: whether the type of the result is computed even if this argument's type is unknown.
    `next_allows_null`: whether OpenTofu's next version allows null."""

    __slots__ = (
        "allow_dynamic",
        "allow_marked",
        "allow_null",
        "allow_unknown",
        "description",
        "name",
        "next_allows_null",
        "type",
    )

    def __init__(
        self,
        name: str,
        type: Type,
        description: str = "",
        *,
        allow_null: bool = False,
        allow_unknown: bool = False,
        allow_marked: bool = False,
        allow_dynamic: bool = False,
        next_allows_null: bool = False,
    ) -> None:
        self.next_allows_null = next_allows_null
        self.name = name
        self.type = type
        self.description = description
        self.allow_null = allow_null
        self.allow_unknown = allow_unknown
        self.allow_marked = allow_marked
        self.allow_dynamic = allow_dynamic


class CallContext:
    """The context of a function call.

    `base_dir`: the directory for relative file names. `planning`: impure functions (timestamp, uuid, bcrypt) return
    unknown values. `plan_timestamp`: RFC 3339; None during validation. `depth`: the number of templatefile calls around
    this call. `evaluate_template(source, file name, variables, context)` renders a template whose scope is `variables`,
    and raises Failure. `trial`: whether the caller only checks if the call succeeds; then expensive work may be
    skipped.
    """

    __slots__ = ("base_dir", "depth", "evaluate_template", "plan_timestamp", "planning", "trial")

    def __init__(
        self,
        base_dir: str = ".",
        planning: bool = False,
        plan_timestamp: str | None = None,
        depth: int = 0,
        evaluate_template: EvaluateTemplate | None = None,
    ) -> None:
        self.base_dir = base_dir
        self.planning = planning
        self.plan_timestamp = plan_timestamp
        self.depth = depth
        self.evaluate_template = evaluate_template
        self.trial = False

    def deeper(self) -> CallContext:
        """The context of calls in a template file."""
        return CallContext(self.base_dir, self.planning, self.plan_timestamp, self.depth + 1, self.evaluate_template)


EvaluateTemplate: TypeAlias = Callable[[str, str, "dict[str, Value]", CallContext], Value]


class Function:
    """A function of the language: its signature and its implementation. `result`: the type of the result, or a function
    that computes this type from the arguments.

    The implementation receives the arguments by position, and also `result_type` and `context` if it has these
    keyword-only parameters. `not_null`: whether the result is never null, even if it is unknown. `impure`: whether
    equal calls may have different results. `lazy`: each argument is passed as a function without parameters that
    evaluates it.
    """

    __slots__ = (
        "description",
        "impl",
        "impure",
        "lazy",
        "name",
        "not_null",
        "params",
        "result",
        "summary",
        "variadic",
        "wants",
    )

    def __init__(
        self,
        name: str,
        params: Sequence[Param],
        variadic: Param | None,
        result: Any,
        impl: Callable[..., Value],
        description: str = "",
        *,
        not_null: bool = True,
        impure: bool = False,
        lazy: bool = False,
    ) -> None:
        self.name = name
        self.params = tuple(params)
        self.variadic = variadic
        self.result = result
        self.impl = impl
        self.description = description
        self.summary = ""
        self.not_null = not_null
        self.impure = impure
        self.lazy = lazy
        code = impl.__code__
        first = code.co_argcount
        self.wants = code.co_varnames[first : first + code.co_kwonlyargcount]

    @property
    def return_type(self) -> Type:
        """The type of the result, as far as the signature determines it."""
        if self.lazy:
            return self.result  # type: ignore[no-any-return]
        arguments = [Unknown(p.type) for p in (*self.params, *filter(None, [self.variadic]))]
        try:
            return self.result_type(arguments)[0]
        except FunctionError:  # a function that no longer exists, whose calls always fail
            return DYNAMIC

    def result_type(self, values: Sequence[Value]) -> tuple[Type, bool]:
        """The result type for converted arguments, and whether it is unknown because an argument's type is unknown.
        Raises FunctionError for mismatching types, and for null where it is not allowed."""
        if _check_values(self, values):
            return DYNAMIC, True
        return self.result(*values) if callable(self.result) else self.result, False

    def param(self, index: int) -> Param | None:
        return self.params[index] if index < len(self.params) else self.variadic

    def __repr__(self) -> str:
        return f"Function({self.name})"


def function(
    *params: Param,
    variadic: Param | None = None,
    result: Any,
    name: str = "",
    not_null: bool = True,
    impure: bool = False,
    lazy: bool = False,
    into: list[Function],
) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """A decorator that declares a function in the family `into`. The docstring of the implementation is the
    description."""

    def declare(impl: Callable[..., Value]) -> Callable[..., Value]:
        description = " ".join((impl.__doc__ or "").split())
        own_name = name or impl.__name__.strip("_")
        into.append(
            Function(own_name, params, variadic, result, impl, description, not_null=not_null, impure=impure, lazy=lazy)
        )
        return impl

    return declare


def unknown(type: Type, refinement: Refinement | None = None) -> Value:
    """An unknown value of the type; a known one if the refinement allows only one value."""
    return Unknown(type) if refinement is None and type is not DYNAMIC else refine(type, refinement or NOTHING)


def call(function: Function, arguments: Sequence[Value], context: CallContext) -> Value:
    """The result of a call. The result is an unknown value in these cases: an argument is unknown and its parameter
    does not allow this; the type of an argument is unknown; the function is impure and a plan is being made; an
    explanation needs the former content of a file that was not recorded. Each argument of a lazy function is a callable
    that evaluates the argument. Raises FunctionError."""
    count, required = len(arguments), len(function.params)
    if count < required:
        missing = function.params[count]
        least = "at least " if function.variadic else ""
        raise FunctionError(
            f"The function {function.name} takes {least}{_plural(required)}; {missing.name} is missing.",
            kind="missing",
        )
    if count > required and function.variadic is None:
        raise FunctionError(f"The function {function.name} takes only {_plural(required)}.", required, "surplus")
    if function.lazy:
        return function.impl(*arguments)
    values, marks, is_unknown = _prepare(function, arguments)
    result_type, is_dynamic = function.result_type(values)
    if is_dynamic:
        return mark(UNKNOWN, marks)
    if is_unknown or (function.impure and context.planning):
        return mark(unknown(result_type, NOT_NULL if function.not_null else None), marks)
    extra = {name: result_type if name == "result_type" else context for name in function.wants}
    try:
        result = function.impl(*values, **extra)
    except UnrecordedError:
        return mark(unknown(result_type), marks)
    except (MemoryError, OverflowError):
        raise FunctionError("The result would be too large.") from None
    if function.not_null:
        result = not_null(result)
    return mark(result, marks) if marks else result


def _prepare(function: Function, arguments: Sequence[Value]) -> tuple[list[Value], frozenset[Mark], bool]:
    """The converted arguments without marks, the marks, and whether an argument is unknown although its parameter does
    not allow that. Raises FunctionError."""
    params, fixed = function.params, len(function.params)
    values: list[Value] = []
    errors: list[FunctionError] = []
    marks, is_unknown = NO_MARKS, False
    for index, value in enumerate(arguments):
        param = params[index] if index < fixed else function.variadic
        assert param is not None
        if param.type is not DYNAMIC:
            try:
                value = convert(value, param.type)
            except ValueError as problem:
                errors.append(FunctionError(misfit(function, index, value, problem), index))
                continue
        if not param.allow_marked:
            value, own = unmark_deep(value)
            marks |= own
        bare = value.value if value.__class__ is Marked else value
        if bare.__class__ is Unknown and not param.allow_unknown:
            is_unknown = True
        values.append(value)
    if errors:
        first = errors[0]
        raise FunctionError(first.message, first.argument, also=errors[1:])
    return values, marks, is_unknown


def misfit(function: Function, index: int, value: Value, problem: ValueError) -> str:
    """The message for an argument that cannot be converted."""
    bare = value.value if value.__class__ is Marked else value
    if index >= len(function.params) and bare.__class__ in (tuple, List, Set):
        return f"{problem}. To pass its elements as single arguments, write ... after the last argument."
    return str(problem)


def _check_values(function: Function, values: Sequence[Value]) -> bool:
    """Raise FunctionError for null where it is not allowed. Returns whether the result type is unknown because an
    argument's type is unknown; later arguments are then not checked."""
    params, fixed = function.params, len(function.params)
    for index, value in enumerate(values):
        cls = value.__class__
        if cls is Marked:
            value = value.value
            cls = value.__class__
        if cls is Null or cls is Unknown:
            param = params[index] if index < fixed else function.variadic
            assert param is not None
            if cls is Null and not param.allow_null:
                if param.next_allows_null and follows_next():
                    continue
                raise FunctionError("It must not be null.", index)
            if value.type is DYNAMIC and not param.allow_dynamic:
                return True
    return False


def _plural(count: int) -> str:
    return "no arguments" if count == 0 else f"{count} argument{'s' if count > 1 else ''}"


def unknown_function(name: str) -> Function:
    """A function with unknown signature: it accepts any arguments, and its result is unknown."""

    def impl(*arguments: Value) -> Value:
        return UNKNOWN

    anything = Param("arguments", DYNAMIC, allow_null=True, allow_unknown=True, allow_dynamic=True)
    return Function(name, [], anything, DYNAMIC, impl)


# Helpers for arguments and results.


INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


def small_int(value: Value, argument: int | None = None) -> int:
    """A number as a 64-bit integer. Raises FunctionError for other numbers."""
    whole = big_int(value, argument)
    if not INT64_MIN <= whole <= INT64_MAX:
        raise FunctionError("It must be a whole number that fits into 64 bits.", argument)
    return whole


def big_int(value: Value, argument: int | None = None) -> int:
    """A number as an integer of any size. Raises FunctionError for fractions."""
    if value.__class__ is int:
        return value
    return _big_int(value, argument)


def _big_int(value: Value, argument: int | None) -> int:
    if is_infinite(value) or value != int(value):
        raise FunctionError("It must be a whole number.", argument)
    return int(value)


def text(s: str) -> str:
    """Normalize to NFC, the normal form of all strings in the language."""
    if s.isascii():
        return s
    return unicodedata.normalize("NFC", s)


def text_from_bytes(data: bytes) -> str:
    """Decode UTF-8. Each invalid byte becomes U+FFFD."""
    try:
        return text(data.decode("utf-8"))
    except UnicodeDecodeError:
        out, start = [], 0
        while start < len(data):
            try:
                out.append(data[start:].decode("utf-8"))
                break
            except UnicodeDecodeError as problem:
                out.append(data[start : start + problem.start].decode("utf-8"))
                out.append("\ufffd")
                start += problem.start + 1
        return text("".join(out))


def kind(value: Value) -> str:
    """The kind of a value: object, tuple, list, set, map, string, number, bool or dynamic. Marks are ignored."""
    cls = value.__class__
    if cls is Marked:
        value = value.value
        cls = value.__class__
    if cls is Null or cls is Unknown:
        return kind_of_type(value.type)
    return _KINDS.get(cls, "number")


def shape(value: Value) -> tuple[str, Any]:
    """The `kind` of a value, and its type."""
    return kind(value), type_of(value)


_KINDS: dict[Any, str] = {
    str: "string",
    bool: "bool",
    dict: "object",
    tuple: "tuple",
    List: "list",
    Set: "set",
    Map: "map",
}
_TYPE_KINDS: dict[Any, str] = {
    ObjectType: "object",
    TupleType: "tuple",
    ListType: "list",
    SetType: "set",
    MapType: "map",
}


def kind_of_type(t: Type) -> str:
    return t.name if t.__class__ is Primitive else _TYPE_KINDS[t.__class__]


def items(value: Value) -> tuple[Value, ...]:
    """The elements of a list, set or tuple, or the values of a map or object, sorted by key. The value must be known
    and have no marks itself."""
    cls = value.__class__
    if cls is tuple:
        return value  # type: ignore[no-any-return]
    if cls is dict:
        return tuple(value[key] for key in sorted(value))
    if cls is Map:
        return tuple(value.items[key] for key in sorted(value.items))
    return value.items  # type: ignore[no-any-return]


def sequence(t: Type, values: Iterable[Value]) -> Value:
    """A list of this type, or a tuple if it is not a list type. A dynamic element type is replaced by the type of the
    elements. Raises FunctionError if these have different types."""
    elements = tuple(values)
    if not isinstance(t, ListType):
        return elements
    if t.element is not DYNAMIC:
        return List(t.element, elements)
    types = [kind for kind in map(type_of, elements) if kind is not DYNAMIC]
    if any(kind != types[0] for kind in types):
        raise FunctionError("The elements are of different types.")
    return List(types[0] if types else DYNAMIC, elements)


def entries(value: Value) -> dict[str, Value]:
    return value if value.__class__ is dict else value.items
