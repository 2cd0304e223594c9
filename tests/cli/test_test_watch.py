"""`test -watch`: what a change reaches is run again, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.foundation.support.watch import SECONDS

ROOT = 'output "o" {\n  value = file("text")\n}\n'
ASSERTING = '  assert {\n    condition     = output.o == "one"\n    error_message = "it is ${output.o}"\n  }\n'
FILES = {
    "main.tf": ROOT,
    "text": "one",
    "m/main.tf": 'output "m" {\n  value = 1\n}\n',
    "root.tftest.hcl": f'run "x" {{\n{ASSERTING}}}\n',
    "tests/module.tftest.hcl": 'run "y" {\n  module {\n    source = "./m"\n  }\n}\n',
    "own.plannertest.hcl": 'mock_provider "terraform" {\n  source = "mocks"\n}\n'
    'run "z" {\n  module {\n    source = "./m"\n  }\n}\n',
    "mocks/m.tfmock.hcl": 'mock_resource "terraform_data" {\n}\n',
}


class Watched:
    """A process of `test -watch`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def round(self) -> str:
        """What it says until it waits."""
        assert self.process.stdout is not None
        lines: list[str] = []
        while "press Ctrl-C to stop" not in "".join(lines[-1:]):
            line = self.process.stdout.readline()
            assert line, "".join(lines)
            lines.append(line)
        return "".join(lines)


@pytest.fixture
def words() -> tuple[str, ...]:
    """More of the command."""
    return ()


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> Iterator[Watched]:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    command = [sys.executable, "-m", "planner"]
    subprocess.run([*command, "init"], check=True, capture_output=True)
    with subprocess.Popen(
        [*command, "test", "-watch", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        watch = threading.Timer(60, process.kill)  # so that what it has said is seen
        watch.start()
        yield Watched(process)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGINT)
        process.wait(60)
        watch.cancel()


def changed(name: str, text: str) -> None:
    beside = Path(f"{name}.new")
    beside.write_text(text)
    beside.replace(name)


def test_what_a_change_reaches(watched: Watched) -> None:
    assert "Success! 3 passed, 0 failed." in watched.round()
    changed("text", "two")
    said = watched.round()
    assert "text changed: 1 of 3 test files to run." in said
    assert "it is two" in said and "Failure! 0 passed, 1 failed." in said
    changed("m/main.tf", FILES["m/main.tf"].replace("1", "2"))
    said = watched.round()
    assert f"{Path('m/main.tf')} changed: 2 of 3 test files to run." in said
    assert 'run "y"... pass' in said and 'run "z"... pass' in said and 'run "x"' not in said
    changed("mocks/m.tfmock.hcl", "mock_resource {\n")
    assert "Error:" in watched.round()
    changed("mocks/m.tfmock.hcl", FILES["mocks/m.tfmock.hcl"])
    said = watched.round()
    assert 'run "z"... pass' in said and 'run "y"' not in said
    changed("tests/more.tftest.hcl", FILES["root.tftest.hcl"].replace('"one"', '"two"'))
    said = watched.round()
    assert "Changed: 1 of 4 test files to run." in said and "tests/more.tftest.hcl... pass" in said
    changed("tests/more.tftest.hcl", "")
    watched.round()
    asking = 'run "z" {\n  command = plan\n  policy "p" {\n    verdict = "pass"\n  }\n}\n'
    changed("own.plannertest.hcl", asking)
    assert 'run "z"... fail' in watched.round()
    beside = Path.cwd().parent / "planner-to-be"  # so that the folder appears with its file
    (beside / "policies").mkdir(parents=True)
    (beside / "policies" / "p.dl").write_text('deny("p", A, "no") :- planned(A, "input", 1).\n')
    beside.rename(".planner")
    said = watched.round()
    assert "p.dl changed: 1 of 4 test files to run." in said
    os.kill(watched.process.pid, signal.SIGINT)
    assert watched.process.wait(60) == 0


RUNS = """
run "alone" {
  command = plan
  assert {
    condition     = "${output.o}${file("note")}" != "one"
    error_message = "no note"
  }
}
run "made" {
}
run "after" {
  command = plan
  variables {
    given = run.made.o
  }
  assert {
    condition     = var.given == "one"
    error_message = "not one"
  }
}
"""


def test_runs_that_an_edit_of_their_file_leaves_as_they_were(watched: Watched) -> None:
    Path("note").write_text("1")
    watched.round()
    changed("main.tf", f'{ROOT}variable "given" {{\n  default = ""\n}}\n')
    watched.round()
    changed("root.tftest.hcl", RUNS)
    said = watched.round()
    assert "Success! 3 passed, 0 failed." in said and "unchanged" not in said
    edited = RUNS.replace("not one", "another")
    changed("root.tftest.hcl", edited)
    said = watched.round()
    assert 'run "alone"... pass (unchanged)\n' in said and "Success! 3 passed, 0 failed." in said
    assert 'run "made"... pass\n' in said and 'run "after"... pass\n' in said
    changed("note", "")  # no executed run has read it
    said = watched.round()
    assert 'run "alone"... fail\n' in said and "unchanged" not in said
    edited = edited.replace("no note", "none")
    changed("root.tftest.hcl", edited)
    said = watched.round()
    assert 'run "alone"... fail\n' in said and "none" in said
    assert 'run "made"... pass (unchanged)\n' in said and 'run "after"... pass (unchanged)\n' in said
    changed("root.tftest.hcl", f"# the same\n{edited}")
    assert "unchanged" not in watched.round()


DEPENDING = """
run "made" {
  variables {
    given = "two"
  }
}
run "uses" {
  command = plan
  assert {
    condition     = output.given == "two" || terraform_data.kept.input == "two"
    error_message = "not two"
  }
}
run "lists" {
  command = plan
  module {
    source = "./m"
  }
  assert {
    condition     = output.m == 1 && length(fileset(".", "listed/*")) == 0
    error_message = "something is listed"
  }
}
"""
KEPT = """variable "given" {
  default = ""
}
output "given" {
  value = var.given
}
resource "terraform_data" "kept" {
  input = var.given
  lifecycle {
    ignore_changes = [input]
  }
}
"""


def test_what_a_run_used_before_the_edit_counts(watched: Watched) -> None:
    watched.round()
    changed("main.tf", KEPT)
    watched.round()
    changed("tests/module.tftest.hcl", DEPENDING)
    subprocess.run([sys.executable, "-m", "planner", "init"], check=True, capture_output=True)
    while "module.tftest.hcl... pass" not in watched.round():
        pass
    changed("tests/module.tftest.hcl", DEPENDING.replace('run "made" {', 'run "made" {\n  command = plan'))
    said = watched.round()
    assert 'run "uses"... fail' in said and "unchanged" not in said
    changed("tests/module.tftest.hcl", DEPENDING)
    assert "module.tftest.hcl... pass" in watched.round()
    changed(
        "tests/module.tftest.hcl",
        DEPENDING.replace("var.given", "var.gone").replace('given = "two"', "given = var.gone"),
    )
    said = watched.round()
    assert 'run "made"... fail' in said and 'run "lists"... skip' in said and "unchanged" not in said
    changed("tests/module.tftest.hcl", DEPENDING)
    assert "module.tftest.hcl... pass" in watched.round()
    Path("listed").mkdir()
    changed("listed/one", "1")
    said = watched.round()
    assert 'run "lists"... fail' in said and "unchanged" not in said


@pytest.mark.slow
def test_what_nobody_reads_begins_no_round(watched: Watched) -> None:
    watched.round()
    Path("report.json").write_text("what a round writes itself")
    time.sleep(4 * SECONDS)
    changed("text", "two")
    assert watched.round().startswith("\ntext changed: 1 of 3 test files to run.")


@pytest.mark.slow
@pytest.mark.parametrize("words", [("-coverage",)])
def test_coverage_is_that_of_all_files(watched: Watched) -> None:
    Path("two.tftest.hcl").write_text('variables {\n  v = "y"\n}\nrun "x" {\n}\n')
    changed("main.tf", 'variable "v" {\n  default = "x"\n}\noutput "o" {\n  value = var.v == "y" ? "one" : "1"\n}\n')
    said = watched.round()
    while "two.tftest.hcl... pass" not in said:
        said = watched.round()
    assert "Coverage: 3 of 3 (100%)." in said
    changed("two.tftest.hcl", 'variables {\n  v = "y"\n}\nrun "y" {\n}\n')
    said = watched.round()
    assert "1 of 4 test files" in said and "Coverage: 3 of 3 (100%)." in said
    changed("two.tftest.hcl", 'run "y" {\n}\n')
    said = watched.round()
    assert "1 of 4 test files" in said and "never true" in said
    changed("root.tftest.hcl", 'run "x" {\n  command = plan\n}\n')
    Path("two.tftest.hcl").unlink()
    while "1 of 3 test files" not in said:
        said = watched.round()
    assert "Coverage: 2 of 3 (66%)." in said


def test_an_interrupt_of_a_round_ends_it_well(watched: Watched) -> None:
    watched.round()
    changed(
        "main.tf",
        'resource "terraform_data" "slow" {\n  provisioner "local-exec" {\n'
        '    command = "touch started; while [ ! -e go ]; do sleep 0.05; done"\n  }\n}\n',
    )
    while not Path("started").exists():
        assert watched.process.poll() is None
    os.kill(watched.process.pid, signal.SIGINT)
    assert watched.process.stdout is not None
    said = ""
    while "Gracefully shutting down" not in said:
        said += watched.process.stdout.readline()
    Path("go").touch()
    said = watched.process.stdout.read()
    assert watched.process.wait(60) == 1
    assert "Unsupported attribute" in said or "undeclared output" in said
    assert not Path("errored_test.tfstate").exists()


@pytest.mark.parametrize("option", ["-json", "-json-into=x", "-junit-xml=x"])
def test_options_that_contradict_each_other(option: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "planner", "test", "-watch", option]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 1 and "Conflicting options" in ran.stdout + ran.stderr
