"""Differences of objects whose schema is known: attributes by type, blocks by nesting."""

from __future__ import annotations

from typing import Any

import pytest

from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedAttributes, NestedBlock
from planner.foundation.values.types import BOOL, NUMBER, STRING, ListType, MapType, ObjectType, SetType, TupleType
from planner.foundation.values.value import SENSITIVE, List, Map, Marked, Null, Set, Unknown
from planner.render.diff_block import diff_object
from planner.render.diff_model import MISSING, Paths, ValueChange
from planner.render.diff_text import DiffText, Style
from planner.render.terminal import Paint

PORT = ObjectType({"from": NUMBER, "to": NUMBER})


def attributes(**types: Any) -> dict[str, AttributeSchema]:
    return {
        name: t if isinstance(t, AttributeSchema) else AttributeSchema(t, optional=True) for name, t in types.items()
    }


def text(schema: BlockSchema, before: Any, after: Any, replace: tuple[Any, ...] = (), **style: Any) -> str:
    diff = diff_object(ValueChange(before, after, Paths(replace)), schema)
    return DiffText(Paint(False)).render(diff, 0, Style(**style))


def check(found: str, wanted: str) -> None:
    assert f"    {found}" == wanted.strip("\n")


def test_attributes_by_type():
    schema = BlockSchema(
        attributes(
            id=STRING,
            same=NUMBER,
            on=BOOL,
            labels=MapType(STRING),
            names=ListType(STRING),
            zones=SetType(STRING),
            port=PORT,
            pair=TupleType((STRING, NUMBER)),
        )
    )
    before = {
        "id": "i-1",
        "same": 1,
        "on": True,
        "labels": Map(STRING, {"a": "1", "b c": "2"}),
        "names": List(STRING, ("a", "b")),
        "zones": Set(STRING, ("x", "y")),
        "port": {"from": 1, "to": 2},
        "pair": ("a", 1),
    }
    after = {
        **before,
        "on": False,
        "labels": Map(STRING, {"a": "2", "c": "3"}),
        "names": List(STRING, ("a", "c")),
        "zones": Set(STRING, ("x", "z")),
        "port": {"from": 1, "to": 3},
        "pair": ("a", 2),
    }
    check(
        text(schema, before, after),
        """
    {
        id     = "i-1"
      ~ labels = {
          ~ "a"   = "1" -> "2"
          - "b c" = "2" -> null
          + "c"   = "3"
        }
      ~ names  = [
            "a",
          - "b",
          + "c",
        ]
      ~ on     = true -> false
      ~ pair   = [
            "a",
          ~ 1 -> 2,
        ]
      ~ port   = {
          ~ to   = 2 -> 3
            # (1 unchanged attribute hidden)
        }
      ~ zones  = [
          - "y",
          + "z",
            # (1 unchanged element hidden)
        ]
        # (1 unchanged attribute hidden)
    }""",
    )


def test_unknown_and_replaced():
    schema = BlockSchema(attributes(id=STRING, name=STRING, size=NUMBER))
    found = text(
        schema,
        {"id": "i-1", "name": "a", "size": 1},
        {"id": Unknown(STRING), "name": "b", "size": Unknown(NUMBER)},
        (("name",), ("size",)),
    )
    check(
        found,
        """
    {
      ~ id   = "i-1" -> (known after apply)
      ~ name = "a" -> "b" # forces replacement
      ~ size = 1 -> (known after apply) # forces replacement
    }""",
    )


def test_sensitive_by_schema_and_by_mark():
    schema = BlockSchema(attributes(password=AttributeSchema(STRING, optional=True, sensitive=True), note=STRING))
    before = {"password": "old", "note": "n"}
    after = {"password": "new", "note": Marked("n", frozenset((SENSITIVE,)))}
    check(
        text(schema, before, after),
        """
    {
      # Warning: this attribute value will be marked as sensitive and will not
      # display in UI output after this change. The value is unchanged.
      ~ note     = (sensitive value)
      ~ password = (sensitive value)
    }""",
    )
    assert '"old" -> "new"' in text(schema, before, after, secrets=True)


def test_write_only_attributes_share_the_fate_of_the_block():
    schema = BlockSchema(attributes(a=STRING, secret=AttributeSchema(STRING, optional=True, write_only=True)))
    check(
        text(schema, MISSING, {"a": "x", "secret": Null(STRING)}),
        """
    {
      + a      = "x"
      + secret = (write-only attribute)
    }""",
    )


RULE = BlockSchema(attributes(name=STRING, port=NUMBER))


@pytest.mark.parametrize(
    ("nesting", "before", "after", "wanted"),
    [
        (
            "list",
            List(PORT, ({"name": "a", "port": 1}, {"name": "b", "port": 2})),
            List(PORT, ({"name": "a", "port": 1}, {"name": "b", "port": 3}, {"name": "c", "port": 4})),
            """
    {
        id = "x"

      ~ rule {
            name = "b"
          ~ port = 2 -> 3
        }
      + rule {
          + name = "c"
          + port = 4
        }

        # (1 unchanged block hidden)
    }""",
        ),
        (
            "set",
            Set(PORT, ({"name": "a", "port": 1}, {"name": "b", "port": 2})),
            Set(PORT, ({"name": "b", "port": 2}, {"name": "c", "port": 4})),
            """
    {
        id = "x"

      - rule {
          - name = "a" -> null
          - port = 1 -> null
        }
      + rule {
          + name = "c"
          + port = 4
        }

        # (1 unchanged block hidden)
    }""",
        ),
        (
            "map",
            Map(PORT, {"k": {"name": "a", "port": 1}}),
            Map(PORT, {"k": {"name": "a", "port": 2}}),
            """
    {
        id = "x"

      ~ rule "k" {
            name = "a"
          ~ port = 1 -> 2
        }
    }""",
        ),
        (
            "single",
            Null(PORT),
            {"name": "a", "port": Unknown(NUMBER)},
            """
    {
        id = "x"

      + rule {
          + name = "a"
          + port = (known after apply)
        }
    }""",
        ),
    ],
)
def test_blocks(nesting, before, after, wanted):
    schema = BlockSchema(attributes(id=STRING), {"rule": NestedBlock(RULE, nesting)})
    check(text(schema, {"id": "x", "rule": before}, {"id": "x", "rule": after}), wanted)


def test_no_blocks_are_not_mentioned():
    schema = BlockSchema(attributes(id=STRING), {"rule": NestedBlock(RULE, "list")})
    check(
        text(schema, MISSING, {"id": "x", "rule": List(PORT, ())}),
        """
    {
      + id = "x"
    }""",
    )


def test_sensitive_blocks_are_hidden():
    schema = BlockSchema(attributes(id=STRING), {"rule": NestedBlock(RULE, "list")})
    hidden = Marked(List(PORT, ({"name": "a", "port": 1},)), frozenset((SENSITIVE,)))
    check(
        text(schema, MISSING, {"id": "x", "rule": hidden}),
        """
    {
      + id = "x"

      + rule {
          # At least one attribute in this block is (or was) sensitive,
          # so its contents will not be displayed.
        }
    }""",
    )


@pytest.mark.parametrize(
    ("nesting", "before", "after", "wanted"),
    [
        (
            "single",
            {"name": "a", "port": 1},
            {"name": "a", "port": 2},
            """
    {
      ~ rule = {
            name = "a"
          ~ port = 1 -> 2
        }
    }""",
        ),
        (
            "list",
            List(PORT, ({"name": "a", "port": 1},)),
            List(PORT, ({"name": "a", "port": 2},)),
            """
    {
      ~ rule = [
          ~ {
                name = "a"
              ~ port = 1 -> 2
            },
        ]
    }""",
        ),
        (
            "map",
            Map(PORT, {"k": {"name": "a", "port": 1}}),
            Map(PORT, {}),
            """
    {
      ~ rule = {
          - "k" = {
              - name = "a" -> null
              - port = 1 -> null
            },
        }
    }""",
        ),
    ],
)
def test_nested_attributes(nesting, before, after, wanted):
    nested = NestedAttributes(attributes(name=STRING, port=NUMBER), nesting)
    schema = BlockSchema({"rule": AttributeSchema(nested=nested, optional=True)})
    found = text(schema, {"rule": before}, {"rule": after})
    check(found, wanted)
