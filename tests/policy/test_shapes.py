"""Policies against schemas: what no such object has is told, and nothing else is."""

from __future__ import annotations

import pytest

from planner.answers.policy.program import load_policies
from planner.answers.policy.shapes import misfits, paths, steps, type_at
from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER, STRING, ListType, MapType, ObjectType, SetType, Type

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
        ('planned(A, "tags", "x")', "tags is a list, set, map or object. Only its elements have values in planned"),
        ('planned(A, "ingress[0].cidr_blocks", V), V = "x"', 'part(A, "ingress[0].cidr_blocks", Key, P), planned(A, P'),
        ('planned("var.region", _, "x")', 'the values of root variables are in configured("var.region", "value", V)'),
        ('not part("local.x", _, _, _)', "policies do not see local values"),
        ('lifecycle(_, "prevent_destory", _)', "No row of lifecycle has"),
        ('part(A, "tags", _, _)', ""),
        ('configured("var.region", "value", "x")', ""),
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
        ('change(A, "group", _, _, _, "data"), planned(A, "any", _)', True),
        ('stays(A, "group"), planned(A, "siz", _)', True),
        ('stays(A, T), T = "group", planned(A, "siz", _)', True),
        ('stays(A, T), kind(T), planned(A, "size", _)', False),
        ('instance_of(A, "module.m.group.x"), planned(A, "siz", _)', True),
        ('instance_of(A, "data.unheard_of.x"), planned(A, "siz", _)', False),
        # types that a provider at hand does not have; of several, one may be of another version
        ('stays(A, "group_of")', True),
        ('change(A, T, _, _, _, _), T in ["group_of", "group"]', False),
        ('stays(A, T), T in ["group", "other"], planned(A, "siz", _)', True),
        ('stays(A, "unheard_of")', False),
    ],
)
def test_what_types_an_address_can_have(rule: str, is_told: bool) -> None:
    facts = '/// kind(type): one. Example: kind("group")\n.decl kind(type: word)\nkind("group"). kind("other").\n'
    assert bool(found(f'{facts}deny("x", A, "no") :- {rule}.')) == is_told


def found(text: str) -> list:  # type: ignore[type-arg]
    policies, problems = load_policies((("house.dl", text),))
    assert policies is not None, problems
    said = [problem for problem in problems if problem.code != "rules.unread"]
    return [*said, *misfits(policies.program, Known())]


class Known:
    """Schemas of a provider that has groups and others."""

    def __call__(self, mode: str, type: str) -> Type | None:
        return KNOWN.get((mode, type))

    def types(self, mode: str) -> list[str]:
        return [type for of, type in KNOWN if of == mode]

    def lacks(self, mode: str, type: str) -> str:
        return "house/group" if type.startswith("group") and (mode, type) not in KNOWN else ""
