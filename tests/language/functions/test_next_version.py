"""Functions of the next version of OpenTofu, behind PLANNER_COMPATIBILITY."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conformance import forked

from planner.foundation.values.refine import UNKNOWN_STRING, length_bounds
from planner.foundation.values.types import DYNAMIC, STRING, ListType, SetType
from planner.foundation.values.value import SENSITIVE, UNKNOWN, List, Null, Refinement, Unknown, Value, mark
from planner.language.functions import CallContext, FunctionError, call, lookup, names


@pytest.fixture(autouse=True)
def the_next_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_COMPATIBILITY", "1.13")


def result(name: str, *arguments: Value) -> Value:
    function = lookup(name)
    assert function is not None
    return call(function, list(arguments), CallContext())


def test_they_are_there_on_request_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"convert", "assumenotnull", "core::assumelistlength"} <= set(names())
    monkeypatch.delenv("PLANNER_COMPATIBILITY")
    assert lookup("convert") is None and "assumenotnull" not in names()
    with pytest.raises(FunctionError, match="must not be null"):
        result("contains", List(STRING, ("a",)), Null(DYNAMIC))


def test_assumptions_about_what_is_not_known() -> None:
    unknown = Unknown(ListType(STRING))
    assert length_bounds(result("assumelistlength", unknown, 1, 3)) == (1, 3)
    assert length_bounds(result("assumelistlengthmin", result("assumelistlengthmax", unknown, 5), 2)) == (2, 5)
    assert length_bounds(result("assumesetlengthmax", Unknown(SetType(STRING)), 4)) == (0, 4)
    prefixed = result("assumestringprefix", Unknown(STRING), "https://")
    assert isinstance(prefixed, Unknown) and prefixed.refinement == Refinement(prefix="https://")
    known = result("assumenotnull", Unknown(STRING))
    assert isinstance(known, Unknown) and known.refinement is not None and known.refinement.not_null
    assert result("assumeequal", UNKNOWN_STRING, "a") == "a"
    assert result("assumeequal", mark("a", frozenset((SENSITIVE,))), "a") == "a"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("assumelistlength", (List(STRING, ("a",)), 2, 3)),
        ("assumelistlengthmax", (List(STRING, ("a", "b")), 1)),
        ("assumenotnull", (Null(STRING),)),
        ("assumenotnull", (UNKNOWN,)),
        ("assumestringprefix", ("abc", "b")),
        ("assumeequal", ("a", "b")),
        ("assumelistlengthmin", (Null(ListType(STRING)), 0)),
    ],
)
def test_assumptions_that_are_wrong(name: str, arguments: tuple[Value, ...]) -> None:
    with pytest.raises(FunctionError):
        result(name, *arguments)
    if name != "assumenotnull" and name.startswith("assumelist"):
        known = lookup(name)
        assert known is not None and known.params[0].name == "value"


def test_what_is_less_strict() -> None:
    assert result("contains", List(STRING, ("a", Null(STRING))), Null(DYNAMIC)) is True
    assert result("contains", List(STRING, ("a",)), Null(DYNAMIC)) is False
    assert result("cidrsubnets", "fd00::/8", 40) == List(STRING, ("fd00::/48",))
    with pytest.raises(FunctionError):
        result("cidrsubnets", "10.0.0.0/8", 33)


def test_a_configuration(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(
        """
language {
  compatible_with {
    opentofu = ">= 1.13"
  }
}
output "a" {
  value = convert({ a = 1 }, object({ a = string, b = optional(number, 3) }))
}
output "b" {
  value     = templatestring("$${x}", sensitive({ x = 1 }))
  sensitive = true
}
"""
    )
    environ = {"PLANNER_COMPATIBILITY": "1.13", "HOME": str(tmp_path)}
    assert forked.run(["apply", "-auto-approve"], tmp_path, environ).returncode == 0
    outputs = json.loads(forked.run(["output", "-json"], tmp_path, environ).stdout)
    assert outputs["a"]["value"] == {"a": "1", "b": 3} and outputs["b"]["value"] == 1
    assert "No changes." in (plan := forked.run(["plan", "-no-color"], tmp_path, environ).stdout)
    assert "were compared" not in plan
    (tmp_path / "main.tf").write_text('output "a" {\n  value = convert([], number)\n}\n')
    assert "The argument value of convert is not valid" in forked.run(["plan"], tmp_path, environ).stderr
    assert "v1.13.0 as announced" in forked.run(["version"], tmp_path, environ).stdout
    refused = forked.run(["plan"], tmp_path, {"HOME": str(tmp_path)})
    assert refused.returncode == 1 and "Invalid reference" in refused.stderr
