"""Planning fleets: unknown inputs, failures, what is not planned again, and what stops everything."""

from __future__ import annotations

import gc
import importlib
import io
import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest
from attrs import evolve
from batch.fleets import BACKEND, batch, chain, inside, unit, write

from planner.cli.main import dispatch
from planner.render.terminal import Terminal
from planner.workflows.batch import cache_files, root_modules
from planner.workflows.batch import session as finding
from planner.workflows.batch.cache_files import FLEETS, entry_names
from planner.workflows.batch.files_read import RECORDER, SHARED_MEMORY, FileRecorder
from planner.workflows.batch.model import Request
from planner.workflows.batch.worker import run_unit, survey_units


def test_unknown_inputs_make_plans_incomplete(tmp_path: Path) -> None:
    chain(tmp_path, "a", "b", "c")
    ran = batch(tmp_path, "plan", "-json")
    assert ran.outcomes == {"a": "changes", "b": "incomplete", "c": "incomplete"}
    assert (ran.code, ran.unit("b")["because"], ran.unit("b")["waits_for"]) == (0, "a", ["a"])
    assert ran.unit("a")["plan_file"] and not ran.unit("b")["plan_file"]
    assert ran.unit("b")["changes"][0] == {
        "address": "data.terraform_remote_state.up",
        "action": "read",
        "reason": "read_because_dependency_pending",
    }
    unknown = batch(tmp_path, "query", "-json", 'unit_unknown_after("b", "terraform_data.main", P)').json["rows"]
    assert ["input[0]"] in unknown
    assert batch(tmp_path, "plan", "-detailed-exitcode").code == 2


def test_upstream_without_changes_is_read(tmp_path: Path) -> None:
    chain(tmp_path, "a", "b")
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    assert batch(tmp_path, "plan", "-json").outcomes == {"a": "unchanged", "b": "unchanged"}
    write(tmp_path, {"b/main.tf": unit({"up": "a"}, '"y"')})
    ran = batch(tmp_path, "plan", "-json")
    assert ran.outcomes == {"a": "unchanged", "b": "changes"}
    write(tmp_path, {"a/main.tf": unit(None, '"y"')})
    assert batch(tmp_path, "plan", "-json").outcomes == {"a": "changes", "b": "changes"}  # the id stays


def test_a_failure_skips_only_what_waits_for_it(tmp_path: Path) -> None:
    chain(tmp_path, "a", "b", "c")
    write(tmp_path, {"bad/main.tf": unit(None, "var.nothing"), "worse/main.tf": unit({"up": "bad"})})
    ran = batch(tmp_path, "plan", "-json")
    assert ran.code == 1
    assert ran.outcomes == {"a": "changes", "b": "incomplete", "c": "incomplete", "bad": "failed", "worse": "skipped"}
    assert ran.unit("worse")["because"] == "bad"
    (problem,) = ran.unit("bad")["diagnostics"]
    assert problem["range"]["filename"] == "main.tf" and problem["severity"] == "error"
    text = batch(tmp_path, "plan")
    assert "Error: bad: " in text.errors and "  on bad/main.tf line " in text.errors
    assert "worse: skipped, because of bad" in text.out


def test_cycles_explain_themselves(tmp_path: Path) -> None:
    write(tmp_path, {f"{a}/main.tf": unit({"up": b}) for a, b in ("ab", "bc", "ca")})
    write(tmp_path, {"d/main.tf": unit({"up": "a"})})
    ran = batch(tmp_path, "plan")
    assert ran.code == 1 and "a: started" not in ran.out
    for a, b in ("ab", "bc", "ca"):
        assert f"  {a} waits for {b}: {a} reads the state of {b} in data.terraform_remote_state.up ({a}/main.tf:6)" in (
            ran.errors.replace("\n", " ").replace("  ", " ").replace(f" {a} waits", f"  {a} waits")
        )
    assert "d waits for" not in ran.errors


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (
            {"a/main.tf": BACKEND, "planner.batch.hcl": 'unit "a" {}\nunit "b" { path = "a" }\n'},
            "a and b would both write",
        ),
        ({"a/main.tf": unit({"me": "a"})}, "A unit waits for itself"),
        ({"a/x.txt": ""}, "No units below"),
        ({"planner.batch.hcl": 'unit "a" {}\n'}, "does not exist"),
        ({"a/main.tf": BACKEND, "planner.batch.hcl": 'unit "a" { depends_on = [unit.b] }\n'}, "There is no unit b."),
        ({"a/main.tf": BACKEND, "planner.batch.hcl": 'unit "a" { inputs = { x = loca.y } }\n'}, "unit.NAME.OUTPUT"),
        ({"a/main.tf": BACKEND, "planner.batch.hcl": 'unit "a" { tags = "x" }\n'}, "Expected a list in brackets"),
        ({"a/main.tf": BACKEND, "planner.batch.hcl": 'unit "a" { variables = { x = f(1) } }\n'}, "no function named"),
        ({"a/main.tf": BACKEND, "planner.batch.hcl": 'unit "a" {\n'}, "planner.batch.hcl line 1"),
        ({"a/main.tf": BACKEND, "planner.batch.hcl": 'unit "a" {}\nunit "a" {}\n'}, "Duplicate unit"),
        ({"a/main.tf": BACKEND, "planner.batch.hcl": 'unit "a" { nonsense = 1 }\n'}, "nonsense"),
        ({"a/main.tf": BACKEND, "planner.batch.hcl": b"\xff\xfe".decode("latin-1")}, "planner.batch.hcl"),
    ],
)
def test_what_is_wrong_with_a_fleet_is_said(tmp_path: Path, files: dict[str, str], words: str) -> None:
    write(tmp_path, files)
    ran = batch(tmp_path, "plan")
    assert ran.code == 1
    assert words in " ".join(ran.errors.split())


def test_inputs_variables_groups_and_workspaces(tmp_path: Path) -> None:
    main = BACKEND + (
        'variable "name" {}\nvariable "size" { type = number }\nvariable "up" { default = "none" }\n'
        'variable "file" { default = 0 }\n'
        'resource "terraform_data" "main" {\n  input = [var.name, var.size, var.up, var.file]\n}\n'
        'output "id" {\n  value = { deep = [terraform_data.main.id] }\n}\n'
    )
    file = """
unit "one" {
  path      = "m"
  workspace = "one"
  variables = { name = "one" }
}
unit "two" {
  path      = "m"
  workspace = "two"
  variables = { name = "two", size = 5 }
  var_files = ["two.tfvars"]
  inputs    = { up = "<${unit["one"].id.deep[0]}>" }
}
group "both" {
  units     = ["*"]
  variables = { size = 1 }
  tags      = ["t"]
}
"""
    write(tmp_path, {"m/main.tf": main, "planner.batch.hcl": file, "m/two.tfvars": "file = 7\n"})
    ran = batch(tmp_path, "plan", "-json")
    assert ran.outcomes == {"one": "changes", "two": "incomplete"}
    assert (ran.unit("two")["groups"], ran.unit("two")["tags"]) == (["both"], ["t"])
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    states = {
        n: json.loads((tmp_path / f"m/terraform.tfstate.d/{n}/terraform.tfstate").read_text()) for n in ("one", "two")
    }
    inputs = {n: s["resources"][0]["instances"][0]["attributes"]["input"]["value"] for n, s in states.items()}
    identity = states["one"]["outputs"]["id"]["value"]["deep"][0]
    assert inputs == {"one": ["one", 1, "none", 0], "two": ["two", 5, f"<{identity}>", 7]}
    assert batch(tmp_path, "plan", "-json").outcomes == {"one": "unchanged", "two": "unchanged"}


def test_an_output_that_is_nested_deep_is_handed_on(tmp_path: Path) -> None:
    deep = '"${join("", [for i in range(300) : "["])}${join("", [for i in range(300) : "]"])}"'
    main = BACKEND + 'variable "up" {}\nresource "terraform_data" "x" {\n  input = var.up\n}\n'
    file = 'unit "a" {}\nunit "b" {\n  inputs = { up = unit.a.id }\n}\n'
    source = BACKEND + f'output "id" {{\n  value = jsondecode({deep})\n}}\n'
    write(tmp_path, {"a/main.tf": source, "b/main.tf": main, "planner.batch.hcl": file})
    # a process of its own goes deeper than one of tests
    command = [sys.executable, "-m", "planner", "batch", "apply", "-auto-approve", "-json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {one["unit"]: one["outcome"] for one in json.loads(done.stdout)["units"]} == {"a": "applied", "b": "applied"}


def test_outputs_of_what_never_was_applied(tmp_path: Path) -> None:
    main = BACKEND + 'variable "up" {}\n'
    file = 'unit "a" {}\nunit "b" { inputs = { up = unit.a.id } }\n'
    write(tmp_path, {"a/main.tf": unit(), "b/main.tf": main, "planner.batch.hcl": file})
    ran = batch(tmp_path, "plan", "-json", "b")
    assert ran.outcomes == {"b": "failed"}
    assert "The unit a has no state yet" in ran.unit("b")["diagnostics"][0]["detail"]


def test_files_beside_the_interpreter_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))  # /usr, for the Python of a distribution
    write(tmp_path, {"src/app/main.tf": ""})
    with FileRecorder().recording() as paths:
        (tmp_path / "src/app/main.tf").read_text()
    assert list(paths) == [str(tmp_path / "src/app/main.tf")]


def test_modules_are_installed_when_they_are_not(tmp_path: Path) -> None:
    write(tmp_path, {"a/main.tf": BACKEND + 'module "m" {\n  source = "../m"\n}\n'})
    write(tmp_path, {"m/main.tf": 'resource "terraform_data" "x" {}\n'})
    ran = batch(tmp_path, "plan", "-json")
    assert ran.outcomes == {"a": "changes"}
    assert ran.unit("a")["changes"][0]["address"] == "module.m.terraform_data.x"


class TestNotPlannedAgain:
    """What was planned before and has not changed is not planned again; whatever it was made from counts."""

    @pytest.fixture
    def fleet(self, tmp_path: Path) -> Path:
        chain(tmp_path, "a", "b", "c")
        main = BACKEND + (
            'variable "v" { default = 1 }\nmodule "m" {\n  source = "../m"\n}\n'
            'resource "terraform_data" "f" {\n  input = [var.v, file("text.txt"), fileset(".", "*.set")]\n}\n'
        )
        write(tmp_path, {"z/main.tf": main, "z/text.txt": "1", "m/main.tf": 'output "x" {\n  value = 1\n}\n'})
        assert batch(tmp_path, "apply", "-auto-approve").code == 0
        assert batch(tmp_path, "plan").code == 0
        assert self.planned(tmp_path) == []
        return tmp_path

    def planned(self, root: Path, *words: str) -> list[str]:
        ran = batch(root, "plan", "-json", *words)
        return sorted(found["unit"] for found in ran.json["units"] if not found["reused"])

    @pytest.mark.parametrize(
        ("name", "text", "expected"),
        [
            ("z/text.txt", "2", ["z"]),
            ("z/new.set", "", ["z"]),
            ("z/other.tf", "", ["z"]),
            ("m/main.tf", 'output "x" {\n  value = 2\n}\n', ["z"]),
            ("z/terraform.tfvars", "v = 2\n", ["z"]),
            ("b/main.tf", unit({"up": "a"}) + "# a remark\n", ["b"]),
            ("unrelated.txt", "", []),
            ("b/.planner/batch-rules/x.dl", "", []),
        ],
    )
    def test_files(self, fleet: Path, name: str, text: str, expected: list[str]) -> None:
        write(fleet, {name: text})
        assert self.planned(fleet) == expected
        assert self.planned(fleet) == []

    @pytest.mark.skipif(not os.path.exists("/proc/version"), reason="needs /proc")
    def test_files_that_cannot_be_compared(self, fleet: Path) -> None:
        write(fleet, {"z/more.tf": 'output "kernel" {\n  value = file("/proc/version")\n}\n'})
        assert [self.planned(fleet) for _ in range(2)] == [["z"], ["z"]]

    def test_the_time_of_the_plan(self, fleet: Path) -> None:
        write(fleet, {"z/more.tf": 'output "now" {\n  value = plantimestamp()\n}\n'})
        assert [self.planned(fleet) for _ in range(2)] == [["z"], ["z"]]

    def test_a_waiver_that_expires(self, fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        waiver = 'code = "p"\naddress = "*.main"\nowner = "ops"\nreason = "old"\nexpires = 2100-01-01\n'
        write(
            fleet,
            {
                "z/.planner/policies/p.dl": 'deny("p", A, "no") :- acts(A, "create").\n',
                "z/.planner/waivers.toml": f"[[waiver]]\n{waiver}",
            },
        )
        assert [self.planned(fleet) for _ in range(2)] == [["z"], []]
        notice = datetime(2099, 12, 19, tzinfo=UTC)  # 14 days before the end of the day on which the waiver expires
        for seconds, expected in ((-1, []), (0, ["z"])):
            nanoseconds = int(notice.timestamp() + seconds) * 10**9
            monkeypatch.setattr("planner.workflows.batch.files_read.time.time_ns", lambda: nanoseconds)  # noqa: B023
            assert self.planned(fleet) == expected

    @pytest.mark.skipif(not os.path.isdir(SHARED_MEMORY), reason="needs /dev/shm")
    def test_files_in_memory(self, fleet: Path) -> None:
        with NamedTemporaryFile("w", dir=SHARED_MEMORY, suffix=".tfvars") as values:
            for value in (2, 3):
                values.seek(0)
                print(f"v = {value}", file=values, flush=True)
                assert "z" in self.planned(fleet, f"-var-file={values.name}")
            assert self.planned(fleet, f"-var-file={values.name}") == []

    def test_a_change_reaches_what_reads_it(self, fleet: Path) -> None:
        write(fleet, {"a/main.tf": unit(None, '"other"')})
        assert self.planned(fleet) == ["a"]  # what it gives out stays
        output = 'output "more" {\n  value = terraform_data.main.output\n}\n'
        write(fleet, {"a/main.tf": unit(None, '"other"', output)})
        assert self.planned(fleet) == ["a", "b"]
        assert self.planned(fleet) == []

    def test_times_do_not_count_but_contents_do(self, fleet: Path) -> None:
        os.utime(fleet / "b/main.tf", (1, 1))
        assert self.planned(fleet) == []

    def test_states_and_outputs_of_states(self, fleet: Path) -> None:
        path = fleet / "a/terraform.tfstate"
        state = json.loads(path.read_text())
        state["serial"] += 1
        path.write_text(json.dumps(state))
        assert self.planned(fleet) == ["a"]
        state["outputs"]["id"]["value"] = "other"
        path.write_text(json.dumps(state))
        assert self.planned(fleet) == ["a", "b"]  # a has an output to set right, to what b was made with

    def test_environment(self, fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TF_VAR_v", "3")
        assert self.planned(fleet) == ["a", "b", "c", "z"]
        monkeypatch.delenv("TF_VAR_v")

    def test_without_the_cache(self, fleet: Path) -> None:
        assert self.planned(fleet, "-no-cache") == ["a", "b", "c", "z"]

    @pytest.mark.parametrize("text", [b"{", b"[]", b"null", b'{"name": 1}', b'{"name": "1", "entries": {}}', b""])
    def test_a_spoiled_cache_is_none(self, fleet: Path, text: bytes) -> None:
        FLEETS.store(entry_names(str(fleet))[0], text)
        assert self.planned(fleet) == ["a", "b", "c", "z"]

    def test_failures_are_never_kept(self, fleet: Path) -> None:
        write(fleet, {"z/text.txt": "2", "z/other.tf": "locals {\n  x = var.nothing\n}\n"})
        assert self.planned(fleet) == ["z"]
        assert self.planned(fleet) == ["z"]


def test_an_analysis_from_before_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chain(tmp_path, "a", "b", "c")
    shown = ("unit", "wave", "waits_for", "selected_by", "outcome", "because")

    def seen() -> tuple[list[list[object]], list[list[str]]]:
        found = batch(tmp_path, "plan", "-json").json
        return [[unit[name] for name in shown] for unit in found["units"]], found["edges"]

    first = seen()
    with monkeypatch.context() as none:
        none.setattr(finding, "analyse", None)  # nothing is derived again
        assert seen() == first
    write(tmp_path, {"c/main.tf": unit({"up": "a"})})
    assert seen()[1] == [["b", "a"], ["c", "a"]]
    write(tmp_path, {"planner.batch.hcl": 'units "*" {}\nunit "a" { depends_on = [unit.c] }\n'})
    assert "cycle" in batch(tmp_path, "plan").errors
    write(tmp_path, {"planner.batch.hcl": 'units "[ab]" {}\n'})
    assert seen()[1] == [["b", "a"]]


class TestFoldersAreRemembered:
    """Which folders are units is found out once, and again where something has changed."""

    @pytest.fixture
    def fleet(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        chain(tmp_path, "a", "deep/er/b")
        write(
            tmp_path, {"m/main.tf": 'output "x" {\n  value = 1\n}\n', "deep/text.txt": "", ".hidden/main.tf": BACKEND}
        )
        assert self.units(tmp_path) == ["a", "deep/er/b"]
        with monkeypatch.context() as nothing:
            nothing.setattr(root_modules, "_look_into", None)
            assert self.units(tmp_path) == ["a", "deep/er/b"]
        return tmp_path

    def units(self, root: Path) -> list[str]:
        return [unit["unit"] for unit in batch(root, "plan", "-json").json["units"]]

    @pytest.mark.parametrize(
        ("files", "expected"),
        [
            ({"deep/er/c/main.tf": BACKEND}, ["a", "deep/er/b", "deep/er/c"]),
            ({"new/main.tf": BACKEND}, ["a", "deep/er/b", "new"]),
            ({"m/main.tf": BACKEND}, ["a", "deep/er/b", "m"]),
            ({"m/other.tf": BACKEND}, ["a", "deep/er/b", "m"]),
            ({"m/.planner-unit": ""}, ["a", "deep/er/b", "m"]),
            ({"a/main.tf": "# nothing\n"}, ["deep/er/b"]),
            ({"deep/main.tf": "# nothing\n"}, ["a", "deep/er/b"]),
        ],
    )
    def test_changes_are_seen(self, fleet: Path, files: dict[str, str], expected: list[str]) -> None:
        write(fleet, files)
        assert sorted(self.units(fleet)) == expected
        assert sorted(self.units(fleet)) == expected

    def test_what_goes_away_is_seen(self, fleet: Path) -> None:
        shutil.rmtree(fleet / "deep/er")
        assert self.units(fleet) == ["a"]

    def test_a_pattern_of_a_fleets_file(self, fleet: Path) -> None:
        write(fleet, {"planner.batch.hcl": 'units "**" {}\n'})
        assert self.units(fleet) == self.units(fleet) == ["a", "deep/er/b"]
        write(fleet, {"z/main.tf": BACKEND})
        assert sorted(self.units(fleet)) == ["a", "deep/er/b", "z"]


class TestLittleIsWrittenBehind:
    """A run that finds little new does not write all that is known anew."""

    @pytest.fixture
    def fleet(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setattr(cache_files, "LITTLE", 0.5)
        monkeypatch.setattr(cache_files, "MOST_MORE", 2.0)
        chain(tmp_path, "a", "b", "c", "d")
        batch(tmp_path, "plan")
        return tmp_path

    def kept(self, root: Path) -> tuple[bytes, bytes]:
        whole, more = (FLEETS.load(name) for name in entry_names(str(root)))
        return bytes(whole or b""), bytes(more or b"")

    def change(self, root: Path, text: str = "# a remark\n") -> None:
        with (root / "d/main.tf").open("a") as file:
            file.write(text)

    def planned(self, root: Path) -> list[str]:
        return sorted(found["unit"] for found in batch(root, "plan", "-json").json["units"] if not found["reused"])

    def test_the_rest_stays(self, fleet: Path) -> None:
        whole = self.kept(fleet)[0]
        self.change(fleet)
        assert (self.planned(fleet), self.planned(fleet)) == (["d"], [])
        assert self.kept(fleet)[0] == whole
        assert len(self.kept(fleet)[1].splitlines()) == 1
        self.change(fleet, "locals {\n  x = var.nothing\n}\n")
        assert (self.planned(fleet), self.planned(fleet)) == (["d"], ["d"])
        assert self.kept(fleet)[0] == whole

    def test_until_it_is_no_longer_little(self, fleet: Path) -> None:
        whole = self.kept(fleet)[0]
        for _ in range(30):
            self.change(fleet)
            assert self.planned(fleet) == ["d"]
            if self.kept(fleet)[0] != whole:
                break
        else:
            pytest.fail("never written as a whole")
        assert self.planned(fleet) == []

    def test_lines_after_another_whole_count_for_nothing(self, fleet: Path) -> None:
        self.change(fleet)
        assert self.planned(fleet) == ["d"]
        _, lines = self.kept(fleet)
        self.change(fleet)
        batch(fleet, "plan", "-no-cache")
        FLEETS.store(entry_names(str(fleet))[1], lines)
        assert self.planned(fleet) == []


def test_where_python_looks_for_modules_is_no_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = tmp_path / "modules"
    write(modules, {"found_by_nobody.txt": "", "an_import_of_a_test.py": ""})
    monkeypatch.syspath_prepend(str(modules))
    with RECORDER.recording() as paths:
        importlib.invalidate_caches()
        importlib.import_module("an_import_of_a_test")
        os.listdir(tmp_path)
    assert [path for path in paths if str(tmp_path) in path] == [str(tmp_path)]


@pytest.mark.parametrize("command", ["plan", "apply"])
def test_units_leave_nothing_in_circles(tmp_path: Path, command: str) -> None:
    """A process plans thousands of them and looks for garbage seldom. Compiled expressions are circles, but few: they
    go with their file."""
    module = 'module "m" {\n  source = "../m"\n  count = 2\n}\n'
    write(tmp_path, {"a/main.tf": unit(None, "var.v", 'variable "v" {\n  default = 1\n}\n' + module)})
    write(tmp_path, {"m/main.tf": 'resource "terraform_data" "x" {\n  count = 2\n}\n'})
    request = Request("a", str(tmp_path / "a"), "plan")
    assert survey_units([request], ["a"])[0].outputs == ("id",)
    assert run_unit(request).result == "changes"
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        assert run_unit(evolve(request, command=command)).result == {"plan": "changes", "apply": "applied"}[command]
        gc.collect()
        parts = tuple(f"planner.{room}." for room in ("engine.apply", "engine.plan", "engine.walk", "world.provider"))
        left = {type(found) for found in gc.garbage if type(found).__module__.startswith(parts)}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
    assert left == set()


def test_the_survey_of_a_new_unit_is_kept(tmp_path: Path) -> None:
    chain(tmp_path, "a", "b")
    write(tmp_path, {"z/main.tf": BACKEND + 'module "m" {\n  source = "../m"\n}\n', "m/main.tf": ""})
    batch(tmp_path, "plan")
    kept = json.loads(bytes(FLEETS.load(entry_names(str(tmp_path))[0]) or b""))
    assert sorted(kept["entries"]["surveys"]) == ["a", "b", "z"]
    pointers = {path for path, kind, *_ in kept["files"] if kind == "file" and path.endswith("/terraform.tfstate")}
    assert pointers == {str(tmp_path / name / ".terraform/terraform.tfstate") for name in "abz"}


def test_the_process_is_left_as_it_was(tmp_path: Path) -> None:
    chain(tmp_path, "a")
    before = (os.getcwd(), dict(os.environ))
    batch(tmp_path, "plan")
    assert (os.getcwd(), dict(os.environ)) == before


def test_validate(tmp_path: Path) -> None:
    chain(tmp_path, "a", "b")
    ran = batch(tmp_path, "validate", "-json")
    assert ran.outcomes == {"a": "unchanged", "b": "unchanged"}
    write(tmp_path, {"a/main.tf": unit(None, "nonsense.x.y")})
    assert batch(tmp_path, "validate", "-json").outcomes == {"a": "failed", "b": "unchanged"}


class TestInputs:
    """What planner.batch.hcl takes from outputs of other units."""

    TAKES = BACKEND + 'variable "v" {}\nresource "terraform_data" "r" {\n  input = var.v\n}\n'

    def fleet(self, root: Path, upstream: str, attributes: str = "", value: str = "unit.a.id") -> None:
        file = f'unit "a" {{\n{attributes}\n}}\nunit "b" {{\n  inputs = {{ v = {value} }}\n}}\n'
        write(root, {"a/main.tf": upstream, "b/main.tf": self.TAKES, "planner.batch.hcl": file})

    def planned(self, root: Path) -> object:
        rows = batch(root, "query", "-json", 'unit_configured("b", "var.v", "value", V)').json["rows"]
        return [row[0] for row in rows]

    @pytest.mark.parametrize(
        ("backend", "attributes"),
        [
            ('backend "local" {\n    path = "../states/a.tfstate"\n  }', ""),
            ('backend "local" {\n    workspace_dir = "spaces"\n  }', 'workspace = "blue"'),
            ('required_version = ">= 1.0"', 'workspace = "blue"'),
        ],
    )
    def test_states_are_where_the_backend_says(self, tmp_path: Path, backend: str, attributes: str) -> None:
        upstream = f'terraform {{\n  {backend}\n}}\noutput "id" {{\n  value = "from a"\n}}\n'
        self.fleet(tmp_path, upstream, attributes)
        assert batch(tmp_path, "apply", "-auto-approve", "-json").outcomes == {"a": "applied", "b": "applied"}
        assert self.planned(tmp_path) == ["from a"]

    def test_settings_that_only_init_was_given(self, tmp_path: Path) -> None:
        self.fleet(tmp_path, BACKEND + 'output "id" {\n  value = "from a"\n}\n')
        with inside(tmp_path / "a"):
            assert dispatch(["init", "-backend-config=path=other/x.tfstate"], Terminal(stdout=io.StringIO())) == 0
        assert batch(tmp_path, "apply", "-auto-approve").code == 0
        assert (tmp_path / "a/other/x.tfstate").exists()
        assert self.planned(tmp_path) == ["from a"]
        nodes = batch(tmp_path, "graph", "-json").json["nodes"]
        assert nodes[0]["state"] == str(tmp_path.resolve() / "a/other/x.tfstate")

    def test_a_backend_that_cannot_be_read_is_named_with_its_unit(self, tmp_path: Path) -> None:
        settings = 'backend "nimbus" {\n    bucket = "b"\n    key = "k"\n    region = "eu-west-1"\n  }'
        self.fleet(tmp_path, f'terraform {{\n  {settings}\n}}\noutput "id" {{\n  value = 1\n}}\n')
        ran = batch(tmp_path, "plan", "-json", "b")
        (problem,) = ran.unit("b")["diagnostics"]
        assert problem["summary"] == "The outputs of a cannot be read" and "not initialized" in problem["detail"]
        assert batch(tmp_path, "plan", "-json").outcomes == {"a": "failed", "b": "skipped"}

    def test_an_output_that_nobody_declares(self, tmp_path: Path) -> None:
        self.fleet(tmp_path, BACKEND + 'output "id" {\n  value = 1\n}\n', value="unit.a.idd")
        ran = batch(tmp_path, "validate")
        said = " ".join(ran.errors.split())
        assert ran.code == 1 and "unit.a.idd (planner.batch.hcl:5), but a declares no such output." in said
        assert 'Did you mean "id"?' in said
