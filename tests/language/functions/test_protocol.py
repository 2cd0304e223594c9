"""How functions are called: arity, conversion, null, unknown values, marks, impure and lazy functions."""

from __future__ import annotations

from typing import Any

import pytest

from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER, STRING, ListType
from planner.foundation.values.value import (
    EPHEMERAL,
    NOT_NULL,
    NULL,
    SENSITIVE,
    UNKNOWN,
    List,
    Marked,
    Null,
    Refinement,
    Unknown,
    mark,
)
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.language.functions import CallContext, Function, FunctionError, Param, call, lookup
from planner.language.functions.protocol import unknown

CONTEXT = CallContext()
SECRET = frozenset([SENSITIVE])


def run(name: str, *arguments: Any, context: CallContext = CONTEXT) -> Any:
    function = lookup(name)
    assert function is not None
    return call(function, arguments, context)


def refused(name: str, *arguments: Any) -> FunctionError:
    with pytest.raises(FunctionError) as caught:
        run(name, *arguments)
    return caught.value


def test_arity() -> None:
    missing = refused("substr", "a", 1)
    assert (missing.kind, missing.argument) == ("missing", None)
    assert "length" in missing.message
    surplus = refused("upper", "a", "b", "c")
    assert (surplus.kind, surplus.argument) == ("surplus", 1)


def test_every_argument_that_does_not_convert_is_reported() -> None:
    problem = refused("substr", (), (), {})
    assert [p.argument for p in (problem, *problem.also)] == [0, 1, 2]


def test_arguments_convert_to_their_parameters() -> None:
    assert run("upper", True) == "TRUE"
    assert run("join", 1, (2, "x")) == "21x"


def test_null_is_refused_where_it_is_not_allowed() -> None:
    assert refused("upper", NULL).argument == 0
    assert refused("join", ",", Null(ListType(STRING))).argument == 1
    assert run("jsonencode", NULL) == "null"


def test_unknown_arguments_make_an_unknown_result_of_the_declared_type() -> None:
    assert run("upper", Unknown(STRING)) == Unknown(STRING, NOT_NULL)
    assert run("upper", UNKNOWN) == Unknown(STRING, NOT_NULL)
    assert run("strcontains", Unknown(STRING), "a") == Unknown(BOOL)
    assert run("keys", UNKNOWN) == UNKNOWN


def test_an_argument_of_no_known_type_hides_the_null_after_it() -> None:
    assert run("contains", UNKNOWN, NULL) == UNKNOWN
    assert refused("contains", NULL, UNKNOWN).argument == 0


def test_marks_of_arguments_go_to_the_result() -> None:
    assert run("upper", mark("a", SECRET)) == mark("A", SECRET)
    ephemeral = frozenset([EPHEMERAL])
    assert run("format", mark("%#v", SECRET), (mark("a", ephemeral),)) == mark('["a"]', SECRET | ephemeral)


def test_marks_inside_a_collection_stay_there_where_the_function_takes_them() -> None:
    secret = mark("b", SECRET)
    assert run("concat", ("a",), (secret,)) == ("a", secret)
    assert run("reverse", mark(("a", secret), SECRET)) == mark((secret, "a"), SECRET)


def test_impure_functions_wait_for_apply() -> None:
    planning = CallContext(planning=True)
    assert run("uuid", context=planning) == Unknown(STRING, NOT_NULL)
    assert run("bcrypt", mark("a", SECRET), context=planning) == mark(Unknown(STRING, NOT_NULL), SECRET)
    assert isinstance(run("uuid"), str)


def test_the_plan_has_one_time() -> None:
    assert run("plantimestamp", context=CallContext(plan_timestamp="2026-01-01T00:00:00Z")) == "2026-01-01T00:00:00Z"
    assert run("plantimestamp") == Unknown(STRING)


def failing() -> Any:
    raise Failure(error("test", "It fails", "On purpose."))


def test_lazy_functions_evaluate_until_one_succeeds() -> None:
    assert run("try", failing, lambda: 1, failing) == 1
    assert run("try", lambda: (Unknown(STRING),), lambda: 1) == UNKNOWN
    assert run("can", failing) is False
    assert run("can", lambda: NULL) is True
    assert run("can", lambda: UNKNOWN) == Unknown(BOOL)
    assert "On purpose" in refused("try", failing, failing).message


def test_a_refinement_that_leaves_one_value_is_that_value() -> None:
    empty = unknown(ListType(STRING), Refinement(True, min_length=0, max_length=0))
    assert empty == List(STRING, ())
    assert unknown(DYNAMIC, NOT_NULL) == UNKNOWN


def test_implementations_ask_by_name_for_what_they_need() -> None:
    def impl(value: Any, *, result_type: Any, context: Any) -> Any:
        return (value, repr(result_type), context.base_dir)

    function = Function("own", [Param("value", NUMBER)], None, DYNAMIC, impl)
    assert call(function, ["7"], CallContext(base_dir="dir")) == (7, "dynamic", "dir")


def test_what_is_too_large_to_compute_is_an_error() -> None:
    assert "too large" in refused("indent", 2**62, "a\nb").message


def test_core_names_are_the_same_functions() -> None:
    assert lookup("core::upper") is lookup("upper")
    assert lookup("nosuch") is None
    assert lookup("core::nosuch") is None


def test_marked_is_never_nested() -> None:
    result = run("sensitive", mark("a", frozenset([EPHEMERAL])))
    assert isinstance(result, Marked)
    assert result.marks == {SENSITIVE, EPHEMERAL}
    assert result.value == "a"
