"""What happens around a configuration between two plans: files that its functions look at, the time, links, states that
somebody else writes meanwhile, and a disk without room."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_renewal import CHAIN, STATE, Run, Seen, compared, put, seen

from planner.cli import renewed_plan
from planner.cli.commands.plan import LARGE
from planner.workflows.batch.files_read import ReadComparison, entries, looked_at, with_settled_time
from planner.workflows.renew.renewal import MOST_TEXT, Renewal

__all__ = ["seen"]
USER = 'resource "terraform_data" "a" {\n  input = 1\n}\nresource "terraform_data" "z" {\n  input = %s\n}\n'


def written(name: str, text: str = "two") -> Callable[[], object]:
    return lambda: put({name: text})


def _edit() -> None:
    put({"main.tf": Path("main.tf").read_text().replace("= 1", "= 2")})


def _switch() -> None:
    os.unlink("link")
    os.symlink("two", "link")


LOOKS: dict[str, tuple[str, str, dict[str, str], Callable[[], object]]] = {
    "its own text": ('filemd5("main.tf")', "", {}, _edit),
    "its own text by another name": ('filemd5("${path.module}/./main.tf")', "", {}, _edit),
    "a program": ('filemd5("x.py")', "", {"x.py": "one"}, written("x.py")),
    "a name that comes and goes": ('fileexists("x.tmp")', "", {}, written("x.tmp")),
    "names of ours": ('fileset("d", "*")', "", {"d/x": "one"}, written("d/terraform.tfstate")),
    "names of ours below": ('fileset("d", "**")', "", {"d/x": "one"}, written("d/.terraform/y")),
    "backups": ('fileset("d", "*.backup")', "", {"d/x": "one"}, written("d/x.backup")),
    "here": ('fileset(".", "*")', "", {}, written("more")),
    "one by its name": ('fileset("d", "x")', "", {"d/y": "one"}, written("d/x")),
    "one by its name in any": ('fileset("d", "*/x")', "", {"d/y/z": "one"}, written("d/y/x")),
    "where a link leads to": ('fileexists("s/link")', "s/link -> ../far/x", {"far/y": "one"}, written("far/x")),
    "another link": ('file("link")', "link -> one", {"one": "one", "two": "two"}, _switch),
}


@pytest.mark.parametrize("what", LOOKS)
def test_what_functions_look_at_is_compared(planner: Run, seen: Seen, what: str) -> None:
    value, link, files, change = LOOKS[what]
    put({"main.tf": USER % value, "s/x": "", **files})
    if link:
        name, target = link.split(" -> ")
        os.symlink(target, name)
    before = planner("plan")
    assert before.code == 0
    time.sleep(0.05)  # the clock of the file system can tell
    change()
    assert compared(planner, seen).out != before.out
    compared(planner, seen)


def test_a_link_to_another_file_of_the_same_age_and_size(
    planner: Run, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    put({"main.tf": USER % 'file("link")', "one": "one", "two": "two"})
    os.symlink("one", "link")
    stat, age = os.stat, os.stat("one").st_ctime_ns

    class SameAge:
        def __init__(self, *given: Any, **more: Any) -> None:
            self._of = stat(*given, **more)
            self.st_ctime_ns = age

        def __getattr__(self, name: str) -> Any:
            return getattr(self._of, name)

    time.sleep(0.05)
    monkeypatch.setattr("planner.workflows.batch.files_read.os.stat", SameAge)
    assert "one" in planner("plan").out
    _switch()
    assert "two" in compared(planner, seen).out


@pytest.mark.parametrize(
    ("value", "files"),
    [
        ('templatefile("t", {})', {"t": "${plantimestamp()}"}),
        ("templatestring(local.t, {})", {"t": "${plantimestamp()}", "l.tf": 'locals {\n  t = file("t")\n}\n'}),
        ("local.t", {"l.tf.json": '{"locals": {"t": "${\\u0070lantimestamp()}"}}'}),
    ],
)
def test_who_asks_for_the_time_anywhere_is_planned_anew(
    planner: Run, seen: Seen, tmp_path: Path, value: str, files: dict[str, str]
) -> None:
    put({"main.tf": USER % value, **files})
    assert planner("plan").code == 0
    assert not list((tmp_path / "cache" / "planner").glob("plans/*"))


@pytest.mark.parametrize("edit", [False, True])
def test_a_state_that_is_written_before_the_lock_is_taken(
    planner: Run, seen: Seen, monkeypatch: pytest.MonkeyPatch, edit: bool
) -> None:
    put({"main.tf": CHAIN})
    planner("plan")
    lock = renewed_plan._lock

    def late(known: Any) -> Any:
        monkeypatch.setattr(renewed_plan, "_lock", lock)
        text = Path("main.tf").read_text()
        put({"main.tf": CHAIN})
        assert planner("apply", "-auto-approve").code == 0
        put({"main.tf": text})
        return lock(known)

    if edit:
        put({"main.tf": CHAIN.replace("local.all", "concat(local.all, [1])")})
    monkeypatch.setattr(renewed_plan, "_lock", late)
    compared(planner, seen)


def test_a_file_that_changes_while_a_part_is_planned(planner: Run, seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    put({"main.tf": CHAIN + (USER % 'file("text")').replace('"a"', '"y"'), "text": "one"})
    planner("plan")
    put({"main.tf": Path("main.tf").read_text().replace("input = 1", 'input = file("text")')})
    renewed = Renewal.renewed

    def late(self: Renewal) -> Any:
        put({"text": "two"})
        return renewed(self)

    monkeypatch.setattr(Renewal, "renewed", late)
    assert "one" not in compared(planner, seen).out


def test_the_line_that_says_how_far_a_plan_is_was_not_told(
    planner: Run, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    put({"main.tf": CHAIN})
    monkeypatch.setattr("planner.render.hooks_human.ProgressLine.AFTER", 0.0)
    assert "steps" in planner("plan", terminal=True).err
    assert planner("plan", terminal=True).err == ""


@pytest.mark.parametrize("edit", ["a remark", "a block"])
def test_where_much_has_to_be_read_anew_the_whole_is_planned(planner: Run, seen: Seen, edit: str) -> None:
    more = f"# {MOST_TEXT * 'x'}\n" if edit == "a remark" else ""
    long = f'output "long" {{\n  value = "{MOST_TEXT * "x"}"\n}}\n'
    block = f'resource "terraform_data" "long" {{\n  input = "{MOST_TEXT * "x"}"\n}}\n' if edit == "a block" else long
    put({"main.tf": CHAIN + more + block})
    compared(planner, seen)
    put({"main.tf": (CHAIN + more + block).replace("xx", "y", 1)})
    compared(planner, seen)
    assert seen.how == "whole"
    put({"main.tf": CHAIN + block.replace("x" * MOST_TEXT, "x" * 99)})
    compared(planner, seen)


def test_a_reader_that_goes_away_gets_the_same_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = LARGE // 40  # planning them takes longer than WORTH
    text = "".join(f'resource "terraform_data" "r{i}" {{\n  input = "{i:0200}"\n}}\n' for i in range(many))
    (tmp_path / "main.tf").write_text(text)
    (tmp_path / "home").mkdir()
    around = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "PYTHONUNBUFFERED": "1"}

    def planned() -> int:
        words = [sys.executable, "-m", "planner", "plan"]
        with subprocess.Popen(words, cwd=tmp_path, env=around, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            os.read(process.stdout.fileno(), 10)
            process.stdout.close()
            return process.wait(60)

    assert planned() == planned() == 1
    assert list((tmp_path / "home").glob(".cache/planner/plans/*"))


@pytest.mark.parametrize("words", [("-var-file=link/../x.tfvars",), ("-state=link/../x.tfstate",)])
def test_what_is_above_where_a_link_leads_to(planner: Run, seen: Seen, words: tuple[str, ...]) -> None:
    state = {**STATE, "outputs": {"d": {"value": "was", "type": "string"}}}
    put({"main.tf": CHAIN, "x.tfvars": "", "far/in/y": "", "far/x.tfvars": 'prefix = "one"\n'})
    os.symlink("far/in", "link")
    assert planner("plan", *words).code == 0
    time.sleep(0.05)
    put({"far/x.tfvars": 'prefix = "two"\n', "far/x.tfstate": json.dumps(state)})
    compared(planner, seen, *words)
    assert seen.how == "whole"


def test_what_is_missing_behind_a_link_is_looked_for_each_time(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    os.symlink("far/x", tmp_path / "link")
    time.sleep(0.05)
    (there,) = entries(looked_at(str(tmp_path / "link"), "file")) or []
    later = with_settled_time(there)
    assert ReadComparison().is_same(*later)
    (tmp_path / "far" / "x").touch()
    assert not ReadComparison().is_same(*later)


def test_a_file_that_goes_while_the_plan_is_made(
    planner: Run, seen: Seen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put({"main.tf": CHAIN, "more.tf": 'output "more" {\n  value = 1\n}\n'})
    began = renewed_plan.Watched.gathers

    def late(self: renewed_plan.Watched, *given: Any) -> Any:
        Path("more.tf").unlink()
        return began(self, *given)

    monkeypatch.setattr(renewed_plan.Watched, "gathers", late)
    assert "more" in planner("plan").out
    assert not list((tmp_path / "cache" / "planner").glob("plans/*"))
