"""The line under a change: the chain of steps from the root cause, with and without a record of what values were."""

from __future__ import annotations

import json
from base64 import b64decode, b85encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from explain.explaining import explain

from planner.logic.model.plan import change_name
from planner.render.cause_line import root_lines

Run = Callable[..., Any]

CONFIGURATION = """
variable "drop" { default = false }
variable "b" { default = "1" }
variable "names" {
  type    = list(string)
  default = ["a", "b"]
}
locals { x = "v-${var.b}" }
module "m" {
  source = "./m"
  count  = var.drop ? 1 : 2
  b      = local.x
}
resource "terraform_data" "all" { input = [for m in module.m : m.y] }
resource "terraform_data" "some" {
  count = length(var.names)
  input = "fixed"
}
resource "terraform_data" "set" {
  for_each = toset(var.names)
  input    = "fixed"
}
resource "terraform_data" "file" { input = "${file("${path.module}/data.txt")}-${var.drop}" }
resource "terraform_data" "stays" { input = terraform_data.file.id }
"""
MODULE = """
variable "b" {}
resource "terraform_data" "x" { input = var.b }
output "y" { value = terraform_data.x.input }
"""

DROP = 'var.drop false -> "true" (-var=drop)'


@pytest.fixture
def applied(tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m").mkdir()
    (tmp_path / "main.tf").write_text(CONFIGURATION)
    (tmp_path / "m/main.tf").write_text(MODULE)
    (tmp_path / "data.txt").write_text("one")
    assert planner("init").code == 0
    assert planner("apply", "-auto-approve").code == 0
    return tmp_path


def lines(planner: Run, *options: str) -> dict[str, str]:
    """address -> its root causes with the hops of the chain."""
    assert planner("plan", "-no-color", "-explain=line", *options).code == 0
    explained, _ = explain(list(options))
    assert explained is not None
    actions = {change_name(change): change.action for change in explained.plan.changes}
    told = {name: root_lines(because, name, actions) for name, because in explained.causes().items()}
    return {name: "".join(of).removeprefix("because ").replace("  -> ", " -> ") for name, of in told.items() if of}


def test_repetition_of_a_module(applied: Path, planner: Run) -> None:
    assert lines(planner, "-var=drop=true") == {
        "module.m[1].terraform_data.x": DROP + " -> module.m.count 2 -> 1 (main.tf:11)",
        "terraform_data.all": DROP + " -> module.m.count 2 -> 1 (main.tf:11) -> module.m[1] (main.tf:11)",
        "terraform_data.file": DROP,
    }


def test_repetition_of_resources(applied: Path, planner: Run) -> None:
    assert lines(planner, '-var=names=["a"]') == {
        "terraform_data.some[1]": 'var.names: removed "b" (-var=names)'
        " -> terraform_data.some.count 2 -> 1 (main.tf:16)",
        'terraform_data.set["b"]': 'var.names: removed "b" (-var=names)'
        ' -> terraform_data.set["b"] removed (for_each, main.tf:20)',
    }
    assert lines(planner, '-var=names=["a", "b", "c"]') == {
        "terraform_data.some[2]": 'var.names: added "c" (-var=names) -> terraform_data.some.count 2 -> 3 (main.tf:16)',
        'terraform_data.set["c"]': 'var.names: added "c" (-var=names)'
        ' -> terraform_data.set["c"] added (for_each, main.tf:20)',
    }


LISTS = {
    "gained": ('["a", "b"]', '["a", "b", "c", "d"]', 'var.names: added "c", "d" (main.tf:1)'),
    "gained at the front": ('["a", "b"]', '["z", "a", "b"]', 'var.names: added "z" (main.tf:1)'),
    "lost": ('["a", "b", "c"]', '["b"]', 'var.names: removed "a", "c" (main.tf:1)'),
    "both": ('["a", "b"]', '["c", "d", "e"]', 'var.names: added "c", "d", "e"; removed "a", "b" (main.tf:1)'),
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("kind", ["variable", "local"])
def test_elements_of_a_list_are_one_cause(
    kind: str, name: str, tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before, after, title = LISTS[name]
    head = 'variable "names" { default = %s }' if kind == "variable" else "locals { names = %s }"
    used = "var" if kind == "variable" else "local"
    text = head + '\nresource "terraform_data" "x" {\n  for_each = toset(%s.names)\n}\n'
    Path("main.tf").write_text(text % (before, used))
    assert planner("apply", "-auto-approve").code == 0
    Path("main.tf").write_text(text % (after, used))
    out = planner("plan", "-causes", "-no-color").out
    assert (
        title.replace("var.", f"{used}.").replace("(main", "(default, main" if kind == "variable" else "(main") in out
    )
    assert "[1]" in out and "[2]" not in out


def test_through_modules_and_files_of_values(applied: Path, planner: Run) -> None:
    (applied / "terraform.tfvars").write_text('\nb = "2"\n')
    chain = 'var.b "1" -> "2" (terraform.tfvars:2) -> local.x (main.tf:8) -> module.m[{}].var.b (main.tf:12)'
    assert lines(planner) == {
        "module.m[0].terraform_data.x": chain.format(0),
        "module.m[1].terraform_data.x": chain.format(1),
        "terraform_data.all": chain.format(0)
        + " -> module.m[0].terraform_data.x (m/main.tf:3, updated) -> module.m[0].y (m/main.tf:4)",
    }


def test_a_file(applied: Path, planner: Run) -> None:
    (applied / "data.txt").write_text("two")
    assert lines(planner) == {"terraform_data.file": "data.txt (read at main.tf:23)"}


def test_without_a_record_candidates_are_candidates(applied: Path, planner: Run) -> None:
    (applied / ".terraform.tfstate.applied.json").unlink()
    (applied / "data.txt").write_text("two")
    line = lines(planner)["terraform_data.file"]
    assert line.startswith("one of these may have changed: data.txt (read at main.tf:23), ")
    assert "var.drop (default, main.tf:2)" in line


@pytest.mark.parametrize("spoiled", [b"", b"[]", b'{"format_version": "1.0"}', b"\xff", b'{"format_version": "2.0"}'])
def test_a_spoiled_record_is_no_record(applied: Path, planner: Run, spoiled: bytes) -> None:
    (applied / ".terraform.tfstate.applied.json").write_bytes(spoiled)
    (applied / "data.txt").write_text("two")
    assert "may have changed" in lines(planner)["terraform_data.file"]


@pytest.mark.parametrize("version", ["2.0", "2.1"])
def test_a_record_of_a_version_before_counts_after_a_whole_apply(applied: Path, planner: Run, version: str) -> None:
    path = applied / ".terraform.tfstate.applied.json"
    record = json.loads(path.read_text())
    if version == "2.0":
        del record["altered"]
    in_base85 = {key: b85encode(b64decode(record[key])).decode() for key in ("entries", "sources")}
    path.write_text(json.dumps(record | in_base85 | {"format_version": version}))
    (applied / "data.txt").write_text("two")
    assert lines(planner)["terraform_data.file"] == "data.txt (read at main.tf:23)"


def test_a_record_counts_for_a_state_that_others_wrote(applied: Path, planner: Run) -> None:
    state = json.loads((applied / "terraform.tfstate").read_text())
    state["serial"] += 1
    (applied / "terraform.tfstate").write_text(json.dumps(state))
    (applied / "data.txt").write_text("two")
    assert lines(planner)["terraform_data.file"] == "data.txt (read at main.tf:23)"
    state["lineage"] = "another"
    (applied / "terraform.tfstate").write_text(json.dumps(state))
    assert "may have changed" in lines(planner)["terraform_data.file"]


def test_an_edit_of_the_state_keeps_the_record(applied: Path, planner: Run) -> None:
    assert planner("state", "rm", "terraform_data.some[1]").code == 0
    (applied / "data.txt").write_text("two")
    assert lines(planner)["terraform_data.file"] == "data.txt (read at main.tf:23)"


def test_each_object_has_what_it_was_last_applied_with(applied: Path, planner: Run) -> None:
    """After an apply with -target some objects were made with other values than the others."""
    options = ("-var=drop=true", "-target=terraform_data.file")
    assert planner("apply", "-auto-approve", *options).code == 0
    assert lines(planner) == {"terraform_data.file": 'var.drop "true" -> false (default, main.tf:2)'}
    assert lines(planner, "-var=drop=true") == {
        "module.m[1].terraform_data.x": DROP + " -> module.m.count 2 -> 1 (main.tf:11)",
        "terraform_data.all": DROP + " -> module.m.count 2 -> 1 (main.tf:11) -> module.m[1] (main.tf:11)",
    }
    told = lines(planner, "-var=b=9")
    assert told["terraform_data.file"] == 'var.drop "true" -> false (default, main.tf:2)'
    assert told["module.m[1].terraform_data.x"].startswith('var.b "1" -> "9" (-var=b) -> local.x')


def test_each_object_has_the_text_that_it_was_last_applied_with(applied: Path, planner: Run) -> None:
    main = applied / "main.tf"
    main.write_text(main.read_text().replace('"v-${var.b}"', '"w-${var.b}"'))
    assert planner("apply", "-auto-approve", "-target=terraform_data.file").code == 0
    assert lines(planner, "-target=module.m[0]")["module.m[0].terraform_data.x"] == (
        'local.x "v-1" -> "w-1" (main.tf:8) -> module.m[0].var.b (main.tf:12)'
    )


def test_a_text_and_a_variable(applied: Path, planner: Run) -> None:
    main = applied / "main.tf"
    main.write_text(main.read_text().replace('"v-${var.b}"', '"w-${var.b}"'))
    assert lines(planner, "-var=b=2")["module.m[0].terraform_data.x"] == (
        'local.x "v-1" -> "w-2" (main.tf:8), var.b "1" -> "2" (-var=b) -> module.m[0].var.b (main.tf:12)'
    )


def test_secrets_are_nowhere_on_record(applied: Path, planner: Run) -> None:
    (applied / "main.tf").write_text('variable "s" {\n  sensitive = true\n  default   = "hunter2"\n}\n')
    assert planner("apply", "-auto-approve").code == 0
    record = applied / ".terraform.tfstate.applied.json"
    assert "hunter2" not in record.read_text()


def test_an_object_that_stays(applied: Path, planner: Run) -> None:
    (applied / "data.txt").write_text("two")
    said = planner("why", "terraform_data.stays").out
    assert said.startswith(
        "terraform_data.stays does not change: terraform_data.stays.input depends on terraform_data.file.id, "
        "which stays the same, although terraform_data.file is updated in place"
    )


def test_json_lines_have_the_steps(applied: Path, planner: Run) -> None:
    text = planner("plan", "-json", "-explain=line", "-var=drop=true").out
    changes = [json.loads(line)["change"] for line in text.splitlines() if '"planned_change"' in line]
    by_address = {change["resource"]["addr"]: change for change in changes}
    change = by_address["module.m[1].terraform_data.x"]
    assert [step["what"] for step in change["because"]] == ["var.drop", "module.m.count"]
    assert change["because"][0] == {
        "what": "var.drop",
        "kind": "variable",
        "before": "false",
        "value": '"true"',
        "source": {"command_line": "-var=drop"},
    }
    assert change["because"][1]["source"]["line"] == 11
    assert change["because_is_certain"] is True
    assert [root["what"] for root in change["root_causes"]] == ["var.drop"]


def test_nothing_is_told_unasked_but_on_a_terminal(applied: Path, planner: Run) -> None:
    assert "# because" not in planner("plan", "-var=drop=true").out
    assert '"because"' not in planner("plan", "-json", "-var=drop=true").out
    assert planner("plan", "-explain=nothing").code == 1


def test_in_full(applied: Path, planner: Run) -> None:
    text = planner("plan", "-no-color", "-explain=full", "-var=drop=true").out
    assert (
        "  # because:\n"
        "  #   module.m.count 2 -> 1 (main.tf:11)\n"
        '  #   var.drop false -> "true" (-var=drop)\n' in text
    )  # fmt: skip


def test_a_saved_plan_tells_its_causes(applied: Path, planner: Run) -> None:
    assert planner("plan", "-out=saved", "-var=drop=true").code == 0
    text = planner("show", "-no-color", "-explain=line", "saved").out
    first, *others = (line for line in text.splitlines() if line.startswith("  # because [1]"))
    assert first == '  # because [1] var.drop false -> "true" (-var=drop)'
    assert others == [] or set(others) == {"  # because [1] var.drop"}
    assert text.endswith(
        "Causes:\n"
        '  [1] var.drop false -> "true" (-var=drop)\n'
        "        -> module.m.count 2 -> 1 (main.tf:11)\n"
        "          -> module.m[1] (main.tf:11)\n"
        "            -> terraform_data.all (main.tf:14, updated)\n"
        "        -> terraform_data.file (main.tf:23, updated)\n"
    )


def test_a_change_with_a_reason_of_its_own_and_others(applied: Path, planner: Run) -> None:
    told = lines(planner, "-var=b=2", "-replace=module.m[0].terraform_data.x", "-target=module.m[0]")
    own = "module.m[0].terraform_data.x"
    assert told[own].startswith(f"{own} (-replace), var.b ")


REASONS = """
variable "v" { default = 1 }
variable "w" { default = 1 }
variable "x" { default = 1 }
resource "terraform_data" "t" { input = var.v }
resource "terraform_data" "u" { input = var.w }
resource "terraform_data" "n" {
  triggers_replace = var.x
  lifecycle {
    replace_triggered_by = [terraform_data.t, terraform_data.u]
  }
}
"""


def test_why_names_every_direct_reason(tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("main.tf").write_text(REASONS)
    assert planner("apply", "-auto-approve").code == 0
    every = ("-var=v=2", "-var=w=2", "-var=x=2", "-replace=terraform_data.n")
    first, more = planner("why", "terraform_data.n", *every).out.split("More causes for terraform_data.n:\n")
    assert "its replace_triggered_by names terraform_data.t" in first and "var.v changed" in first
    assert [line.partition(":")[0] for line in more.splitlines()] == [
        "  -replace names terraform_data.n",
        '  var.w changed from 1 to "2"',
        '  var.x changed from 1 to "2"',
    ]
    assert "More causes" not in planner("why", "terraform_data.n", "-replace=terraform_data.n").out
    assert "More causes" not in planner("why", "terraform_data.n", "-var=v=2").out


def test_why_follows_what_forces_a_replacement(tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = 'locals { tag = "registry/${var.v}" }\nvariable "v" { default = 1 }\n'
    text += 'resource "terraform_data" "a" {\n  input            = "v${var.v}"\n  triggers_replace = [local.tag]\n}\n'
    Path("main.tf").write_text(text)
    assert planner("apply", "-auto-approve").code == 0
    said = planner("why", "terraform_data.a", "-var=v=2").out
    first, *others = said.splitlines()
    assert first.startswith('terraform_data.a is replaced: triggers_replace[0] "registry/1" -> "registry/2" forces')
    assert [line.split()[:2] for line in others] == [
        ["<-", "local.tag"],
        ["<-", "var.v"],
        ["also", "input"],
    ]
