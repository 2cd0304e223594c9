"""Policies against schemas: what no such object has is told, and nothing else is."""

from __future__ import annotations

import pytest

from planner.policy.program import load_policies
from planner.policy.shapes import misfits, paths, steps, type_at
from planner.values.types import BOOL, DYNAMIC, NUMBER, STRING, ListType, MapType, ObjectType, SetType, Type

RULE = ObjectType({"cidr_blocks": ListType(STRING), "from_port": NUMBER})
GROUP = ObjectType({"name": STRING, "open": BOOL, "ingress": SetType(RULE), "tags": MapType(STRING), "any": DYNAMIC})
KNOWN: dict[tuple[str, str], Type] = {("managed", "group"): GROUP, ("managed", "other"): ObjectType({"size": NUMBER})}


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("name", STRING),
        ("tags.Owner", STRING),
        ('tags["a.b"]', STRING),
        ("ingress[0].cidr_blocks[1]", STRING),
        ("ingress[0].from_port", NUMBER),
        ("ingress", SetType(RULE)),
        ("any.thing[0]", DYNAMIC),
        ("tag", None),
        ("ingress.from_port", None),
        ("name.x", None),
        ("tags[0]", None),
        ("ingress[0].cidr_block[0]", None),
    ],
)
def test_what_stands_at_a_path(path: str, wanted: Type | None) -> None:
    assert type_at(GROUP, path)[0] == wanted


def test_steps_and_paths() -> None:
    assert steps('a.b-c[0]["x\\"y"]') == ["a", "b-c", 0, 'x"y']
    assert steps("a b") is None
    assert list(paths(GROUP)) == [
        *["any", "ingress", "ingress[0]", "ingress[0].cidr_blocks", "ingress[0].from_port", "name", "open", "tags"],
    ]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ('planned(A, "tag.Owner", V), V = "x"', "group has no tag.Owner: there is no tag. Did you mean \"tags\"?"),
        ('planned(A, "ingress[0].cidr_block[0]", _)', "there is no cidr_block"),
        ('not configured(A, "nam", _)', "group has no nam"),
        ('size_of(A, "ingres", N), N > 1', "there is no ingres"),
        ('P = "nam", planned(A, P, _)', "group has no nam"),
        ('planned(A, "open", "true")', 'open is a truth value, and "true" is text'),
        ('planned(A, "name", V), V != 1', "name is text, and 1 is a number"),
        ('planned(A, "ingress[0].from_port", V), V = "22"', 'ingress[0].from_port is a number, and "22" is text'),
        ('planned(A, "name", "x")', ""),
        ('planned(A, "tags.anything", "x")', ""),
        ('planned(A, "any.thing", 1)', ""),
        ('planned(A, "open", true)', ""),
        ('part(A, "ingress", _, I), P = I ++ ".from_prt", planned(A, P, _)', ""),
    ],
)  # fmt: skip
def test_misfits(rule: str, said: str) -> None:
    text = f'deny("x", A, "no") :- change(A, "group", _, _, _, _), {rule}.'
    told = [d.detail for d in found(text)]
    assert (len(told) == 1 and said in told[0]) if said else not told


@pytest.mark.parametrize(
    ("rule", "is_told"),
    [
        # the type by facts; an object of one of the types may have the path
        ('kind(T), change(A, T, _, _, _, _), planned(A, "size", _)', False),
        ('kind(T), change(A, T, _, _, _, _), planned(A, "siz", _)', True),
        # nothing is said of types without a schema, or of addresses of any type
        ('change(A, "unheard_of", _, _, _, _), planned(A, "siz", _)', False),
        ('change(A, _, _, _, _, _), planned(A, "siz", _)', False),
        ('change(A, "group", _, _, _, "data"), planned(A, "siz", _)', False),
    ],
)
def test_what_types_an_address_can_have(rule: str, is_told: bool) -> None:
    facts = '/// kind(type): one. Example: kind("group")\n.decl kind(type: word)\nkind("group"). kind("other").\n'
    assert bool(found(f'{facts}deny("x", A, "no") :- {rule}.')) == is_told


def found(text: str) -> list:  # type: ignore[type-arg]
    policies, problems = load_policies((("house.dl", text),))
    assert policies is not None, problems
    return list(misfits(policies.program, lambda mode, type: KNOWN.get((mode, type))))
