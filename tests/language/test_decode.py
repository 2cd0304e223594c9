from __future__ import annotations

from typing import Any

import pytest

from planner.foundation.values.convert import ConversionError
from planner.foundation.values.schema import (
    AttributeSchema,
    BlockSchema,
    NestedAttributes,
    NestedBlock,
    coerce,
    contains,
    empty_value,
    implied_type,
)
from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER, STRING, ListType, MapType, ObjectType, SetType
from planner.foundation.values.value import SENSITIVE, UNKNOWN, List, Map, Marked, Null, Unknown, type_of
from planner.foundation.vocabulary.span import Source
from planner.language.expressions.decode import decode_block
from planner.language.expressions.evaluate import MappingScope
from planner.language.syntax.parse import parse_config

S = frozenset((SENSITIVE,))
RULE = BlockSchema(
    {"port": AttributeSchema(NUMBER, required=True), "cidr": AttributeSchema(ListType(STRING), optional=True)}
)
RULE_TYPE = ObjectType({"port": NUMBER, "cidr": ListType(STRING)})
NO_CIDR = Null(ListType(STRING))
SERVER = BlockSchema(
    {
        "name": AttributeSchema(STRING, required=True),
        "id": AttributeSchema(STRING, computed=True),
        "disk": AttributeSchema(
            nested=NestedAttributes(
                {"size": AttributeSchema(NUMBER, required=True), "kind": AttributeSchema(STRING, computed=True)}, "list"
            ),
            optional=True,
        ),
    },
    {
        "rule": NestedBlock(RULE, "list", max_items=2),
        "one": NestedBlock(RULE, "single"),
        "group": NestedBlock(RULE, "group"),
        "unique": NestedBlock(RULE, "set"),
        "by": NestedBlock(RULE, "map"),
    },
)
OPEN = BlockSchema({}, {"any": NestedBlock(BlockSchema({"v": AttributeSchema(DYNAMIC, optional=True)}), "list")})
LEGACY = BlockSchema({"rule": AttributeSchema(ListType(RULE_TYPE), optional=True, computed=True)})


def decode(text: str, schema: BlockSchema = SERVER, **variables: Any) -> tuple[Any, list[Any]]:
    body, diagnostics = parse_config(Source("main.tf", text))
    assert not diagnostics
    return decode_block(body, schema, MappingScope(variables))


def decoded(text: str, schema: BlockSchema = SERVER, **variables: Any) -> Any:
    value, diagnostics = decode(text, schema, **variables)
    assert not diagnostics
    return value


def places(text: str, schema: BlockSchema = SERVER, **variables: Any) -> list[tuple[str, str]]:
    _, diagnostics = decode(text, schema, **variables)
    return [(d.summary, d.subject.text) for d in diagnostics]


def test_the_smallest_body() -> None:
    value = decoded('name = "x"')
    assert value == {**empty_value(SERVER), "name": "x"}
    assert type_of(value) == implied_type(SERVER)


def test_blocks_by_nesting() -> None:
    value = decoded("""
      name = 5
      disk = [{ size = "7" }]
      rule { port = 1 }
      rule { port = "2" }
      one { port = 3 }
      unique { port = 5 }
      unique { port = 4 }
      unique { port = 5 }
      by "k" { port = 6 }
    """)
    assert value["name"] == "5"
    assert value["disk"] == List(ObjectType({"size": NUMBER, "kind": STRING}), ({"size": 7, "kind": Null(STRING)},))
    assert value["rule"].items == ({"port": 1, "cidr": NO_CIDR}, {"port": 2, "cidr": NO_CIDR})
    assert value["one"] == {"port": 3, "cidr": NO_CIDR}
    assert value["group"] == {"port": Null(NUMBER), "cidr": NO_CIDR}
    assert [item["port"] for item in value["unique"].items] == [4, 5]
    assert value["by"] == Map(RULE_TYPE, {"k": {"port": 6, "cidr": NO_CIDR}})
    assert type_of(value) == implied_type(SERVER)


DYNAMIC_RULES = """
  name = "x"
  dynamic "rule" {
    for_each = var.ports
    iterator = it
    content {
      port = it.value
      cidr = ["${it.key}"]
    }
  }
"""


def test_dynamic_blocks() -> None:
    value = decoded(DYNAMIC_RULES, var={"ports": {"a": 1, "b": 2}})
    assert [(r["port"], r["cidr"].items) for r in value["rule"].items] == [(1, ("a",)), (2, ("b",))]


def test_dynamic_blocks_over_what_is_not_known() -> None:
    value = decoded(DYNAMIC_RULES, var={"ports": Unknown(MapType(NUMBER))})
    assert value["rule"] == Unknown(ListType(RULE_TYPE))


def test_dynamic_blocks_over_a_secret() -> None:
    value = decoded(DYNAMIC_RULES, var={"ports": Marked({"a": 1}, S)})
    (rule,) = value["rule"].items
    assert rule == Marked({"port": Marked(1, S), "cidr": Marked(List(STRING, ("a",)), S)}, S)


def test_dynamic_blocks_with_labels_and_inside_one_another() -> None:
    inner = BlockSchema({}, {"leaf": NestedBlock(RULE, "list")})
    tree = BlockSchema({}, {"node": NestedBlock(inner, "map")})
    value = decoded(
        """
        dynamic "node" {
          for_each = var.nodes
          labels = [node.key]
          content {
            dynamic "leaf" {
              for_each = node.value
              content { port = leaf.value }
            }
          }
        }
        """,
        tree,
        var={"nodes": {"p": (1, 2), "q": ()}},
    )
    ports = {k: [leaf["port"] for leaf in node["leaf"].items] for k, node in value["node"].items.items()}
    assert ports == {"p": [1, 2], "q": []}


def test_blocks_of_any_type_make_a_tuple() -> None:
    value = decoded("any {\n v = 1\n}\nany {\n v = []\n}", OPEN)
    assert value == {"any": ({"v": 1}, {"v": ()})}
    assert decoded("", OPEN) == {"any": ()}


def test_attributes_that_old_providers_let_stand_as_blocks() -> None:
    as_blocks = decoded("rule {\n port = 1\n}\nrule {\n port = 2\n}", LEGACY)
    as_value = decoded("rule = [{ port = 1, cidr = null }, { port = 2, cidr = null }]", LEGACY)
    assert as_blocks == as_value
    assert decoded("", LEGACY) == {"rule": Null(ListType(RULE_TYPE))}
    dynamic = 'dynamic "rule" {\n for_each = [3]\n content {\n port = rule.value\n }\n}'
    assert decoded(dynamic, LEGACY)["rule"].items == ({"port": 3, "cidr": NO_CIDR},)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", [("Missing required argument", "")]),
        ('name = "x"\nnme = 1', [("Unsupported argument", "nme")]),
        ('name = "x"\nbogus {}', [("Unsupported block type", "bogus")]),
        ("name = []", [("Incorrect attribute value type", "[]")]),
        ('name = 1 + "x"', [("Invalid operand", '"x"')]),
        ("name = missing\nbogus = 1", [("Unknown variable", "missing")]),
        ('name = "x"\none { port = 1 }\none { port = 2 }', [("Duplicate one block", "one")]),
        ('name = "x"\nby "k" { port = 1 }\nby "k" { port = 2 }', [("Duplicate by block", 'by "k"')]),
        ('name = "x"\ndynamic "what" {\n for_each = []\n}', [("Unsupported block type", '"what"')]),
        ('name = "x"\ndynamic "rule" {\n for_each = []\n}', [("Missing dynamic content block", "")]),
        (
            'name = "x"\ndynamic "rule" {\n for_each = null\n content {\n port = 1\n }\n}',
            [("Invalid dynamic for_each value", "null")],
        ),
        (
            'name = "x"\ndynamic "rule" {\n for_each = 5\n content {\n port = 1\n }\n}',
            [("Invalid dynamic for_each value", "5")],
        ),
        (
            'name = "x"\ndynamic "by" {\n for_each = [1]\n labels = [null]\n content {\n port = 1\n }\n}',
            [("Invalid dynamic block label", "null")],
        ),
        (
            'name = "x"\ndynamic "by" {\n for_each = [1]\n labels = []\n content {\n port = 1\n }\n}',
            [("Insufficient dynamic block labels", "[]")],
        ),
    ],
)
def test_problems(text: str, found: list[tuple[str, str]]) -> None:
    assert places(text) == found


def test_too_many_blocks() -> None:
    found = places('name = "x"\nrule { port = 1 }\nrule { port = 2 }\nrule { port = 3 }')
    assert [summary for summary, _ in found] == ["Too many rule blocks"]


# ---------------------------------------------------------------- schemas


def test_coerce() -> None:
    value = coerce({"name": 5, "rule": ({"port": "1"},), "by": {"k": {"port": 2}}}, SERVER)
    assert value["name"] == "5"
    assert value["rule"] == List(RULE_TYPE, ({"port": 1, "cidr": NO_CIDR},))
    assert value["id"] == Null(STRING)
    assert value["group"] == {"port": Null(NUMBER), "cidr": NO_CIDR}
    assert coerce(UNKNOWN, SERVER) == Unknown(implied_type(SERVER))
    assert coerce(empty_value(SERVER) | {"name": "x"}, SERVER) == empty_value(SERVER) | {"name": "x"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, 'the attribute "name" is required'),
        ({"name": "x", "zz": 1}, 'no attribute "zz"'),
        ({"name": ()}, "name: a string is required"),
        ({"name": "x", "rule": ({"port": "q"},)}, "rule[0].port: a number is required"),
        ({"name": "x", "rule": 5}, "rule: a list is required"),
        ((), "an object is required"),
    ],
)
def test_coerce_says_why_not(value: Any, text: str) -> None:
    with pytest.raises(ConversionError) as caught:
        coerce(value, SERVER)
    assert text in str(caught.value)


def test_implied_type() -> None:
    assert implied_type(SERVER).attributes["unique"] == SetType(RULE_TYPE)
    assert implied_type(OPEN) == ObjectType({"any": DYNAMIC})
    assert implied_type(BlockSchema({"on": AttributeSchema(BOOL)})) == ObjectType({"on": BOOL})


def test_sensitivity_is_found_deep_inside() -> None:
    secret = BlockSchema({"key": AttributeSchema(STRING, optional=True, sensitive=True)})
    assert contains(BlockSchema({}, {"in": NestedBlock(secret, "list")}), "sensitive")
    assert not contains(SERVER, "sensitive")
