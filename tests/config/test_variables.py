"""Where values of root variables come from, which one counts, and what is said of those that do not fit."""

from __future__ import annotations

from pathlib import Path

import pytest
from config_cases import shown, write_files

from planner.foundation.values.types import STRING
from planner.foundation.values.value import EPHEMERAL, NULL, SENSITIVE, List, Marked
from planner.language.config.load import load_config
from planner.language.config.variables import check_plan_variables, collect_variables, root_variables, same_value


def values(directory: Path, files: dict[str, str], arguments=(), environment=None):
    write_files(directory, files)
    given, problems = collect_variables(str(directory), arguments, environment or {})
    config, found = load_config(str(directory), variables=given)
    assert config is not None, found
    final, more = root_variables(config.root.variables, given)
    return final, [*problems, *found, *more]


def test_precedence(tmp_path):
    names = "abcdefg"
    files = {
        "main.tf": "".join(f'variable "{n}" {{\n  default = "default"\n}}\n' for n in names),
        "terraform.tfvars": "".join(f'{n} = "tfvars"\n' for n in "cdefg"),
        "terraform.tfvars.json": '{"d": "json", "e": "json", "f": "json", "g": "json"}',
        "b.auto.tfvars": 'e = "b"\nf = "b"\n',
        "a.auto.tfvars.json": '{"e": "a", "f": "a"}',
        "named.tfvars": 'f = "named"\ng = "named"\n',
    }
    arguments = [("var", "f=first"), ("var-file", "named.tfvars"), ("var", "g=last")]
    environment = {f"TF_VAR_{n}": "environment" for n in "bcdefg"}
    final, problems = values(tmp_path, files, arguments, environment)
    assert not problems
    wanted = ["default", "environment", "tfvars", "json", "b", "named", "last"]
    assert [final[n].value for n in names] == wanted
    assert [final[n].origin for n in "abcfg"] == [
        "default", "environment", "automatic file", "named file", "command line"
    ]  # fmt: skip
    assert final["a"].raw is None
    assert str(final["f"].span) == "named.tfvars:1"


def test_text_is_read_by_type(tmp_path):
    declared = {"s": "string", "n": "number", "b": "bool", "l": "list(string)", "a": "any", "o": "object({x = number})"}
    main = "".join(f'variable "{n}" {{\n  type = {t}\n}}\n' for n, t in declared.items()) + 'variable "u" {}\n'
    arguments = [
        ("var", "s=[1]"),
        ("var", "n=12"),
        ("var", "b=true"),
        ("var", 'l=["x", 1]'),
        ("var", "a={ k = 1 }"),
        ("var", 'o={x = "5"}'),
        ("var", "u=[1]"),
    ]
    final, problems = values(tmp_path, {"main.tf": main}, arguments)
    assert not problems
    assert final["s"].value == "[1]"
    assert final["n"].value == 12
    assert final["b"].value is True
    assert final["l"].value == List(STRING, ("x", "1"))
    assert final["a"].value == {"k": 1}
    assert final["o"].value == {"x": 5}
    assert final["u"].value == "[1]"


def test_null_defaults_and_marks(tmp_path):
    main = """
variable "a" {
  default  = "d"
  nullable = false
}
variable "b" {
  default = "d"
}
variable "c" {
  default   = "d"
  sensitive = true
}
variable "d" {
  type      = object({ x = optional(string, "inner") })
  ephemeral = true
}
"""
    final, problems = values(tmp_path, {"main.tf": main, "x.auto.tfvars": "a = null\nb = null\nd = {}\n"})
    assert not problems
    assert final["a"].value == "d"
    assert final["b"].value == NULL
    assert final["c"].value == Marked("d", frozenset((SENSITIVE,)))
    assert final["d"].value == Marked({"x": "inner"}, frozenset((EPHEMERAL,)))


@pytest.mark.parametrize(
    ("default", "fits"),
    [
        ('{ x = {}, y = { b = [{ d = "q" }] } }', False),
        ('{ x = { b = [] }, y = { b = [{ d = "q" }] } }', False),
        ('{ x = { b = [{}] }, y = { b = [{ d = "q" }] } }', True),
        ("{ x = {} }", True),
    ],
)
def test_a_default_fits_once_more(tmp_path, default, fits):
    """It is converted again where it is used: one that fits only once made saved plans that could not be applied."""
    of = "map(object({ b = optional(list(object({ d = optional(any) })), []) }))"
    write_files(tmp_path, {"main.tf": f'variable "a" {{\n  type    = {of}\n  default = {default}\n}}\n'})
    _, found = load_config(str(tmp_path))
    assert [(d.summary, d.subject.line) for d in found] == [("Invalid default value for variable", 3)] * (not fits)


@pytest.mark.parametrize(
    ("main", "files", "arguments", "expected"),
    [
        ('variable "a" {}\n', {}, (), ["error main.tf:1:1-1:13"]),
        ("", {}, [("var", "x=1")], ["error -"]),
        ("", {}, [("var", "x")], ["error -"]),
        ("", {}, [("var", "x =1")], ["error -"]),
        ("", {}, [("var-file", "missing.tfvars")], ["error -"]),
        ("", {"terraform.tfvars": "x = 1\n"}, (), ["warning -"]),
        ("", {"terraform.tfvars": "x = 1\ny = 1\nz = 1\nw = 1\n"}, (), ["warning -"] * 3),
        ("", {"terraform.tfvars": 'variable "x" {}\n'}, (), ["error terraform.tfvars:1:1-1:9"]),
        ("", {"terraform.tfvars": "x = \n"}, (), ["error terraform.tfvars:1:5-2:1"]),
        (
            'variable "a" {}\n',
            {"terraform.tfvars": "a = b\n"},
            (),
            ["error main.tf:1:1-1:13", "error terraform.tfvars:1:5-1:6"],
        ),
        ('variable "a" {\n  default = 1\n}\n', {"terraform.tfvars": "a = b\n"}, (), ["error terraform.tfvars:1:5-1:6"]),
        ('variable "a" {\n  type = number\n}\n', {"terraform.tfvars": 'a = "x"\n'}, (), ["error main.tf:1:1-1:13"]),
        (
            'variable "a" {\n  type = list(string)\n}\n',
            {},
            [("var", "a=x")],
            ["error <value for var.a>:1:1-1:2", "error main.tf:1:1-1:13"],
        ),
        (
            'variable "a" {\n  nullable = false\n}\n',
            {"terraform.tfvars": "a = null\n"},
            (),
            ["error terraform.tfvars:1:5-1:9"],
        ),
    ],
)  # fmt: skip
def test_problems(tmp_path, main, files, arguments, expected):
    _, problems = values(tmp_path, {"main.tf": main, **files}, arguments)
    assert shown(problems) == expected


def test_environment_may_name_anything(tmp_path):
    _, problems = values(tmp_path, {"main.tf": ""}, (), {"TF_VAR_x": "1", "OTHER": "2"})
    assert not problems


def test_saved_plan(tmp_path):
    main = 'variable "a" {}\nvariable "b" {\n  default = 1\n}\nvariable "e" {\n  ephemeral = true\n}\n'
    write_files(tmp_path, {"main.tf": main})
    config, _ = load_config(str(tmp_path))
    assert config is not None
    declared = config.root.variables

    def check(planned, *arguments):
        given, _ = collect_variables(str(tmp_path), [("var", a) for a in arguments], {})
        final, problems = check_plan_variables(planned, declared, given)
        return {n: v.raw for n, v in final.items()}, [p.code for p in problems]

    assert check({"a": "x"}, "e=y") == ({"a": "x", "b": None, "e": "y"}, [])
    assert check({"a": "x"}, "a=x", "e=y")[1] == []
    assert check({"a": "x"}, "a=other", "e=y")[1] == ["config.plan_variable_mismatch"]
    assert check({"a": "x"})[1] == ["config.missing_variable"]
    assert check({"a": "x", "gone": 1}, "e=y")[1] == ["config.unknown_plan_variable"]


def test_same_value():
    assert same_value(1, 1)
    assert not same_value(1, "1")
    assert not same_value(1, True)
    assert same_value(NULL, NULL)
    assert not same_value(NULL, "x")
    assert same_value(Marked("x", frozenset((SENSITIVE,))), "x")
