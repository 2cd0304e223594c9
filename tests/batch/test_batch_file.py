"""planner.batch.hcl: repeated units, templates, local values, groups, includes, and what stands around a unit."""

from __future__ import annotations

import json
import os
import select
from pathlib import Path
from typing import Any

import pytest
from batch.fleets import BACKEND, batch, write

TAKES = """
variable "name" { default = "none" }
variable "up" { default = null }
variable "region" { default = "nowhere" }
terraform {
  backend "local" {}
}
resource "terraform_data" "x" { input = jsonencode([var.name, var.up, var.region]) }
output "name" { value = var.name }
output "id" { value = terraform_data.x.id }
"""


def made(root: Path, name: str) -> Any:
    """What the object of a unit was made with."""
    state = json.loads((root / name / "terraform.tfstate").read_text())
    return json.loads(state["resources"][0]["instances"][0]["attributes"]["input"]["value"])


def fleet(root: Path, file: str, *folders: str) -> None:
    write(root, {"planner.batch.hcl": file, **{f"{name}/main.tf": TAKES for name in folders}})


def applied(root: Path, *words: str) -> Any:
    ran = batch(root, "apply", "-auto-approve", "-json", *words)
    assert ran.code == 0, ran.out + ran.errors
    return ran


# ---------------------------------------------------------------- repeated units

REPEATED = """
locals {
  regions = { eu = "Europe", us = upper("america") }
  folder  = "${"net"}"
}
unit "net" {
  for_each  = local.regions
  path      = "${local.folder}/${each.key}"
  tags      = [each.key]
  variables = { name = "net-${each.key}", region = each.value }
}
unit "app" {
  for_each = toset(keys(local.regions))
  path     = "app/${each.value}"
  inputs   = { up = "${unit.net[each.key].name} of ${local.regions[each.key]}" }
}
unit "last" {
  inputs     = { up = unit.net["eu"].name, name = join(",", values(unit.app)[*].name) }
  depends_on = [unit.net["us"]]
}
"""


def test_a_unit_is_repeated(tmp_path: Path) -> None:
    fleet(tmp_path, REPEATED, "net/eu", "net/us", "app/eu", "app/us", "last")
    document = batch(tmp_path, "graph", "-json").json
    assert {node["unit"]: node["tags"] for node in document["nodes"]} == {
        "net/eu": ["eu"],
        "net/us": ["us"],
        "app/eu": [],
        "app/us": [],
        "last": [],
    }
    assert sorted(document["edges"]) == [
        ["app/eu", "net/eu"],
        ["app/us", "net/us"],
        ["last", "app/eu"],
        ["last", "app/us"],
        ["last", "net/eu"],
        ["last", "net/us"],
    ]
    applied(tmp_path)
    assert made(tmp_path, "net/us") == ["net-us", None, "AMERICA"]
    assert made(tmp_path, "app/us") == ["none", "net-us of AMERICA", "nowhere"]
    assert made(tmp_path, "last")[:2] == ["none,none", "net-eu"]
    ran = batch(tmp_path, "why", "app/eu", "net/eu")
    assert "planner.batch.hcl:15" in ran.out


def test_a_template_holds_where_the_unit_says_nothing(tmp_path: Path) -> None:
    file = """
template "service" {
  path      = "service"
  workspace = each.key
  tags      = ["web"]
  variables = { name = each.key, region = "template" }
}
unit "s" {
  for_each  = toset(["a", "b"])
  template  = "service"
  variables = { region = "unit-${each.key}" }
}
"""
    fleet(tmp_path, file, "service")
    assert batch(tmp_path, "graph", "-json", "tag:web").json["nodes"][0]["unit"] == "s/a"
    applied(tmp_path)
    state = json.loads((tmp_path / "service/terraform.tfstate.d/b/terraform.tfstate").read_text())
    assert "unit-b" in json.dumps(state)


def test_inputs_of_a_group_are_for_those_that_declare_them(tmp_path: Path) -> None:
    file = """
unit "net" { variables = { name = "net" } }
unit "app" {}
unit "plain" {}
unit "own" { inputs = { up = unit.net.id } }
group "all" {
  units  = ["*"]
  inputs = { up = unit.net.name, region = "group" }
}
"""
    fleet(tmp_path, file, "net", "app", "own")
    write(tmp_path, {"plain/main.tf": BACKEND})
    assert batch(tmp_path, "graph", "-json").json["edges"] == [["app", "net"], ["own", "net"]]
    ran = applied(tmp_path)
    assert made(tmp_path, "app") == ["none", "net", "group"]
    assert made(tmp_path, "net") == ["net", None, "group"]
    assert made(tmp_path, "own")[1] not in ("net", None)
    assert "undeclared" not in ran.out and "Input does not match a unit" not in ran.out
    fleet(tmp_path, file.replace("region =", "regoin ="), "net", "app", "own")
    said = " ".join(batch(tmp_path, "plan").out.split())
    assert "A group sets the variable regoin (planner.batch.hcl:8), but none of its units declares it." in said


def test_a_group_is_repeated(tmp_path: Path) -> None:
    file = """
locals { regions = { eu = "Europe", us = "America" } }
unit "net" {
  for_each  = local.regions
  variables = { name = each.key }
}
unit "app-eu" {}
unit "app-us" { inputs = { up = "mine" } }
group "in" {
  for_each = local.regions
  units    = ["app-${each.key}"]
  tags     = [lower(each.value)]
  inputs   = { up = "from ${unit.net[each.key].name}", region = "${each.value}${local.regions["eu"]}" }
}
"""
    fleet(tmp_path, file, "net/eu", "net/us", "app-eu", "app-us")
    document = batch(tmp_path, "graph", "-json", "group:in/eu + tag:america").json
    assert [node["unit"] for node in document["nodes"]] == ["app-us", "app-eu"]
    assert batch(tmp_path, "graph", "-json").json["edges"] == [["app-eu", "net/eu"]]
    applied(tmp_path)
    assert made(tmp_path, "app-eu") == ["none", "from eu", "EuropeEurope"]
    assert made(tmp_path, "app-us") == ["none", "mine", "AmericaEurope"]


def test_files_are_included(tmp_path: Path) -> None:
    write(tmp_path, {
        "teams/one.batch.hcl": 'unit "a" {}\nlocals { x = "from one" }\n',
        "teams/two.batch.hcl": 'include "one.batch.hcl" {}\nunit "b" {\n  variables = { name = local.x }\n}\n',
    })  # fmt: skip
    fleet(tmp_path, 'include "teams/*.batch.hcl" {}\n', "a", "b")
    applied(tmp_path)
    assert made(tmp_path, "b")[0] == "from one"
    write(tmp_path, {"teams/one.batch.hcl": 'unit "a" {}\nlocals { x = "changed" }\n'})
    assert batch(tmp_path, "plan", "-json").outcomes == {"a": "unchanged", "b": "changes"}
    ran = batch(tmp_path, "query", "-json", 'reads_file("a", F), ends_with(F, "one.batch.hcl")')
    assert ran.json["rows"] == [["teams/one.batch.hcl"]]


def test_there_is_a_maximum_of_included_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.workflows.batch.file_parts.MOST", 2)
    write(tmp_path, {"one.batch.hcl": 'unit "a" {}\n', "two.batch.hcl": 'unit "b" {}\n'})
    fleet(tmp_path, 'include "*.batch.hcl" {}\n', "a", "b")
    assert batch(tmp_path, "validate").code == 0
    write(tmp_path, {"three.batch.hcl": "locals { x = 1 }\n"})
    assert "can include at most 2 other files" in batch(tmp_path, "validate").errors


# ---------------------------------------------------------------- around a unit


def test_hooks(tmp_path: Path) -> None:
    file = """
group "all" {
  units = ["*"]
  hook "first" {
    when     = "before"
    commands = ["apply"]
    run      = ["sh", "-c", "echo before $PLANNER_UNIT >> ../log"]
  }
  hook "mine" {
    when = "after"
    run  = ["false"]
  }
}
unit "a" {
  hook "mine" {
    when     = "after"
    commands = ["apply"]
    run      = ["sh", "-c", "echo after >> log"]
    folder   = ".."
  }
  hook "sorry" {
    when    = "error"
    matches = ["boom"]
    run     = ["sh", "-c", "echo error >> ../log"]
  }
}
"""
    fleet(tmp_path, file, "a")
    assert batch(tmp_path, "plan").code == 0
    applied(tmp_path)
    assert (tmp_path / "log").read_text() == "before a\nafter\n"
    boom = 'precondition {\n      condition     = var.name == "x"\n      error_message = "boom"\n    }'
    more = f'resource "terraform_data" "y" {{\n  lifecycle {{\n    {boom}\n  }}\n}}\n'
    write(tmp_path, {"a/more.tf": more})
    assert batch(tmp_path, "apply", "-auto-approve").code == 1
    assert (tmp_path / "log").read_text().splitlines()[-1] == "error"


def test_a_hook_that_fails_keeps_the_unit_from_being_run(tmp_path: Path) -> None:
    hook = 'hook "h" {\n  when = "before"\n  run = ["sh", "-c", "echo reason; exit 3"]\n}\n'
    fleet(tmp_path, f'unit "a" {{\n{hook}}}\nunit "b" {{\n  depends_on = [unit.a]\n}}\n', "a", "b")
    ran = batch(tmp_path, "apply", "-auto-approve", "-json")
    assert ran.outcomes == {"a": "failed", "b": "skipped"}
    assert "exited with 3.\n\nreason" in ran.unit("a")["diagnostics"][0]["detail"]
    assert not (tmp_path / "a/terraform.tfstate").exists()


def test_errors_that_a_pattern_matches_are_tried_again(tmp_path: Path) -> None:
    words = '["sh", "-c", "echo x >> ../tries; test $(wc -l < ../tries) -ge 3"]'
    count = f'hook "n" {{\n  when = "before"\n  run = {words}\n}}'
    for matches, times, code in (("exited with 1", 3, 0), ("exited with 1", 2, 1), ("something else", 3, 1)):
        retry = f'retry {{\n  matches = ["{matches}"]\n  times = {times}\n}}\n'
        fleet(tmp_path, f'unit "a" {{\n{count}\n{retry}}}\n', "a")
        (tmp_path / "tries").unlink(missing_ok=True)
        assert batch(tmp_path, "apply", "-auto-approve").code == code
        assert (tmp_path / "tries").read_text().count("x") == (1 if matches == "something else" else times)


def test_a_time_limit_stops_a_unit(tmp_path: Path) -> None:
    slow = '  provisioner "local-exec" {\n    command = "sleep 60"\n  }\n'
    fleet(tmp_path, 'unit "a" {\n  time_limit = "0.5s"\n}\nunit "b" {}\n', "b")
    write(tmp_path, {"a/main.tf": BACKEND + f'resource "terraform_data" "x" {{\n{slow}}}\n'})
    ran = batch(tmp_path, "apply", "-auto-approve", "-json")
    assert ran.outcomes == {"a": "failed", "b": "applied"}
    assert ran.unit("a")["diagnostics"][0]["summary"] == "A unit took too long"


SECRET = "s3cr3t-of-the-day"


def test_credentials_of_a_unit_come_from_a_program_and_are_nowhere_to_be_found(tmp_path: Path) -> None:
    write(tmp_path, {"auth.sh": f'echo "{{\\"TF_VAR_region\\": \\"$1-$STAGE\\", \\"TOKEN\\": \\"{SECRET}\\"}}"\n'})
    file = f"""
unit "a" {{
  auth        = ["sh", "../auth.sh", "eu"]
  environment = {{ STAGE = "dev" }}
  hook "h" {{
    when     = "after"
    commands = ["apply"]
    run      = ["sh", "-c", "test $TOKEN = {SECRET}"]
  }}
}}
unit "b" {{}}
"""
    fleet(tmp_path, file, "a", "b")
    applied(tmp_path)
    assert made(tmp_path, "a")[2] == "eu-dev" and made(tmp_path, "b")[2] == "nowhere"
    assert "TOKEN" not in os.environ
    kept = [
        path for path in tmp_path.rglob("*") if path.is_file() and path.name not in ("auth.sh", "planner.batch.hcl")
    ]
    assert [path for path in kept if SECRET in path.read_bytes().decode("utf-8", "replace")] == []


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("exit 7", "exited with 7"),
        ("echo no", "printed no JSON"),
        ("echo [1]", "must print a JSON object of strings"),
        ('echo \'{"a=b": "c"}\'', "a name that is not a valid variable name"),
    ],
)
def test_credentials_that_cannot_be_had_fail_the_unit(tmp_path: Path, program: str, words: str) -> None:
    write(tmp_path, {"auth.sh": f"{program}\necho {SECRET} >&2\n"})
    fleet(tmp_path, 'unit "a" {\n  auth = ["sh", "../auth.sh"]\n}\nunit "b" {}\n', "a", "b")
    ran = batch(tmp_path, "plan", "-json")
    assert ran.outcomes == {"a": "failed", "b": "changes"}
    assert words in ran.unit("a")["diagnostics"][0]["detail"] and SECRET not in ran.out


def test_generated_files(tmp_path: Path) -> None:
    file = 'unit "a" {\n  generate "more.tf" {\n    content = "output \\"more\\" { value = 7 }"\n  }\n}\n'
    fleet(tmp_path, file, "a")
    applied(tmp_path)
    assert json.loads((tmp_path / "a/terraform.tfstate").read_text())["outputs"]["more"]["value"] == 7
    assert (tmp_path / "a/more.tf").read_text().startswith("# Written by planner from planner.batch.hcl")
    fleet(tmp_path, 'unit "a" {}\n', "a")
    batch(tmp_path, "graph")
    assert not (tmp_path / "a/more.tf").exists()
    write(tmp_path, {"a/more.tf": "# mine\n"})
    fleet(tmp_path, file, "a")
    ran = batch(tmp_path, "plan")
    assert ran.code == 1 and "A file would be overwritten" in ran.errors
    fleet(tmp_path, file.replace("content", 'if_exists = "skip"\n    content'), "a")
    assert batch(tmp_path, "plan").code == 0 and (tmp_path / "a/more.tf").read_text() == "# mine\n"


# ---------------------------------------------------------------- what is wrong

WRONG = {
    'unit "a" { template = "servic" }\ntemplate "service" {}\n': 'There is no template servic. Did you mean "service"?',
    'unit "a" { tags = [local.tag] }\nlocals { tags = 1 }\n': 'No local value is named tag. Did you mean "tags"?',
    "locals {\n  x = local.y\n  y = local.x\n}\nunit \"a\" { tags = [local.x] }\n": "local.x depends on itself",
    'unit "a" { tags = [each.key] }\n': "each.key is not valid here",
    'unit "a" { variables = { name = unit.b.id } }\n': "only in inputs",
    'unit "a" { inputs = { name = unit.n["x"].id } }\nunit "n" { for_each = toset(["y"]) }\n': 'unit.n has no "x"',
    'unit "a" { for_each = ["x"] }\n': "for_each must be a map or a set of strings",
    'unit "a" { for_each = toset([timestamp()]) }\nunit "a" {}\n': "Duplicate unit",
    'include "nowhere.hcl" {}\nunit "a" {}\n': "No file matches nowhere.hcl",
    'include "../outside.hcl" {}\nunit "a" {}\n': "lies outside",
    'unit "a" { time_limit = "soon" }\n': '"soon" is not a valid time',
    'unit "a" {\n  hook "h" {\n    when = "befor"\n    run = ["x"]\n  }\n}\n': 'Did you mean "before"?',
    'unit "a" {\n  hook "h" {\n    when = "after"\n    run = ["x"]\n    commands = ["aply"]\n  }\n}\n': 'mean "apply"?',
    'unit "a" {\n  hook "h" {\n    when = "after"\n    run = []\n  }\n}\n': 'The argument "run" of the hook h is empty',
    'unit "a" {\n  retry {\n    matches = ["("]\n    times = 2\n  }\n}\n': "not a regular expression",
    'unit "a" {\n  retry {\n    matches = ["x"]\n    times = 0\n  }\n}\n': "from 1 to 100",
    'unit "a" {\n  generate "../x" {\n    content = ""\n  }\n}\n': "Expected a file in the unit's directory",
    'unit "a" { environment = { "a=b" = "c" } }\n': "the name must not be empty or contain an equals sign",
    'unit "a" { environment = ["x"] }\n': "An object is required",
    'unit "a" { auth = "x" }\n': "Expected a list in brackets",
    'unit "a" { tags = [null] }\n': "Expected a string",
    'unit "a" { tagz = [] }\n': 'Did you mean "tags"?',
    'unitt "a" {}\n': 'Did you mean "unit"?',
    'unit "a" {}\ngroup "g" { inputs = { up = unit.b.id } }\n': 'The argument "units" is required',
    'unit "a" {}\ngroup "g" {\n  units = ["a"]\n  inputs = { up = unit.b.id }\n}\n': "There is no unit b",
    'unit "a" { inputs = { name = unit.a[0] } }\n': "A unit waits for itself",
    'unit "a" { inputs = { name = unit } }\n': "Only local, each, and outputs of other units",
}  # fmt: skip


@pytest.mark.parametrize("file", WRONG)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, file: str) -> None:
    fleet(tmp_path, file, "a", "n/y")
    write(tmp_path.parent, {"outside.hcl": 'unit "o" {}\n'})
    ran = batch(tmp_path, "graph")
    words = WRONG[file]
    assert ran.code == 1 and words in " ".join(ran.errors.split())
    assert "planner.batch.hcl line" in ran.errors or "waits for itself" in ran.errors


def test_what_credentials_hold_is_not_shown_when_a_hook_prints_it(tmp_path: Path) -> None:
    write(tmp_path, {"auth.sh": f'echo "{{\\"TOKEN\\": \\"{SECRET}\\"}}"\n'})
    for when, run in (("before", "echo it is $TOKEN; exit 3"), ("after", "echo it is $TOKEN")):
        hook = f'hook "h" {{\n  when = "{when}"\n  run = ["sh", "-c", "{run}"]\n}}\n'
        fleet(tmp_path, f'unit "a" {{\n  auth = ["sh", "../auth.sh"]\n{hook}}}\n', "a")
        ran = batch(tmp_path, "apply", "-auto-approve", "-show", "-json")
        assert ran.code == (1 if when == "before" else 0)
        kept = "".join(
            path.read_text() for path in (tmp_path / ".planner").rglob("*") if path.suffix in (".txt", ".jsonl")
        )
        assert SECRET not in ran.out + ran.errors + kept
        assert "it is (hidden)" in kept


@pytest.mark.slow
def test_what_takes_too_long_ends_with_all_that_it_began(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "held")
    held = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)
    stubborn = "exec 3> ../held; trap '' TERM; (echo >&3; sleep 60) & wait"
    hook = f'hook "h" {{\n  when = "before"\n  run = ["sh", "-c", "{stubborn}"]\n}}\n'
    fleet(tmp_path, f'unit "a" {{\n  time_limit = "0.5s"\n{hook}}}\n', "a")
    ran = batch(tmp_path, "plan", "-json")
    assert ran.unit("a")["diagnostics"][0]["summary"] == "A hook took too long"
    assert os.read(held, 9) == b"\n"
    assert select.select([held], [], [], 10)[0] and os.read(held, 9) == b""  # nobody has it open any more
    os.close(held)


def test_of_what_a_program_prints_the_end_is_kept(tmp_path: Path) -> None:
    from planner.workflows.batch.hooks import MOST, run_program

    ran = run_program(["sh", "-c", "yes | head -c 9000000; echo the end; exit 3"], str(tmp_path), os.environ, 60, True)
    assert ran.code == 3 and not ran.is_late
    assert len(ran.output) == MOST and ran.output.endswith(b"the end\n")


def test_a_program_that_says_nothing_more_is_waited_for(tmp_path: Path) -> None:
    from planner.workflows.batch.hooks import run_program

    words = ["sh", "-c", "exec > /dev/null 2>&1; sleep 0.3; exit 4"]
    assert run_program(words, str(tmp_path), os.environ, None, True).code == 4
    late = run_program(["sh", "-c", "exec > /dev/null 2>&1; sleep 60"], str(tmp_path), os.environ, 0.2, True)
    assert late.is_late and late.code != 0


@pytest.mark.parametrize("own", ["auth = []", "auth = null"])
def test_a_unit_can_do_without_what_its_group_says(tmp_path: Path, own: str) -> None:
    group = 'group "g" {\n  units = ["a"]\n  auth = ["false"]\n  time_limit = "1s"\n}\n'
    fleet(tmp_path, f'unit "a" {{\n  {own}\n}}\n{group}', "a")
    assert batch(tmp_path, "plan").code == (0 if own == "auth = []" else 1)


HOOK = 'unit "a" {{\n  hook "h" {{\n    when = "{}"\n    run = ["true"]\n    {}\n  }}\n}}\n'


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (HOOK.format("after", 'always = "yes"'), "Expected true or false"),
        (HOOK.format("before", 'matches = ["x"]'), "only hooks that run on errors can have it"),
        (
            'unit "a" {}\ngroup "g" {\n  units = ["aa"]\n}\n',
            'aa in the group g matches no unit. Did you mean "a"?',
        ),
        (
            'unit "a" {\n  for_each = ["x"]\n  path = "a"\n}\ngroup "g" {\n  units = ["a"]\n}\n',
            "Its units with for_each are named",
        ),
        ('unit "a" {\n  generate ".terraform" {\n    content = ""\n  }\n}\n', "Invalid file name"),
    ],
)
def test_nothing_that_is_named_is_ignored(tmp_path: Path, file: str, words: str) -> None:
    fleet(tmp_path, file, "a")
    ran = batch(tmp_path, "plan")
    assert ran.code == 1 and words in " ".join(ran.errors.split())


def test_a_pattern_of_a_group_that_means_nothing_is_told(tmp_path: Path) -> None:
    fleet(tmp_path, 'unit "a" {}\ngroup "g" {\n  units = ["b/*"]\n}\n', "a")
    ran = batch(tmp_path, "plan")
    assert ran.code == 0 and "b/* in the group g matches no unit" in " ".join(ran.out.split())


def test_a_unit_may_be_named_by_an_absolute_path(tmp_path: Path) -> None:
    fleet(tmp_path, f'unit "x" {{\n  path = "{tmp_path}/a"\n}}\n', "a")
    assert batch(tmp_path, "graph", "-json").json["nodes"][0]["folder"] == "a"
    assert batch(tmp_path, "plan", "-json").outcomes == {"x": "changes"}
