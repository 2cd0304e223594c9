"""Test files beyond the recorded cases (tests/conformance/test-cases): where planner differs from OpenTofu on purpose,
what is wrong with files, what is left behind, interrupts."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen, run
from typing import Any
from xml.etree import ElementTree

import pytest

from planner.workflows.testing.decisions import RunFacts, judge, order
from planner.workflows.testing.suite import SuiteRunner

MAIN = """
variable "v" {
  type    = string
  default = "one"
}
locals {
  loud = upper(var.v)
}
resource "terraform_data" "a" {
  input = local.loud
}
output "o" {
  value = terraform_data.a.output
}
"""
FAILING = 'run "x" {\n  assert {\n    condition     = output.o == "x"\n    error_message = "wrong"\n  }\n}\n'

CHECK = 'check "c" {\n  assert {\n    condition     = path.module == ""\n    error_message = "m"\n  }\n}\n'
Case = tuple[dict[str, str], tuple[str, ...], int, tuple[str, ...]]
CASES: dict[str, Case] = {
    "all earlier runs": (
        {
            "a.tftest.hcl": """
run "first" {
}
run "planned" {
  command = plan
  variables { v = "two" }
}
run "last" {
  variables { v = "${run.first.o}-${run.planned.known}" }
  assert {
    condition     = output.o == "ONE-TWO"
    error_message = "got ${output.o}"
  }
}
""",
            "more.tf": 'output "known" {\n  value = local.loud\n}\n',
        },
        (),
        0,
        ("Success! 3 passed, 0 failed.",),
    ),
    "a value of a planned run that is not known": (
        {
            "a.tftest.hcl": """
run "planned" {
  command = plan
}
run "last" {
  variables { v = run.planned.o }
}
run "never" {
}
"""
        },
        (),
        1,
        ("Error: Unknown value for variable", 'run "never"... skip', "Failure! 1 passed, 1 failed, 1 skipped."),
    ),
    "a filter that is nearly right": (
        {"a.tftest.hcl": FAILING},
        ("-filter=b.tftest.hcl",),
        1,
        ("Error: Unknown test file", 'Did you mean "a.tftest.hcl"?'),
    ),
    "a filter that is not": (
        {"a.tftest.hcl": FAILING},
        ("-filter=tests/other.tftest.hcl",),
        1,
        ("The test files are: a.tftest.hcl.",),
    ),
    "why an assertion does not hold": (
        {"a.tftest.hcl": f'variables {{\n  v = "two"\n}}\n{FAILING}'},
        ("-explain=line",),
        1,
        (
            'output.o is "TWO": terraform_data.a.output (main.tf:12)',
            'terraform_data.a.output is "TWO": input (main.tf:8)',
            'terraform_data.a.input is "TWO": local.loud (main.tf:9)',
            'local.loud is "TWO": upper(var.v) (main.tf:6)',
            'var.v is "two": given here (a.tftest.hcl:2)',
        ),
    ),
    "why, with a default, a module and a made-up value": (
        {
            "a.tftest.hcl": """
override_resource {
  target = module.m.terraform_data.d
  values = { id = "made" }
}
run "x" {
  assert {
    condition     = output.id == var.v && module.m.out == "?"
    error_message = "wrong"
  }
}
""",
            "more.tf": 'module "m" {\n  source = "./m"\n  n = var.v\n}\noutput "id" {\n  value = module.m.id\n}\n',
            "m/main.tf": """
variable "n" {}
resource "terraform_data" "d" {
  input = var.n
}
output "id" {
  value = terraform_data.d.id
}
output "out" {
  value = "${var.n}!"
}
""",
        },
        ("-explain=line",),
        1,
        (
            'output.id is "made": module.m.id (more.tf:6)',
            'module.m.terraform_data.d.id is "made": given by override_resource (a.tftest.hcl:2)',
            'module.m.out is "one!": "${var.n}!" (m/main.tf:9)',
            'module.m.var.n is "one": var.v (more.tf:3)',
            'var.v is "one": default (main.tf:3)',
        ),
    ),
    "why, of a plan, and nothing of what is secret": (
        {
            "a.tftest.hcl": """
run "x" {
  command = plan
  assert {
    condition     = terraform_data.s.input == "x"
    error_message = "wrong"
  }
}
""",
            "more.tf": """
variable "s" {
  default   = "hidden"
  sensitive = true
}
resource "terraform_data" "s" {
  input = var.s
}
""",
        },
        ("-explain=line",),
        1,
        ("terraform_data.s.input is (sensitive value) (more.tf:6)", "var.s is (sensitive value) (more.tf:2)"),
    ),
    "a variable that does not fit, of a file": (
        {
            "a.tftest.hcl": 'variables {\n  n = { a = "x" }\n}\nrun "x" {\n}\n',
            "more.tf": 'variable "n" {\n  type = object({ a = number, b = optional(string, "b") })\n}\n',
        },
        (),
        1,
        ("Error: Invalid value for input variable", "var.n declared at more.tf:1,1-13"),
    ),
    "defaults of types and of null": (
        {
            "a.tftest.hcl": """
run "x" {
  variables {
    n = { a = 1 }
    v = null
  }
  assert {
    condition     = output.n.b == "b" && output.o == "ONE"
    error_message = "wrong"
  }
}
""",
            "more.tf": 'variable "n" {\n  type = object({ a = number, b = optional(string, "b") })\n}\n'
            'output "n" {\n  value = var.n\n}\n',
            "main.tf": MAIN.replace("type    = string", "type    = string\n  nullable = false"),
        },
        (),
        0,
        ("Success! 1 passed, 0 failed.",),
    ),
    "values of the test directory": (
        {
            "tests/a.tftest.hcl": FAILING.replace('"x"\n', '"TESTED"\n'),
            "tests/terraform.tfvars": 'v = "tested"\n',
            "terraform.tfvars": 'v = "other"\n',
        },
        ("-var=v=third",),
        0,
        (),
    ),
    "files that say too much": (
        {
            "a.tftest.hcl": """
variables {
}
variables {
}
run "1" {
  plan_options {
  }
  plan_options {
  }
  command = "plan"
}
run "y" {
  parallel = true
  zip {
  }
}
mock_provider "null" {
  for_each = toset([])
}
mock_provider "null" {
  mock_resource "a" {
  }
  mock_resource "a" {
    defaults = []
  }
}
override_module {
  target = terraform_data.a
}
override_data {
  target  = module.m["a"].data.b.c
}
""",
        },
        (),
        1,
        (
            'Multiple "variables" blocks',
            "This test file already has a variables block defined at a.tftest.hcl:1,1-10.",
            'Multiple "plan_options" blocks',
            "Invalid run block name",
            'Invalid "command" keyword',
            "Unsupported block type",
            'Alias required when using "for_each"',
            "Object expected",
            "Invalid module address",
            "Module instance address with keys is not allowed",
        ),
    ),
    "no version of a directory": (
        {"a.tftest.hcl": 'run "x" {\n  module {\n    source  = "./m"\n    version = "1.0.0"\n  }\n}\n'},
        (),
        1,
        ("Error: Invalid registry module source address",),
    ),
    "a failing check of a module that is called": (
        {
            "a.tftest.hcl": 'run "x" {\n  expect_failures = [check.c]\n}\n',
            "more.tf": 'module "m" {\n  source = "./m"\n}\n',
            "m/main.tf": CHECK,
        },
        (),
        1,
        ("Error: Check block assertion failed", "The checkable object, check.c, was expected to report an error"),
    ),
    "a provider whose settings come from an earlier run": (
        {
            "a.tftest.hcl": """
provider "terraform" {
  alias = "other"
}
run "x" {
  providers = { terraform = terraform.other }
}
""",
        },
        (),
        0,
        ("Success! 1 passed, 0 failed.",),
    ),
    "impure functions only after an apply": (
        {
            "a.tftest.hcl": """
run "p" {
  command = plan
  assert {
    condition     = timestamp() != "" && output.o != ""
    error_message = "wrong"
  }
}
"""
        },
        (),
        1,
        ("Error: Unknown condition run",),
    ),
    "policies, questions and states of our own": (
        {
            "a.plannertest.hcl": """
mock_provider "terraform" {
  source = "mocks"
  mock_resource "terraform_data" {
    defaults = { output = "mine" }
  }
}
run "x" {
  state_key = "one"
  policy "loud" {
    verdict = "deny"
    address = "terraform_data.a"
  }
  policy "quiet" {
    verdict = "pass"
  }
  query {
    question = "operation(X, \\"create\\")"
    rows     = 1
  }
  query {
    question = "mocked(X, \\"mock_provider\\")"
    holds    = true
  }
  query {
    question = "policy.deny(C, A, M)"
    rows     = 1
  }
}
run "y" {
  state_key = "two"
  command   = plan
  query {
    question = "operation(X, \\"create\\")"
    holds    = true
  }
}
run "z" {
  state_key = "one"
  query {
    question = "operation(X, \\"create\\")"
    holds    = false
  }
  assert {
    condition     = terraform_data.a.id == "shared" && output.o == "mine"
    error_message = "wrong: ${terraform_data.a.id} ${output.o}"
  }
}
""",
            "mocks/m.tfmock.hcl": """
mock_resource "terraform_data" {
  defaults = { output = "theirs" }
}
override_resource {
  target = terraform_data.a
  values = { id = "shared", output = "mine" }
}
""",
            ".planner/policies/p.dl": 'deny("loud", A, "is loud") :- planned(A, "input", "ONE"), acts(A, "create").\n'
            'deny("quiet", A, "is quiet") :- planned(A, "input", "one").\n',
        },
        (),
        0,
        ("Success! 3 passed, 0 failed.",),
    ),
    "policies and questions that are answered otherwise": (
        {
            "a.plannertest.hcl": """
run "x" {
  command = plan
  policy "loud" {
    verdict = "pass"
  }
  policy "lout" {
    verdict = "pass"
  }
  query {
    question      = "operation(X, \\"create\\")"
    rows          = 0
    error_message = "nothing is to be created"
  }
  query {
    question = "edje(X, Y)"
    holds    = true
  }
}
""",
            ".planner/policies/p.dl": 'deny("loud", A, "is loud") :- planned(A, "input", "ONE").\n',
        },
        (),
        1,
        (
            "Error: Test policy verdict failed",
            "deny loud: terraform_data.a is loud",
            'No policy has the code lout. Did you mean "loud"?',
            "Error: Test query failed",
            "nothing is to be created",
            "has 1 answer, and not 0.",
            "terraform_data.a",
            "There is no predicate edje",
        ),
    ),
    "our own blocks in our own files only": (
        {
            "a.tftest.hcl": """
run "x" {
  state_key = "s"
  policy "p" {
    verdict = "deny"
  }
}
mock_provider "null" {
  source = "mocks"
}
""",
            "b.plannertest.hcl": """
run "x" {
  policy "p" {
    verdict = "perhaps"
  }
  query {
    question = "edge(X, Y)"
  }
  query {
    question = "edge(X, Y)"
    rows     = -1
  }
}
mock_provider "null" {
  source = "nowhere"
}
""",
        },
        (),
        1,
        (
            'An argument named "state_key" is not expected here.',
            'Blocks of type "policy" are not expected here.',
            'An argument named "source" is not expected here.',
            "Error: Invalid verdict",
            "Set either rows, the number of rows in the answer, or holds (true: the answer must have rows;",
            "The number of rows must be a whole number that is not negative.",
            "Error: Failed to read mock files",
        ),
    ),
    "a module of a run that calls the module under test": (
        {
            "main.tf": 'variable "v" {\n  default = "root"\n}\noutput "o" {\n  value = "root ${var.v}"\n}\n',
            "tests/a.tftest.hcl": """
run "x" {
  module {
    source = "./tests/setup"
  }
  assert {
    condition     = output.o == "root setup" && module.up.o == "root setup"
    error_message = "it is ${output.o}"
  }
}
""",
            "tests/setup/main.tf": 'module "up" {\n  source = "../../"\n  v      = "setup"\n}\n'
            'output "o" {\n  value = module.up.o\n}\n',
        },
        (),
        0,
        ("Success! 1 passed, 0 failed.",),
    ),
    "outputs of modules that planning knew stay as they are": (
        {
            "main.tf": 'module "m" {\n  source = "./m"\n  input  = uuid() == "" ? "x" : null\n}\n'
            'resource "terraform_data" "a" {\n  input = module.m.given\n}\n',
            "m/main.tf": 'variable "input" {\n  type     = any\n  nullable = false\n  default  = { a = [] }\n}\n'
            'output "given" {\n  value = var.input != { a = [] }\n}\n',
            "a.tftest.hcl": """
run "x" {
  assert {
    condition     = module.m.given && terraform_data.a.output
    error_message = "wrong"
  }
}
""",
        },
        (),
        0,
        ("Success! 1 passed, 0 failed.",),
    ),
    "a module is made up, and modules within it": (
        {
            "main.tf": 'module "m" {\n  source = "./m"\n}\noutput "o" {\n  value = module.m.out\n}\n',
            "m/main.tf": 'module "n" {\n  source = "./n"\n}\noutput "out" {\n  value = module.n.out\n}\n',
            "m/n/main.tf": 'output "out" {\n  value = "real"\n}\n',
            "a.tftest.hcl": """
override_module {
  target  = module.m.module.n
  outputs = { out = "inner" }
}
run "inner" {
  assert {
    condition     = output.o == "inner"
    error_message = "it is ${output.o}"
  }
}
run "outer" {
  override_module {
    target  = module.m
    outputs = { out = "outer" }
  }
  assert {
    condition     = output.o == "outer"
    error_message = "it is ${output.o}"
  }
}
""",
        },
        (),
        0,
        ("Success! 2 passed, 0 failed.",),
    ),
    "objects of a module stay while it is made up": (
        {
            "main.tf": 'module "m" {\n  source = "./m"\n}\nlocals {\n  gone = fileexists("gone")\n}\n',
            "m/main.tf": """
module "n" {
  source = "../n"
}
""",
            "n/main.tf": """
resource "terraform_data" "a" {
  provisioner "local-exec" {
    when    = destroy
    command = "touch gone"
  }
}
""",
            "a.tftest.hcl": """
run "real" {
}
run "made_up" {
  override_module {
    target = module.m
  }
}
run "after" {
  assert {
    condition     = !local.gone
    error_message = "destroyed"
  }
}
""",
            "b.tftest.hcl": """
run "cleaned_up" {
  assert {
    condition     = local.gone
    error_message = "still there"
  }
}
""",
        },
        ("-parallelism=1",),
        0,
        ("Success! 4 passed, 0 failed.",),
    ),
    "a number that no state can hold": (
        {
            "main.tf": 'variable "v" {}\nresource "terraform_data" "a" {\n  input = var.v\n}\n',
            "a.tftest.hcl": 'run "x" {\n  variables {\n    v = 1e999999999\n  }\n}\n',
        },
        (),
        1,
        ("Error: Infinite number", "input is infinite"),
    ),
    "a filter with a way to the file": (
        {"tests/a.tftest.hcl": 'run "x" {\n}\n', "tests/b.tftest.hcl": FAILING},
        ("-filter=./tests//a.tftest.hcl",),
        0,
        ("tests/a.tftest.hcl... pass", "Success! 1 passed, 0 failed."),
    ),
    "nothing at all": ({}, (), 0, ("Success! 0 passed, 0 failed.",)),
    "json": (
        {
            "a.tftest.json": json.dumps(
                {
                    "variables": {"v": "js"},
                    "run": [
                        {"x": {"assert": [{"condition": '${output.o == "JS"}', "error_message": "wrong"}]}},
                        {"y": {"command": "plan", "expect_failures": ["output.o"]}},
                    ],
                }
            )
        },
        (),
        1,
        ('run "x"... pass', "The checkable object, output.o, was expected to report an error but did not."),
    ),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in {"main.tf": MAIN, **files}.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text.lstrip("\n"))


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, here: Path, planner: Callable[..., Any]) -> None:
    files, words, code, said = CASES[name]
    write(here, files)
    planner("init")
    ran = planner("test", "-no-color", *words)
    text = ran.out + ran.err
    squeezed = " ".join(text.split())
    assert ran.code == code, text
    for needle in said:
        assert " ".join(needle.split()) in squeezed, text
    assert not (here / "errored_test.tfstate").exists()


def test_what_could_not_be_destroyed_counts(here: Path, planner: Callable[..., Any]) -> None:
    more = '  provisioner "local-exec" {\n    when    = destroy\n    command = "exit 3"\n  }\n}\n'
    write(here, {"main.tf": 'resource "terraform_data" "a" {\n' + more, "a.tftest.hcl": 'run "x" {\n}\n'})
    ran = planner("test", "-json")
    events = [json.loads(line) for line in ran.out.splitlines()]
    assert ran.code == 1
    assert [e["test_summary"]["status"] for e in events if e.get("type") == "test_summary"] == ["pass"]
    (left,) = [e["test_cleanup"] for e in events if e.get("type") == "test_cleanup"]
    assert left == {"failed_resources": [{"instance": "terraform_data.a"}]}
    state = json.loads((here / "errored_test.tfstate").read_text())
    assert [r["name"] for r in state["resources"]] == ["a"]


def test_what_checks_say_beside_an_error_of_the_plan(here: Path, planner: Callable[..., Any]) -> None:
    more = 'lifecycle {\n precondition {\n  condition = path.module == ""\n  error_message = "m"\n }\n}\n'
    text = CHECK + 'resource "terraform_data" "a" {\n' + more + "}\n"
    write(here, {"main.tf": text, "a.tftest.hcl": 'run "x" {\n}\n'})
    ran = planner("test", "-no-color")
    assert "Error: Resource precondition failed" in ran.err
    assert "Warning: Check block assertion failed" in ran.out


def test_a_difference_has_the_shape_of_what_is_secret_in_it(here: Path, planner: Callable[..., Any]) -> None:
    text = 'run "x" {\n assert {\n  condition = [{ a = var.v }] == ["y"]\n  error_message = "m"\n }\n}\n'
    write(here, {"a.tftest.hcl": text})
    (found,) = [e for e in map(json.loads, planner("test", "-json").out.splitlines()) if e["type"] == "diagnostic"]
    assert found["diagnostic"]["difference"] == {
        "before": [{"a": "one"}],
        "before_sensitive": [{}],
        "after": ["y"],
        "after_sensitive": [False],
        "after_unknown": False,
    }


def test_a_plan_that_is_shown_to_programs_has_no_prior_state(here: Path, planner: Callable[..., Any]) -> None:
    write(here, {"a.tftest.hcl": 'run "x" {\n}\nrun "y" {\n  command = plan\n}\n'})
    events = map(json.loads, planner("test", "-json", "-verbose").out.splitlines())
    (shown,) = (event["test_plan"] for event in events if event["type"] == "test_plan")
    assert shown["planned_values"]["outputs"]["o"]["value"] == "ONE"
    assert "prior_state" not in shown


def test_what_is_not_known_differs_from_nothing(here: Path, planner: Callable[..., Any]) -> None:
    write(here, {"a.tftest.hcl": FAILING.replace("{", "{\n  command = plan", 1)})
    ran = planner("test", "-no-color")
    assert "Unknown condition run" in ran.err + ran.out
    assert "Diff" not in ran.err + ran.out


def unknown(condition: str, planner: Callable[..., Any]) -> tuple[list[str], int]:
    """What is wrong with an assertion, but for names that mean nothing, by title; and how many of those there are."""
    message = "${terraform_data.a.id} ${output.o}"
    text = f'run "x" {{\n  assert {{\n    condition     = {condition}\n    error_message = "{message}"\n  }}\n}}\n'
    Path("a.tftest.hcl").write_text(text)
    events = [json.loads(line) for line in planner("test", "-json").out.splitlines()]
    found = [e["diagnostic"] for e in events if e.get("type") == "diagnostic"]
    titles = [d["summary"] for d in found if d["summary"] != "Unknown variable"]
    return titles, sum(d["summary"] == "Unknown variable" for d in found)


def test_references_that_make_no_sense_are_told_as_elsewhere(here: Path, planner: Callable[..., Any]) -> None:
    """Where a reference makes no sense whatever its value, each name beside it counts as an error, too."""
    write(here, {})
    wanted = {
        "terraform_data.a.nope == 1": (["Unsupported attribute"], 3),
        "terraform_data.a[0].id == var.v": (["Unexpected resource instance key"], 4),
        "module.nope.x == terraform_data.a.id": (["Reference to undeclared module"], 4),
        "data.nope.x.id == 1": (["Reference to undeclared resource"], 3),
        "self.id == 1": (['Invalid "self" reference'], 3),
        "[for x in terraform_data.b : x.id == output.o] == []": (["Reference to undeclared resource"], 3),
        "check.c == terraform_data.a.id": (['Reference to "check" in invalid context'], 1),
        "local.nope == terraform_data.a.id": (["Reference to undeclared local value"], 0),
    }
    assert {condition: unknown(condition, planner) for condition in wanted} == wanted


def test_causes_for_programs(here: Path, planner: Callable[..., Any]) -> None:
    write(here, {"a.tftest.hcl": FAILING})
    events = [json.loads(line) for line in planner("test", "-json").out.splitlines()]
    (found,) = [e["diagnostic"]["because"] for e in events if e.get("type") == "diagnostic"]
    assert [(step["depth"], step["what"]) for step in found] == [
        (0, "output.o"),
        (1, "terraform_data.a.output"),
        (2, "terraform_data.a.input"),
        (3, "local.loud"),
        (4, "var.v"),
    ]
    assert found[-1] == {
        "depth": 4, "what": "var.v", "value": '"one"', "how": "default", "range": {"filename": "main.tf", "line": 3}
    }  # fmt: skip


def test_a_module_that_is_made_up_is_the_cause_and_not_covered(here: Path, planner: Callable[..., Any]) -> None:
    main = (
        'module "m" {\n  source = "./m"\n}\noutput "o" {\n  value = module.m.a != null ? module.m.a : module.m.b\n}\n'
    )
    child = "".join(f'output "{name}" {{\n  value = "really"\n}}\n' for name in "ab")
    override = "  override_module {\n    target = module.m\n    outputs = {\n      a = 1\n    }\n  }\n"
    text = FAILING.replace("{\n", "{\n" + override, 1)
    write(here, {"main.tf": main, "m/main.tf": child, "a.tftest.hcl": text})
    planner("init")
    ran = planner("test", "-no-color", "-explain=line", "-coverage")
    assert "module.m.a is 1: set by override_module (a.tftest.hcl:3)" in ran.err
    assert "really" not in ran.err
    assert "m/main.tf:1: output module.m.output.a: never evaluated" in ran.out
    (here / "a.tftest.hcl").write_text(text.replace("a = 1", ""))
    assert "module.m.b is null: left null by override_module (a.tftest.hcl:3)" in planner("test", "-explain=line").err


def test_the_option_why_knows_its_words(here: Path, planner: Callable[..., Any]) -> None:
    for word in ("perhaps", "full"):
        assert "Valid values are none and line." in planner("test", f"-explain={word}").err


@pytest.mark.parametrize("words", [("validate",), ("init",), ("get",)])
def test_broken_test_files_are_no_secret(here: Path, planner: Callable[..., Any], words: tuple[str, ...]) -> None:
    write(here, {"tests/a.tftest.hcl": "run {\n}\n", "other/b.tftest.hcl": "zip {\n}\n"})
    assert "Missing name for run" in planner(*words).err
    assert "Unsupported block type" in planner(*words, "-test-directory=other").err


@pytest.mark.parametrize("words", [("validate",), ("init",), ("test",)])
@pytest.mark.parametrize(("link", "said"), [("b.tftest.hcl", "b.tftest.hcl: "), ("tests", "tests: ")])
def test_what_cannot_be_read_is_not_passed_over(
    here: Path, planner: Callable[..., Any], words: tuple[str, ...], link: str, said: str
) -> None:
    write(here, {"a.tftest.hcl": 'run "x" {\n}\n'})
    (here / link).symlink_to(link)
    ran = planner(*words, "-no-color")
    assert ran.code == 1 and said + "Too many levels of symbolic links." in " ".join((ran.out + ran.err).split())


@pytest.mark.parametrize("words", [("validate",), ("init",), ("test",)])
@pytest.mark.parametrize("more", ["", "also {\n}\n"])
def test_test_files_are_mended_before_modules_are_installed(
    here: Path, planner: Callable[..., Any], words: tuple[str, ...], more: str
) -> None:
    call = 'module "m" {\n  source = "./m"\n}\n'
    write(here, {"main.tf": call + more, "m/main.tf": "", "a.tftest.hcl": "wrong {\n}\n"})
    ran = planner(*words, "-no-color")
    assert ran.code == 1 and 'Blocks of type "wrong" are not expected here.' in ran.out + ran.err
    assert ('Blocks of type "also"' in ran.out + ran.err) is bool(more)
    assert "not installed" not in ran.out + ran.err


PROVIDERS = {
    "main.tf": """terraform {
  required_providers {
    foo = { source = "example.com/own/foo", configuration_aliases = [foo.west] }
  }
}
provider "bar" {}
""",
    "other/main.tf": """terraform {
  required_providers {
    foo = { source = "example.com/own/other", configuration_aliases = [foo.west] }
  }
}
""",
}


OTHER_RUN = 'run "a" {\n  module {\n    source = "./other"\n  }\n}\n'


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('provider "foo" {}\nrun "a" {}\n', []),
        ('provider "bar" {}\nrun "z" {}\nrun "a" {\n  providers = {\n    foo = bar\n  }\n}\n', [5]),
        ('provider "bar" {}\nrun "a" {\n  providers = {\n    foo = bar\n  }\n}\n', []),
        (f'provider "foo" {{}}\nprovider "foo" {{\n  alias = "west"\n}}\n{OTHER_RUN}run "b" {{}}\n', [1, 2]),
        (f'provider "foo" {{}}\nrun "b" {{}}\n{OTHER_RUN}', []),
    ],
)
def test_providers_of_test_files_are_those_of_the_module(
    here: Path, planner: Callable[..., Any], text: str, lines: list[int]
) -> None:
    for name, content in {**PROVIDERS, "a.tftest.hcl": text}.items():
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text(content)
    assert planner("get").code == 0
    found = [json.loads(line) for line in planner("test", "-json").out.splitlines()]
    mismatches = [d["diagnostic"] for d in found if d.get("diagnostic", {}).get("summary") == "Provider type mismatch"]
    assert [d["range"]["start"]["line"] for d in mismatches] == lines


def test_validate_without_tests_and_of_their_modules(here: Path, planner: Callable[..., Any]) -> None:
    run = 'run "x" {\n  module {\n    source = "./m"\n  }\n  expect_failures = [local.x]\n}\n'
    write(here, {"a.tftest.hcl": run, "m/main.tf": 'output "o" {\n  value = local.nothing\n}\n'})
    assert planner("init").code == 0
    found = planner("validate").err
    assert "Reference to undeclared local value" in found
    assert "Invalid `expect_failures` reference" in found
    assert planner("validate", "-no-tests").code == 0
    assert (here / ".terraform/modules/modules.json").read_text().count('"test.a.x"') == 1


# ---------------------------------------------------------------- several files at the same time

SUITE = {
    "a.tftest.hcl": FAILING,
    "b.tftest.hcl": FAILING.replace('"x"\n ', '"ONE"\n '),
    "c.tftest.hcl": 'variables {\n  v = nothing.x\n}\nrun "x" {\n}\nrun "y" {\n}\n',
    "d.tftest.hcl": "",
    "tests/e.tftest.hcl": 'run "p" {\n  command = plan\n}\n' + FAILING,
}


def told(text: str) -> list[Any]:
    """Events without the time."""
    return [{k: v for k, v in json.loads(line).items() if k != "@timestamp"} for line in text.splitlines()]


def test_in_processes_files_come_to_the_same(here: Path, planner: Callable[..., Any]) -> None:
    write(here, SUITE)
    one, three = (planner("test", "-verbose", f"-parallelism={n}", "-json-into=into") for n in (1, 3))
    ids = ("".join(c for c in ran.out if c not in "0123456789abcdef-") for ran in (one, three))
    assert (one.code, one.err) == (three.code, three.err) == (1, one.err)
    assert len(set(ids)) == 1
    assert "Failure! 2 passed, 3 failed, 1 skipped." in one.out
    first, second = (told(planner("test", f"-parallelism={n}", "-json").out) for n in (1, 3))
    assert first == second
    assert [e["type"] for e in told((here / "into").read_text())][:3] == ["version", "test_abstract", "test_file"]
    assert "must be 1 or more" in planner("test", "-parallelism=0").err


@pytest.mark.parametrize("parallelism", [1, 2])
def test_junit(here: Path, planner: Callable[..., Any], parallelism: int) -> None:
    write(here, {**SUITE, "a.tftest.hcl": FAILING.replace('"wrong"', '"]]> \\u0001"')})
    assert planner("test", "-junit-xml=out.xml", f"-parallelism={parallelism}").code == 1
    root = ElementTree.parse(here / "out.xml").getroot()
    suites = [(s.get("name"), s.get("tests"), s.get("failures"), s.get("errors"), s.get("skipped")) for s in root]
    assert suites == [
        ("a.tftest.hcl", "1", "1", "0", "0"),
        ("b.tftest.hcl", "1", "0", "0", "0"),
        ("c.tftest.hcl", "2", "0", "1", "1"),
        ("d.tftest.hcl", "0", "0", "0", "0"),
        ("tests/e.tftest.hcl", "2", "1", "0", "0"),
    ]
    failed, *_ = root.iter("failure")
    assert failed.text == "a.tftest.hcl:3: Test assertion failed\n\n]]> \ufffd"
    assert next(root.iter("testcase")).get("classname") == "a.tftest.hcl"
    (error,) = root.iter("error")
    assert "Unknown variable" in str(error.text)
    assert planner("test", "-junit-xml=no/such/out.xml", "-filter=d.tftest.hcl").code == 1


COVERED = """
variable "n" {
  default = 1
  validation {
    condition     = var.n < 3
    error_message = "too many"
  }
}
locals {
  word = var.n > 1 ? "many" : "one"
  list = [for i in range(var.n) : i > 0 ? "b" : "a"]
}
resource "terraform_data" "a" {
  count = var.n
  input = count.index > 0 ? local.word : "first"
}
module "m" {
  for_each = toset(var.n > 1 ? ["x"] : [])
  source   = "./m"
}
"""


@pytest.mark.parametrize("parallelism", [1, 2])
def test_coverage(here: Path, planner: Callable[..., Any], parallelism: int) -> None:
    inner = 'resource "terraform_data" "in" {\n}\noutput "o" {\n  value = 1\n}\n'
    one = 'run "x" {\n  command = plan\n}\n'
    two = 'run "x" {\n  variables {\n    n = 2\n  }\n}\nrun "y" {\n  command = plan\n  variables {\n    n = 3\n  }\n'
    two += "  expect_failures = [var.n]\n}\n"
    write(here, {"main.tf": COVERED, "m/main.tf": inner, "a.tftest.hcl": one, "b.tftest.hcl": two})
    assert planner("init").code == 0
    words = (f"-parallelism={parallelism}", "-coverage", "-coverage-json=c.json", "-coverage-lcov=c.info")
    ran = planner("test", "-filter=a.tftest.hcl", *words)
    assert ran.out.partition("Coverage: ")[2].splitlines() == [
        "8 of 17 (47%). No run reached:",
        "  m/main.tf:1: resource module.m.terraform_data.in: never planned",
        "  m/main.tf:3: output module.m.output.o: never evaluated",
        "  main.tf:3: validation var.n: never failed",
        '  main.tf:9: conditional var.n > 1 ? "many" : "one": never true',
        '  main.tf:10: conditional i > 0 ? "b" : "a": never true',
        "  main.tf:13: repetition terraform_data.a.count: never none",
        '  main.tf:14: conditional count.index > 0 ? local.word : "first": never true',
        "  main.tf:17: repetition module.m.for_each: never some",
        '  main.tf:17: conditional var.n > 1 ? ["x"] : []: never true',
    ]
    assert json.loads((here / "c.json").read_text())["reached"] == 8
    event = json.loads(planner("test", "-filter=a.tftest.hcl", "-coverage", "-json").out.splitlines()[-1])
    assert event["@message"] == "Coverage: 8 of 17 (47%)."
    assert event["test_coverage"] == json.loads((here / "c.json").read_text())
    assert "BRDA:14,5,0,0\nBRDA:14,5,1,1\n" in (here / "c.info").read_text()
    everything = planner("test", *words)
    assert everything.out.partition("Coverage: ")[2].splitlines() == [
        "16 of 17 (94%). No run reached:",
        "  main.tf:13: repetition terraform_data.a.count: never none",
    ]


REPEATED = """
variable "n" {
  default = [1, 2]
}
locals {
  pairs = { for k, v in var.n : k => { for w in [v] : w => w > 1 ? "b" : "a" } if k > 0 }
  text  = "%{ for k, v in var.n }${v > k ? "more" : "less"}%{ endfor }"
  inner = [for v in(length(var.n) > 9 ? var.n : []) : v > 0 ? 1 : 2]
}
"""


def test_coverage_of_what_repeats(here: Path, planner: Callable[..., Any]) -> None:
    write(here, {"main.tf": REPEATED, "a.tftest.hcl": 'run "x" {\n  command = plan\n}\n'})
    assert planner("test", "-coverage").out.partition("Coverage: ")[2].splitlines() == [
        "3 of 8 (37%). No run reached:",
        '  main.tf:5: conditional w > 1 ? "b" : "a": never false',
        '  main.tf:6: conditional v > k ? "more" : "less": never false',
        "  main.tf:7: conditional length(var.n) > 9 ? var.n : []: never true",
        "  main.tf:7: conditional v > 0 ? 1 : 2: never true or false",
    ]


def test_coverage_of_policies(here: Path, planner: Callable[..., Any]) -> None:
    policies = 'deny("loud", A, "is loud") :- planned(A, "input", "TWO"), not mocked(A, _).\n'
    policies += 'warn("mocked", A, "is made up") :- mocked(A, "override_resource").\n'
    override = "override_resource {\n  target = terraform_data.a\n}\n"
    two = 'run "x" {\n  variables {\n    v = "two"\n  }\n}\n'
    write(here, {".planner/policies/p.dl": policies, "a.tftest.hcl": override + two, "b.tftest.hcl": two})
    told = [line for line in planner("test", "-coverage").out.splitlines() if "policy" in line]
    assert told == []
    told = [line for line in planner("test", "-coverage", "-filter=a.tftest.hcl").out.splitlines() if "policy" in line]
    assert told == [
        f"  {Path('.planner/policies/p.dl')}:1: policy loud: never objecting",
        f"  {Path('.planner/policies/p.dl')}:2: policy mocked: never silent",
    ]


def test_a_process_that_dies_is_an_error(here: Path, planner: Callable[..., Any], monkeypatch: Any) -> None:
    write(here, SUITE)
    carry_out = SuiteRunner.carry_out

    def dying(runner: SuiteRunner, index: int, *more: Any) -> Any:
        if index == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return carry_out(runner, index, *more)

    monkeypatch.setattr(SuiteRunner, "carry_out", dying)
    ran = planner("test", "-parallelism=2")
    assert ran.code == 1
    assert "Error: Test process ended" in ran.err
    assert 'b.tftest.hcl... fail\n  run "x"... fail' in ran.out
    assert "tests/e.tftest.hcl... fail" in ran.out


def test_the_order_of_many_runs_takes_facts_in_proportion() -> None:
    runs = tuple(RunFacts(done=True, changed="") for _ in range(400))
    found = order(runs)
    assert found.waits[0] == frozenset() and found.waits[399] == {398}
    assert sum(map(len, found.waits)) + sum(map(len, found.after)) == 399
    assert judge(runs).cleaning == (("", 399),)
    stopped = order((RunFacts(problems=frozenset({"error"})), *runs[1:]))
    assert stopped.skipped == set(range(1, 400))


# ---------------------------------------------------------------- interrupts

SLOW = """
resource "terraform_data" "first" {}
resource "terraform_data" "slow" {
  input = terraform_data.first.id
  provisioner "local-exec" {
    command = "echo $$ > started; while [ ! -e go ]; do sleep 0.05; done"
  }
}
"""
RUNS = 'run "x" {\n}\nrun "y" {\n}\n'


def started(folder: Path, *words: str) -> Popen[str]:
    process = Popen(
        [sys.executable, "-m", "planner", "test", *words], cwd=folder, env={**os.environ, "NO_COLOR": "1"},
        start_new_session=True, stdout=PIPE, stderr=STDOUT, text=True,
    )  # fmt: skip
    wait_for(folder / "started", process)
    return process


def wait_for(path: Path, process: Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("words", [(), ("-parallelism=2", "-filter=a.tftest.hcl", "-filter=b.tftest.hcl")])
def test_one_interrupt_ends_after_the_run(tmp_path: Path, words: tuple[str, ...]) -> None:
    b = 'run "w" {\n  module {\n    source = "./slow"\n  }\n}\n' if words else RUNS
    write(tmp_path, {"main.tf": SLOW, "a.tftest.hcl": RUNS, "b.tftest.hcl": b + RUNS.split("\n", 2)[2] * bool(words)})
    write(tmp_path, {"main.tf": SLOW, "slow/main.tf": SLOW.replace("started", "also")})
    run([sys.executable, "-m", "planner", "init"], cwd=tmp_path, check=True, capture_output=True)
    process = started(tmp_path, *words)
    if words:
        wait_for(tmp_path / "also", process)
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    said = ""
    while "Gracefully shutting down" not in said:
        said += process.stdout.readline()
    (tmp_path / "go").touch()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert 'a.tftest.hcl... pass\n  run "x"... pass\n  run "y"... skip\n' in out
    assert f"Success! {2 if words else 1} passed, 0 failed, {2 if words else 3} skipped." in out
    assert not (tmp_path / "errored_test.tfstate").exists()


@pytest.mark.parametrize("words", [(), ("-parallelism=2",)])
def test_two_interrupts_end_at_once_and_tell_what_is_there(tmp_path: Path, words: tuple[str, ...]) -> None:
    write(tmp_path, {"main.tf": SLOW, "a.tftest.hcl": RUNS, "b.tftest.hcl": ""})
    process = started(tmp_path, *words)
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    while "Gracefully shutting down" not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Two interrupts received." in out
    assert "planner was interrupted while executing a.tftest.hcl" in out
    assert "  - terraform_data.first\n  - terraform_data.slow\n" in out
    assert "passed" not in out
    assert not (tmp_path / "errored_test.tfstate").exists()  # it knows of nothing that was finished


def test_two_interrupts_tell_which_run_makes_what(tmp_path: Path) -> None:
    slow = SLOW.replace("first", "f").replace("$$ > started", "> started-m")
    runs = 'test {\n  parallel = true\n}\nrun "x" {\n}\nrun "y" {\n  module {\n    source = "./m"\n  }\n}\n'
    write(tmp_path, {"main.tf": SLOW, "m/main.tf": slow, "a.plannertest.hcl": runs})
    run([sys.executable, "-m", "planner", "init"], cwd=tmp_path, check=True, capture_output=True)
    process = started(tmp_path)
    wait_for(tmp_path / "started-m", process)
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    while "Gracefully shutting down" not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGINT)
    said = " ".join(process.communicate(timeout=60)[0].split())
    making, rest = "in the process of creating the following resources for", "and they may not have been destroyed:"
    assert f'{making} "x" from the module under test, {rest} - terraform_data.first - terraform_data.slow' in said
    assert f'{making} "y" from "./m", {rest} - terraform_data.f - terraform_data.slow' in said


DESTROYING = """
resource "terraform_data" "a" {
  provisioner "local-exec" {
    when    = destroy
    command = "echo $$ > started; sleep 100"
  }
}
"""


@pytest.mark.parametrize("words", [(), ("-parallelism=2",)])
def test_two_interrupts_while_cleaning_up_leave_the_state_and_no_command(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    runs = 'run "x" {\n}\nrun "y" {\n  module {\n    source = "./m"\n  }\n}\n'
    made = 'resource "terraform_data" "m" {\n}\n' + DESTROYING
    write(tmp_path, {"main.tf": DESTROYING, "m/main.tf": made, "a.tftest.hcl": runs, "b.tftest.hcl": ""})
    (tmp_path / "errored_test.2.tfstate").write_text("of another time")
    run([sys.executable, "-m", "planner", "init"], cwd=tmp_path, check=True, capture_output=True)
    process = started(tmp_path, *words)
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    while "Gracefully shutting down" not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    names = {}
    for path in ("errored_test.tfstate", "errored_test.3.tfstate"):
        assert f"Writing state to file: {path}\n" in out
        names[path] = sorted(r["name"] for r in json.loads((tmp_path / path).read_text())["resources"])
    assert sorted(names.values()) == [["a"], ["a", "m"]]
    assert (tmp_path / "errored_test.2.tfstate").read_text() == "of another time"
    command = int((tmp_path / "started").read_text())
    while True:  # a process that was killed may be there a moment more, until somebody looks at how it ended
        try:
            os.kill(command, 0)
            if "Z" in Path(f"/proc/{command}/stat").read_text().split()[2]:
                break
        except (ProcessLookupError, FileNotFoundError):
            break
        time.sleep(0.01)


def test_names_of_files_do_not_steer_a_terminal(here: Path, planner: Callable[..., Any]) -> None:
    write(here, {"a\nSuccess! 9 passed\x1b[31m.tftest.hcl": FAILING})
    out = planner("test", "-no-color").out
    assert "\x1b" not in out and "\nSuccess!" not in out


def test_what_is_no_file_is_no_test_file(here: Path, planner: Callable[..., Any]) -> None:
    write(here, {"dir.tftest.hcl/x": ""})
    os.mkfifo("a.tftest.hcl")
    ran = planner("test", "-no-color")
    assert ran.code == 1
    assert "a.tftest.hcl: Not a regular file." in ran.err
    os.unlink("a.tftest.hcl")
    assert planner("test").code == 0
