"""Names that stand twice: of JSON all values count, YAML is none."""

from __future__ import annotations

import pytest

from planner.logic.datalog.engine.native import json_parts, json_values
from planner.logic.datalog.language.documents import is_yaml, json_elements, json_rows, yaml_rows

TWICE = '{"Statement": [{"Effect": "Allow", "Principal": "*", "Principal": {"AWS": "a"}, "Effect": "Deny"}]}'


@pytest.mark.parametrize("text", [TWICE, TWICE.replace("a", "\\u0061"), TWICE.replace('"a"', "true")])
def test_of_a_name_that_stands_twice_all_values_count(text: str) -> None:
    rows = json_rows(text)
    assert rows is not None
    found = {(path, str(value)) for path, value in rows}
    inner = str(next(value for path, value in rows if path.endswith(".AWS")))
    assert found == {
        ("Statement[0].Effect", "Allow"),
        ("Statement[0].Effect", "Deny"),
        ("Statement[0].Principal", "*"),
        ("Statement[0].Principal.AWS", inner),
    }
    assert (json_elements(text) or []).count(("Statement[0]", "Effect", "Statement[0].Effect")) == 1
    assert ("a", "p", "Statement[0].Principal", "*") in json_values([("a", "p", text)], None)
    assert ("a", "p", "Statement[0]", "Principal", "Statement[0].Principal") in json_parts([("a", "p", text)], None)


def test_yaml_with_a_key_twice_is_none() -> None:
    assert not is_yaml("a: 1\na: 2\n")
    assert not is_yaml("b: {a: 1, a: 2}\n")
    assert sorted(yaml_rows("x: &x {a: 1}\nz:\n  <<: *x\n  a: 2\n") or []) == [("x.a", 1), ("z.a", 2)]
