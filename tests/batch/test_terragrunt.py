"""Repositories of Terragrunt's: units, edges, inputs, includes, generated files, hooks, stacks."""

from __future__ import annotations

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from batch.fleets import batch, write

MODULE = """
variable "name" { type = string }
variable "env" { default = "none" }
variable "up" { default = null }
variable "tags" {
  type    = map(string)
  default = {}
}
resource "terraform_data" "x" {
  input = jsonencode([var.name, var.env, var.up, var.tags])
}
output "name" { value = var.name }
output "id" { value = terraform_data.x.id }
"""
ROOT = """
locals {
  env = read_terragrunt_config(find_in_parent_folders("env.hcl")).locals.env
}
remote_state {
  backend = "local"
  config = {
    path = "${get_parent_terragrunt_dir()}/states/${path_relative_to_include()}.tfstate"
  }
  generate = {
    path      = "backend.tf"
    if_exists = "overwrite_terragrunt"
  }
}
inputs = {
  env      = local.env
  unheard  = 1
}
"""
INCLUDE = 'include "root" {\n  path = find_in_parent_folders("root.hcl")\n}\n'
SOURCE = 'terraform {\n  source = "../../modules//thing"\n}\n'


def unit(inputs: str, more: str = "") -> str:
    return f"{INCLUDE}{SOURCE}{more}\ninputs = {{\n{inputs}\n}}\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    write(tmp_path, {
        "root.hcl": ROOT,
        "modules/thing/main.tf": MODULE,
        "live/env.hcl": 'locals {\n  env = "dev"\n}\n',
        "live/a/terragrunt.hcl": unit('name = "a"'),
        "live/b/terragrunt.hcl": unit(
            'name = "b"\nup = dependency.a.outputs.name\ntags = { a = dependency.a.outputs.id }',
            'dependency "a" {\n  config_path = "../a"\n  mock_outputs = { name = "mock", id = "mock" }\n}\n',
        ),
        "live/c/terragrunt.hcl": unit('name = "c"', 'dependencies {\n  paths = ["../b"]\n}\n'),
    })  # fmt: skip
    return tmp_path


def edges(root: Path, *words: str) -> list[list[str]]:
    found: list[list[str]] = batch(root, "graph", "-json", *words).json["edges"]
    return found


def made(root: Path, unit: str) -> Any:
    """What the object of a unit was made with."""
    state = json.loads((root / "states" / f"{unit}.tfstate").read_text())
    return json.loads(state["resources"][0]["instances"][0]["attributes"]["input"]["value"])


def problem(root: Path, name: str = "live/a") -> str:
    """What is said of the first error of a unit."""
    ran = batch(root, "plan", "-json")
    assert ran.code == 1
    first = ran.unit(name)["diagnostics"][0]
    return f"{first['summary']}: {first['detail']}"


def test_units_and_edges_are_those_of_the_files(repository: Path) -> None:
    nodes = batch(repository, "graph", "-json").json["nodes"]
    assert [(node["unit"], node["wave"]) for node in nodes] == [("live/a", 0), ("live/b", 1), ("live/c", 2)]
    assert edges(repository) == [["live/b", "live/a"], ["live/c", "live/b"]]
    ran = batch(repository, "why", "live/c", "live/a")
    assert "the dependency block a of live/b names live/a\n" in ran.out
    assert 'live/b/terragrunt.hcl:7: dependency "a" {' in ran.out
    assert "the dependencies block of live/c names live/b" in ran.out


def test_a_plan_has_unknown_values_and_no_mocks_and_apply_has_outputs(repository: Path) -> None:
    ran = batch(repository, "plan", "-json", "-show")
    assert ran.outcomes == {"live/a": "changes", "live/b": "incomplete", "live/c": "changes"}
    assert "mock" not in ran.out
    assert batch(repository, "apply", "-auto-approve").code == 0
    name, env, up, tags = made(repository, "live/b")
    assert (name, env, up) == ("b", "dev", "a") and set(tags) == {"a"} and tags["a"] != "mock"
    assert set(batch(repository, "plan", "-json").outcomes.values()) == {"unchanged"}


def test_what_a_file_reads_and_what_the_environment_says_counts_for_the_next_plan(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(repository, {"live/env.hcl": 'locals {\n  env = get_env("WHERE", "dev")\n}\n'})
    assert batch(repository, "apply", "-auto-approve").code == 0
    batch(repository, "plan")
    again = batch(repository, "plan", "-json", "live/a")
    assert again.unit("live/a")["outcome"] == "unchanged" and again.unit("live/a")["reused"]
    monkeypatch.setenv("WHERE", "prod")
    assert batch(repository, "plan", "-json").outcomes["live/a"] == "changes"
    monkeypatch.delenv("WHERE")
    write(repository, {"modules/thing/more.tf": 'output "more" { value = 1 }\n'})
    assert batch(repository, "plan", "-json").outcomes["live/a"] == "changes"


def test_variables_of_the_environment_win_over_inputs(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_VAR_env", "mine")
    assert batch(repository, "apply", "-auto-approve", "live/a").code == 0
    assert made(repository, "live/a")[1] == "mine"


def test_a_folder_that_is_named_knows_what_lies_outside(repository: Path) -> None:
    assert batch(repository, "apply", "-auto-approve", "live/a").code == 0
    ran = batch(repository / "live/b", "plan", "-json")
    assert ran.outcomes == {".": "changes"}
    assert batch(repository / "live/b", "apply", "-auto-approve").code == 0
    assert made(repository, "live/b")[2] == "a"


# ---------------------------------------------------------------- includes and merging

MERGES = {
    "shallow": {"tags": {"b": "child"}, "list": None},
    "deep": {"tags": {"a": "parent", "b": "child"}, "list": None},
    "no_merge": {"tags": {"b": "child"}, "env": "none"},
}


@pytest.mark.parametrize("strategy", MERGES)
def test_included_files_are_merged(tmp_path: Path, strategy: str) -> None:
    write(tmp_path, {
        "common.hcl": 'inputs = {\n  env = "parent"\n  tags = { a = "parent", b = "parent" }\n}\n',
        "state.hcl": ROOT.replace('find_in_parent_folders("env.hcl")', '"nothing", { locals = { env = null } }')
        .replace("env      = local.env", ""),
        "modules/thing/main.tf": MODULE,
        "live/a/terragrunt.hcl": f"""
include "state" {{ path = find_in_parent_folders("state.hcl") }}
include "common" {{
  path           = find_in_parent_folders("common.hcl")
  merge_strategy = "{strategy}"
}}
{SOURCE}
inputs = {{
  name = "a"
  tags = {{ b = "child" }}
}}
""",
    })  # fmt: skip
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    _, env, _, tags = made(tmp_path, "live/a")
    assert tags == MERGES[strategy]["tags"]
    assert env == MERGES[strategy].get("env", "parent")


def test_an_include_that_is_exposed_can_be_named(repository: Path) -> None:
    text = unit('name = "a-${include.root.locals.env}-${include.root.inputs.unheard}"')
    write(repository, {"live/a/terragrunt.hcl": text.replace('"root.hcl")', '"root.hcl")\n  expose = true')})
    assert batch(repository, "apply", "-auto-approve", "live/a").code == 0
    assert made(repository, "live/a")[0] == "a-dev-1"


def test_dependencies_of_an_included_file_and_of_the_unit_are_seen_by_both(repository: Path) -> None:
    """And the unit's word wins: the included file may leave the folder open."""
    common = 'dependency "a" {\n  config_path = ""\n}\ninputs = {\n  up = dependency.a.outputs.name\n}\n'
    include = 'include "common" {\n  path = "../../common.hcl"\n}\n'
    own = 'dependency "a" {\n  config_path = "../a"\n}\n'
    write(repository, {"common.hcl": common, "live/b/terragrunt.hcl": unit('name = "b"', include + own)})
    assert edges(repository) == [["live/b", "live/a"], ["live/c", "live/b"]]
    assert batch(repository, "apply", "-auto-approve").code == 0
    assert made(repository, "live/b")[2] == "a"


def test_the_old_form_of_an_include_has_no_name(repository: Path) -> None:
    write(repository, {"live/a/terragrunt.hcl": unit('name = "a"').replace('include "root"', "include")})
    assert batch(repository, "plan", "-json", "live/a").outcomes == {"live/a": "changes"}


# ---------------------------------------------------------------- functions

FUNCTIONS = {
    "get_terragrunt_dir()": "{root}/live/a",
    "get_original_terragrunt_dir()": "{root}/live/a",
    "get_parent_terragrunt_dir()": "{root}",
    'get_parent_terragrunt_dir("root")': "{root}",
    "path_relative_to_include()": "live/a",
    "path_relative_from_include()": "../..",
    "get_repo_root()": "{root}",
    "get_path_from_repo_root()": "live/a",
    "get_path_to_repo_root()": "../..",
    'get_env("NOBODY_SETS_THIS", "otherwise")': "otherwise",
    'run_cmd("--terragrunt-quiet", "sh", "-c", "pwd")': "{root}/live/a",
    "get_platform()": "linux",
    'find_in_parent_folders("none.hcl", "fallback")': "fallback",
    'find_in_parent_folders("live")': "{root}/live",
    'join(",", get_terraform_commands_that_need_vars())': "apply,console,destroy,import,plan,push,refresh",
    'jsondecode(read_tfvars_file("x.tfvars")).x': "7",
    'mark_as_read("x.tfvars")': "x.tfvars",
    'tostring(constraint_check("1.2.3", ">= 1.0"))': "true",
    "jsonencode(deep_merge({ a = [1] }, { a = [2], b = 3 }))": '{{"a":[1,2],"b":3}}',
    "basename(get_working_dir())": "thing",
    "upper(local.mine)": "MINE",
    "feature.flag.value": "on",
}


@pytest.mark.parametrize("call", FUNCTIONS)
def test_functions(repository: Path, call: str) -> None:
    (repository / ".git").mkdir()
    more = f'locals {{\n  mine = "mine"\n}}\nfeature "flag" {{\n  default = "on"\n}}\n# {call}\n'
    write(repository, {"live/a/terragrunt.hcl": unit(f"name = {call}", more), "live/a/x.tfvars": "x = 7\n"})
    assert batch(repository, "apply", "-auto-approve", "live/a").code == 0
    assert made(repository, "live/a")[0] == FUNCTIONS[call].format(root=repository)


@pytest.mark.parametrize("text", ["-5", "--5", "\u00b2"])
def test_a_feature_is_given_by_a_variable(repository: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("TG_FEATURE", f"n={text}")
    more = 'feature "n" {\n  default = 1\n}\n'
    write(repository, {"live/a/terragrunt.hcl": unit("name = tostring(feature.n.value)", more)})
    assert batch(repository, "apply", "-auto-approve", "live/a").code == 0
    assert made(repository, "live/a")[0] == text


def test_functions_know_the_command(repository: Path) -> None:
    write(repository, {"live/a/terragrunt.hcl": unit("name = get_terraform_command()")})
    assert batch(repository, "apply", "-auto-approve", "live/a").code == 0
    assert made(repository, "live/a")[0] == "apply"


def test_an_approved_plan_is_applied_though_inputs_are_new_each_time(repository: Path) -> None:
    write(repository, {"live/a/terragrunt.hcl": unit("name = uuid()")})
    ran = batch(repository, "apply", "live/a", answers="yes\n")
    assert ran.code == 0, ran.errors
    assert len(made(repository, "live/a")[0]) == 36


def test_the_run_goes_by_what_the_reading_was_told(repository: Path) -> None:
    """A program runs once, and its answer stands for the plan and its apply."""
    name = 'run_cmd("sh", "-c", "echo x >> ran; wc -l < ran | tr -d \\" \\"")'
    write(repository, {"live/a/terragrunt.hcl": unit(f"name = {name}")})
    assert batch(repository, "apply", "-auto-approve", "live/a").code == 0
    assert made(repository, "live/a")[0] == "1"
    assert (repository / "live/a/ran").read_text() == "x\n"


# ---------------------------------------------------------------- what is written

THEIRS = "# written by hand\n"


def test_generated_files_have_a_mark_and_go_with_their_block(repository: Path) -> None:
    block = 'generate "more" {\n  path = "more.tf"\n  if_exists = "overwrite_terragrunt"\n  contents = "# x"\n}\n'
    write(repository, {"live/a/terragrunt.hcl": unit('name = "a"', block)})
    batch(repository, "graph")
    place = repository / "live/a/.planner/terragrunt/work/thing"
    first, second = (place / "more.tf").read_text().split("\n")
    assert first.startswith("# Written by planner") and first.endswith("Sig: nIlQXj57tbuaRZEa") and second == "# x"
    assert not (repository / "modules/thing/more.tf").exists() and (place / "main.tf").is_symlink()
    write(repository, {"live/a/terragrunt.hcl": unit('name = "a"')})
    batch(repository, "graph")
    assert not (place / "more.tf").exists() and (place / "backend.tf").exists()


@pytest.mark.parametrize(
    ("if_exists", "is_kept", "code"),
    [("overwrite", False, 0), ("overwrite_terragrunt", True, 1), ("skip", True, 0), ("error", True, 1)],
)
def test_a_file_of_somebody_else_is_treated_as_if_exists_says(
    tmp_path: Path, if_exists: str, is_kept: bool, code: int
) -> None:
    block = f'generate "x" {{\n  path = "x.tf"\n  if_exists = "{if_exists}"\n  contents = "# x"\n}}\n'
    write(tmp_path, {"a/main.tf": "", "a/x.tf": THEIRS, "a/terragrunt.hcl": block})
    assert batch(tmp_path, "plan").code == code
    assert ((tmp_path / "a/x.tf").read_text() == THEIRS) == is_kept


def test_a_unit_without_a_source_is_run_where_it_stands(tmp_path: Path) -> None:
    text = 'remote_state {\n  backend = "local"\n  config = { path = "own.tfstate" }\n}\ninputs = { name = "x" }\n'
    write(tmp_path, {"a/main.tf": MODULE, "a/terragrunt.hcl": text})
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    assert (tmp_path / "a/own.tfstate").exists() and (tmp_path / "a/planner_backend_override.tf").exists()


def test_a_file_that_needs_outputs_is_written_when_they_are_there(repository: Path) -> None:
    more = """
dependency "a" { config_path = "../a" }
generate "late" {
  path      = "late.tf"
  if_exists = "overwrite_terragrunt"
  contents  = "output \\"late\\" { value = \\"${dependency.a.outputs.id}\\" }"
}
"""
    write(repository, {"live/b/terragrunt.hcl": unit('name = "b"', more)})
    assert "cannot be planned yet" in problem(repository, "live/b")
    assert batch(repository, "apply", "-auto-approve").code == 0
    assert json.loads((repository / "states/live/b.tfstate").read_text())["outputs"]["late"]["value"]


# ---------------------------------------------------------------- around a run


def test_hooks_arguments_and_environment(repository: Path) -> None:
    more = """
terraform {
  source = "../../modules//thing"
  before_hook "one" {
    commands = ["apply"]
    execute  = ["sh", "-c", "echo before $TG_CTX_COMMAND $MORE >> ${get_terragrunt_dir()}/log"]
  }
  after_hook "two" {
    commands = ["apply", "plan"]
    execute  = ["sh", "-c", "echo after >> ${get_terragrunt_dir()}/log"]
  }
  extra_arguments "x" {
    commands           = get_terraform_commands_that_need_vars()
    arguments          = ["-var", "env=given", "-lock-timeout=1m"]
    optional_var_files = ["x.tfvars", "nowhere.tfvars"]
    env_vars           = { MORE = "more" }
  }
}
"""
    text = unit('name = "a"').replace(SOURCE, more)
    write(repository, {"live/a/terragrunt.hcl": text, "live/a/x.tfvars": 'tags = { x = "file" }\n'})
    assert batch(repository, "apply", "-auto-approve", "live/a").code == 0
    assert (repository / "live/a/log").read_text() == "before apply more\nafter\n"
    assert made(repository, "live/a")[1:] == ["given", None, {"x": "file"}]


def test_prevent_destroy_and_exclude(repository: Path) -> None:
    assert batch(repository, "apply", "-auto-approve").code == 0
    write(repository, {
        "live/c/terragrunt.hcl": unit('name = "c"', 'exclude {\n  if = true\n  actions = ["destroy"]\n}\n'),
        "live/b/terragrunt.hcl": unit('name = "b"', "prevent_destroy = true\n"),
    })  # fmt: skip
    ran = batch(repository, "destroy", "-auto-approve", "-json")
    assert ran.outcomes == {"live/a": "applied", "live/b": "failed"}
    assert "prevent_destroy" in ran.unit("live/b")["diagnostics"][0]["detail"]


ANSWER = """<R><AssumeRoleResult><Credentials><AccessKeyId>KEY</AccessKeyId><SecretAccessKey>SECRET</SecretAccessKey>
<SessionToken>TOKEN</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></R>"""


def test_a_unit_takes_on_its_role(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Sts(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            is_known = "role%2Fx" in asked[-1]
            self.send_response(200 if is_known else 403)
            self.end_headers()
            self.wfile.write(ANSWER.encode() if is_known else b"<E><Code>AccessDenied</Code></E>")

        def log_message(self, *words: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Sts)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "mine")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "mine")
    test = '["sh", "-c", "test $AWS_ACCESS_KEY_ID$AWS_SESSION_TOKEN = KEYTOKEN"]'
    after = f'  after_hook "h" {{\n    commands = ["apply"]\n    execute  = {test}\n  }}\n}}'
    hook = SOURCE.replace('"\n}', f'"\n{after}')
    role = 'iam_role = "arn:aws:iam::1:role/x"\niam_assume_role_duration = 1800\n'
    write(repository, {
        "live/a/terragrunt.hcl": unit('name = "a"', role).replace(SOURCE, hook),
        "live/b/terragrunt.hcl": unit('name = "b"', role.replace("role/x", "role/y")),
    })  # fmt: skip
    try:
        ran = batch(repository, "apply", "-auto-approve", "-json", "live/a", "live/b")
    finally:
        server.shutdown()
        server.server_close()
    assert ran.outcomes == {"live/a": "applied", "live/b": "failed"}
    assert "cannot assume the role" in ran.unit("live/b")["diagnostics"][0]["detail"]
    assert "DurationSeconds=1800" in asked[0] and os.environ["AWS_ACCESS_KEY_ID"] == "mine"


# ---------------------------------------------------------------- stacks

STACK = """
locals {
  up = "../first"
}
unit "first" {
  source = "../../catalog/thing"
  path   = "first"
  values = { name = "first" }
}
unit "second" {
  source = "../../catalog/thing"
  path   = "second"
  values = {
    name = "second"
    up   = local.up
  }
}
"""
CATALOG = f"""
{INCLUDE}
terraform {{
  source = "{{root}}/modules//thing"
}}
dependency "up" {{
  enabled     = can(values.up)
  config_path = try(values.up, "../first")
}}
inputs = {{
  name = values.name
  up   = try(dependency.up.outputs.name, null)
}}
"""


def test_the_units_of_a_stack(repository: Path) -> None:
    write(repository, {
        "live/s/terragrunt.stack.hcl": STACK,
        "catalog/thing/terragrunt.hcl": CATALOG.replace("{root}", str(repository)),
    })  # fmt: skip
    names = ["live/s/.terragrunt-stack/first", "live/s/.terragrunt-stack/second"]
    assert edges(repository, "live/s") == [names[::-1]]
    assert batch(repository, "apply", "-auto-approve", "live/s").code == 0
    assert made(repository, names[1])[2] == "first"
    write(repository, {"live/t/terragrunt.stack.hcl": STACK, "live/t/.terragrunt-stack/x": ""})
    assert batch(repository, "graph", "live/t").code == 0
    write(repository, {
        "live/u/terragrunt.stack.hcl": STACK.replace("path   =", "no_dot_terragrunt_stack = true\n  path   ="),
        "live/u/first/mine.txt": "mine",
    })  # fmt: skip
    ran = batch(repository, "graph", "live/u")
    assert ran.code == 1 and "A directory would be overwritten" in ran.errors


def test_a_dependency_on_a_stack_has_the_outputs_of_its_units(repository: Path) -> None:
    write(repository, {
        "live/s/terragrunt.stack.hcl": STACK,
        "catalog/thing/terragrunt.hcl": CATALOG.replace("{root}", str(repository)),
        "live/b/terragrunt.hcl": unit(
            'name = dependency.s.outputs.first.name\nup = dependency.s.outputs.second.name',
            'dependency "s" {\n  config_path = "../s"\n}\n',
        ),
    })  # fmt: skip
    first, second = "live/s/.terragrunt-stack/first", "live/s/.terragrunt-stack/second"
    assert [edge for edge in edges(repository) if edge[0] == "live/b"] == [["live/b", first], ["live/b", second]]
    assert batch(repository, "apply", "-auto-approve", "live").code == 0
    assert made(repository, "live/b")[::2] == ["first", "second"]


def test_what_a_stack_puts_beside_its_units(repository: Path) -> None:
    stack = """
locals { name = "second" }
unit "first" {
  source = "../../catalog/plain"
  path   = "first"
  values = { name = "first" }
}
unit "second" {
  source = "../../catalog/plain"
  path   = "second"
  values = { name = "overridden" }
  autoinclude {
    dependency "up" { config_path = unit.first.path }
    inputs = {
      name = local.name
      up   = "${dependency.up.outputs.name} for ${local.name} in ${basename(get_terragrunt_dir())}"
    }
  }
}
"""
    plain = f'{INCLUDE}terraform {{\n  source = "{repository}/modules//thing"\n}}\ninputs = {{ name = values.name }}\n'
    write(repository, {"live/s/terragrunt.stack.hcl": stack, "catalog/plain/terragrunt.hcl": plain})
    first, second = "live/s/.terragrunt-stack/first", "live/s/.terragrunt-stack/second"
    assert edges(repository, "live/s") == [[second, first]]
    text = (repository / second / "terragrunt.autoinclude.hcl").read_text()
    assert 'config_path = "../first"' in text and "dependency.up.outputs.name" in text and "local" not in text
    assert batch(repository, "apply", "-auto-approve", "live/s").code == 0
    assert made(repository, second) == ["second", "dev", "first for second in s", {}]


# ---------------------------------------------------------------- what is wrong

WRONG = {
    'inputz = {}\n': 'An argument named "inputz" is not expected here. Did you mean "inputs"?',
    'dependancy "x" {}\n': 'Blocks of type "dependancy" are not expected here. Did you mean "dependency"?',
    'dependency "x" {\n  config_path = "../nowhere"\n}\n': "dependency.x names {root}/live/nowhere, where there is no",
    "locals {\n  a = local.b\n  b = local.a\n}\ndownload_dir = local.a\n": "local.a depends on itself",
    "download_dir = local.c\n": "No local value is named c",
    'download_dir = get_env("NOBODY_SETS_THIS")\n': "The environment has no variable NOBODY_SETS_THIS",
    'download_dir = run_cmd("false")\n': "false exited with 1",
    'download_dir = find_in_parent_folders("none")\n': "No directory above",
    'inputs = { x = sops_decrypt_file("terragrunt.hcl") }\n': "encrypted with sops",
    'inputs = { x = get_aws_account_id() }\n': "calls AWS",
    'include "x" {\n  path = "nowhere.hcl"\n}\n': "nowhere.hcl to include",
    'include "x" {\n  path = "../env.hcl"\n  merge_strategy = "deeep"\n}\n': 'Did you mean "deep"?',
    'inputs = ["x"]\n': "Inputs must be an object",
    'terraform {\n  source = "../nowhere"\n}\n': "There is no directory {root}/live/nowhere",
    'terraform {\n  source = "../../modules//../live"\n}\n': "is outside ../../modules",
    'generate "x" {\n  path = "x.tf"\n  if_exists = "sometimes"\n  contents = ""\n}\n': "if_exists must be one of",
    'errors {\n  retry "x" {\n    retryable_errors = ["("]\n    max_attempts = 1\n    sleep_interval_sec = 1\n  }\n}\n':
        "not a regular expression",
    'inputs = { x = dependency.y.outputs.z }\n': "No dependency is named y here",
    'inputs = { x = feature.y.value }\n': "No feature is named y here",
    'dependency "x" {\n  config_path = ""\n}\n': "dependency.x names no directory",
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_named(repository: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    write(repository, {"live/a/main.tf": "", "live/a/terragrunt.hcl": text})
    said = problem(repository)
    assert WRONG[text].format(root=repository) in said
    assert batch(repository, "graph").code == 0, "the rest of the fleet can be looked at"


REMARKS = {
    'engine {\n  source = "x"\n}\n': "planner has no engines",
    'errors {\n  ignore "x" {\n    ignorable_errors = ["x"]\n  }\n}\n': "errors.ignore.x has no effect",
    'terraform {\n  extra_arguments "x" {\n    commands = ["plan"]\n    arguments = ["-target=x"]\n  }\n}\n':
        "extra argument -target=x",
    'terraform {\n  after_hook "x" {\n    commands = ["read-config"]\n    execute = ["true"]\n  }\n}\n':
        "not run for read-config",
}  # fmt: skip


@pytest.mark.parametrize("text", REMARKS)
def test_what_means_nothing_to_planner_is_named_too(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"a/main.tf": "", "a/terragrunt.hcl": text})
    ran = batch(tmp_path, "plan")
    assert ran.code == 0 and REMARKS[text] in " ".join((ran.out + ran.errors).split())


def test_inputs_are_what_the_environment_would_give(tmp_path: Path) -> None:
    """The figures are those of OpenTofu with TF_VAR_ variables that have the JSON of the inputs."""
    types = {"none": "", "any": "any", "n": "number", "b": "bool", "s": "string", "l": "list(string)"}
    given = {"none": "3", "any": "3", "n": "3", "b": "true", "s": "3", "l": '["a"]', "nonelist": '["a"]', "f": "1.50"}
    types |= {"nonelist": "", "nonebool": "", "f": "number"}
    given["nonebool"] = "true"
    blocks = [f'variable "{name}" {{\n{f"  type = {text}" if text else ""}\n}}\n' for name, text in types.items()]
    write(tmp_path, {
        "u/main.tf": "".join(blocks) + 'output "o" {\n  value = [var.none, var.any, var.n, var.nonelist]\n}\n',
        "u/terragrunt.hcl": "inputs = {\n" + "".join(f"  {n} = {v}\n" for n, v in given.items()) + "}\n",
    })  # fmt: skip
    assert batch(tmp_path, "plan", "-json-out-dir=out").code == 0
    document = json.loads((tmp_path / "out/u/tfplan.json").read_text())
    assert {name: variable["value"] for name, variable in document["variables"].items()} == {
        "any": 3,
        "b": "true",
        "f": "1.5",
        "l": ["a"],
        "n": "3",
        "none": "3",
        "nonebool": "true",
        "nonelist": '["a"]',
        "s": "3",
    }
    assert document["planned_values"]["outputs"]["o"]["value"] == ["3", 3, 3, '["a"]']
