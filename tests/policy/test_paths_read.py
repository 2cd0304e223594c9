"""Which paths rules look at, and that nothing else is walked over."""

from __future__ import annotations

from typing import Any

import pytest
from policy.test_shown_cases import library

from planner.answers.policy.from_json.rows import ShownRows
from planner.answers.policy.paths_read import EVERYTHING, Looked
from planner.answers.policy.planned_values import ValueRows
from planner.answers.policy.program import load_policies
from planner.answers.policy.values_read import Kind
from planner.foundation.values.value import SENSITIVE, Marked
from planner.logic.datalog.language.values import TRUE

KIND: Kind = ("managed", "t", "create", "", False)
DECLARATIONS = """
/// wanted(tag): a tag. Example: wanted("Owner")
.decl wanted(tag: text)
wanted("Owner").
wanted("a.b").
/// found(addr, path): a path. Example: found("t.a", "x.y")
.decl found(addr: instance, path: text)
found(A, P) :- part(A, "x", _, P).
found(A, "y.z") :- change(A, _, _, _, _, _).
"""


def patterns(body: str) -> Any:
    """What the rule of a denial looks at; None for everything."""
    text = f'{DECLARATIONS}@reason("no") deny("c", A, "no") :- change(A, _, _, _, _, _), {body}.'
    policies, problems = load_policies((("own.dl", text),))
    assert policies is not None, problems
    looked = policies.reads.interest.looked(KIND)  # type: ignore[union-attr]
    return None if looked.all else flat(looked)


def flat(looked: Looked, path: tuple[Any, ...] = ()) -> set[tuple[Any, ...]]:
    if looked.all:
        return {(*path, ...)}
    found = {path} if looked.here else set()
    for name, part in looked.parts.items():
        found |= flat(part, (*path, name))
    return found | (flat(looked._each, (*path, None)) if looked._each is not None else set())


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('planned(A, "tags.Owner", _)', {("tags", "Owner")}),
        ('not planned(A, "a[0].b-c", _)', {("a", 0, "b-c")}),
        ('planned(A, "tags[\\"a.b\\"]", _)', {("tags", ...)}),
        ('wanted(T), P = "tags." ++ T, not planned(A, P, _)', {("tags", "Owner"), ("tags", "a", "b")}),
        ('planned(A, "name", T), P = "tags." ++ T, not planned(A, P, _)', {("name",), ("tags", ...)}),
        ('planned(A, "name", T), P = "tag" ++ T, not planned(A, P, _)', None),
        ('part(A, "in", _, I), P = I ++ ".open", planned(A, P, true)', {("in",), ("in", None, "open")}),
        ('part(A, "in", _, I), part(A, I, _, J), planned(A, J, 1)', {("in",), ("in", None), ("in", None, None)}),
        ('part(A, "in", _, I), P = I ++ "x", planned(A, P, true)', {("in", ...)}),
        ("found(A, P), planned(A, P, 1)", {("x",), ("x", None), ("y", "z")}),
        ('planned(A, P, 1), P in ["a.b", "c"]', {("a", "b"), ("c",)}),
        ('planned(A, P, 1), starts_with(P, "a.")', None),
        ("planned(A, _, 1)", None),
        ('json_value(A, "policy", _, "*")', {("policy",)}),
        ('size_of(A, "list", N), N > 3', {("list",)}),
    ],
)
def test_what_a_rule_looks_at(body: str, expected: Any) -> None:
    assert patterns(body) == expected


@pytest.mark.parametrize(
    ("condition", "looks"),
    [
        ('matches(T, "^aws_(vpc|subnet)$")', False),
        ('matches(T, "^aws(cc)?_")', False),
        ('matches(T, "^tu?_")', True),
        ('matches(T, "^t*x")', True),
        ('matches(T, "^t{0,1}x")', True),
        ('matches(T, "^ta+$")', False),
        ('matches(T, "^aws_|^t")', True),
        ('matches(T, "^(aws|t)_")', True),
        ('matches(T, "^aws[|]t")', False),
        ('matches(T, "^aws\\\\|t")', False),
        ('matches(T, "(?i)^AWS_")', True),
        ('matches(T, "aws_")', True),
        ('not matches(T, "^aws_")', True),
        ('starts_with(T, "aws_")', False),
    ],
)
def test_what_a_type_has_to_begin_with(condition: str, looks: bool) -> None:
    text = f'@reason("no") deny("c", A, "no") :- change(A, T, _, _, _, _), {condition}, planned(A, "x", 1).'
    policies, problems = load_policies((("own.dl", text),))
    assert policies is not None, problems
    looked = policies.reads.interest.looked(("managed", "tu_x", "create", "", False))  # type: ignore[union-attr]
    assert ("x" in looked.parts) is looks


@pytest.mark.slow
def test_no_policy_of_the_library_looks_at_all_values_of_what_it_is_not_about() -> None:
    looked = library().reads.interest.looked(("managed", "terraform_data", "create", "", False))  # type: ignore[union-attr]
    assert not looked.all and not looked.parts["input"].parts


VALUE = {"tags": {"Owner": "x", "Other": "y"}, "in": [{"open": True, "port": 1}], "name": "n"}


def test_nothing_else_is_walked_over() -> None:
    looked = Looked([("tags", "Owner"), ("in",), ("in", None, "open"), ("gone",)])
    rows = ShownRows()
    rows.add_shown("t.a", VALUE, {"tags": {"New": True}, "gone": True}, None, looked)
    assert {row[1:] for row in rows.values} == {("tags.Owner", "x"), ("in[0].open", TRUE)}
    assert (rows.sizes, rows.parts) == ({("t.a", "in", 1)}, {("t.a", "in", 0, "in[0]")})
    assert set(rows.unknown) == {("t.a", "gone")}


def test_what_is_unknown_above_a_path_is_unknown_there() -> None:
    rows = ShownRows()
    rows.add_shown("t.a", {}, {"tags": True, "in": [True]}, None, Looked([("tags", "Owner"), ("in", 0, "open")]))
    assert set(rows.unknown) == {("t.a", "tags"), ("t.a", "in[0]")}


@pytest.mark.parametrize("sensitive", [{"tags": True}, {"tags": {"Other": True}}, True])
def test_whatever_is_told_of_secrets_is_known_to_be_secret(sensitive: Any) -> None:
    rows = ShownRows()
    rows.add_shown("t.a", VALUE, None, sensitive, Looked([("tags",)]))
    assert ("t.a", "tags.Other") in rows.hidden


@pytest.mark.parametrize(
    "tags",
    [Marked({"Other": "y"}, frozenset((SENSITIVE,))), {"Other": Marked("y", frozenset((SENSITIVE,)))}],
)
def test_the_same_in_our_own_plans(tags: Any) -> None:
    rows = ValueRows()
    rows.add_object("t.a", {"tags": tags, "name": "n"}, Looked([("tags",)]))
    assert ("t.a", "tags.Other") in rows.hidden and not {row for row in rows.values if row[1] == "name"}
    everything = ValueRows()
    everything.add_object("t.a", {"tags": tags}, EVERYTHING)
    assert rows.hidden == everything.hidden
