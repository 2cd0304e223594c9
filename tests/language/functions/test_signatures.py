"""The signatures of all functions, which editors read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from planner.language.functions import CORE, lookup, metadata, names

SIGNATURES: dict[str, Any] = json.loads(Path(__file__).with_name("signatures.json").read_text(encoding="utf-8"))


def bare(signature: dict[str, Any]) -> dict[str, Any]:
    """A signature without the words for people."""

    def param(p: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in p.items() if key != "description"}

    out: dict[str, Any] = {"return_type": signature["return_type"]}
    if "parameters" in signature:
        out["parameters"] = [param(p) for p in signature["parameters"]]
    if "variadic_parameter" in signature:
        out["variadic_parameter"] = param(signature["variadic_parameter"])
    return out


def test_names_and_types_are_those_of_opentofu() -> None:
    found = metadata()["function_signatures"]
    assert {name: bare(s) for name, s in found.items() if not name.startswith(CORE)} == SIGNATURES


def test_every_function_is_there_twice_and_in_order() -> None:
    found = metadata()["function_signatures"]
    assert list(found) == sorted(found)
    for name in SIGNATURES:
        assert found[CORE + name] == found[name]


def test_every_function_says_what_it_does() -> None:
    for name in names():
        function = lookup(name)
        assert function is not None
        assert function.description.endswith("."), name
        assert all(p.description for p in function.params if len(function.params) > 1), name
