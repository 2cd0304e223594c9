"""Standard streams that are full, gone or closed: the work is done all the same, and the command says what is lost. And
streams that programs read: nothing but the answer stands there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conformance.forked import Forker
from thinned import thinned

from planner.cli import index
from planner.render.terminal import Output, cell, visible
from planner.world.state.backends.local import StateStore

MAIN = """
variable "x" { default = "v" }
resource "terraform_data" "a" { input = var.x }
resource "terraform_data" "b" { input = terraform_data.a.output }
output "o" { value = terraform_data.b.output }
check "never" {
  assert {
    condition     = var.x == "other"
    error_message = "a warning of every plan"
  }
}
"""
WORDS = {
    "import": ["import", "terraform_data.c", "id"],
    "state mv": ["state", "mv", "terraform_data.a", "terraform_data.z"],
    "state rm": ["state", "rm", "terraform_data.a"],
    "state show": ["state", "show", "terraform_data.a"],
    "state push": ["state", "push", "-"],
    "state replace-provider": ["state", "replace-provider", "-auto-approve", "a/b", "a/c"],
    "taint": ["taint", "terraform_data.a"],
    "untaint": ["untaint", "terraform_data.a"],
    "force-unlock": ["force-unlock", "-force", "no-lock"],
    "workspace new": ["workspace", "new", "other"],
    "workspace select": ["workspace", "select", "default"],
    "workspace delete": ["workspace", "delete", "other"],
    "why": ["why", "terraform_data.b", "terraform_data.a"],
    "query": ["query", "edge(X, Y)"],
    "apply": ["apply", "-auto-approve", "-var=x=new"],
    "destroy": ["destroy", "-auto-approve"],
    "refresh": ["refresh"],
    "providers lock": ["providers", "lock", "-platform=linux_amd64"],
    "providers mirror": ["providers", "mirror", "mirror"],
    "policy check": ["policy", "check", "-policy=builtin:required_tags"],
    "batch why": ["batch", "why", "a", "b"],
    "batch query": ["batch", "query", "unit(X, Y)"],
    "batch policy": ["batch", "policy"],
    "batch apply": ["batch", "apply", "-auto-approve"],
    "batch destroy": ["batch", "destroy", "-auto-approve"],
    "rules doc": ["rules", "doc", "edge"],
    "rules check": ["rules", "check", "x.dl"],
    "rules test": ["rules", "test", "x.case"],
    "console": ["console"],
    "get": ["get"],
    "fmt": ["fmt"],
}
LEFT_OUT = frozenset(("batch plan", "batch apply", "batch destroy", "batch resume", "test", "watch"))
"""those that start processes of their own, or do not end, have tests beside theirs"""
COMMANDS = sorted(set(index.COMMANDS) - LEFT_OUT)
FORKER = Forker()


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory where everything is applied."""
    here = tmp_path_factory.mktemp("applied")
    (here / "main.tf").write_text(MAIN)
    for words in (["init"], ["apply", "-auto-approve"]):
        assert FORKER.execute(words, here, _environment(here), 60)[0] == 0
    return here


@pytest.fixture
def here(applied: Path, tmp_path: Path) -> Path:
    for file in ("main.tf", "terraform.tfstate"):
        (tmp_path / file).write_bytes((applied / file).read_bytes())
    return tmp_path


def _environment(here: Path) -> dict[str, str]:
    return {
        **{name: os.environ[name] for name in ("PATH", "XDG_CACHE_HOME", "XDG_STATE_HOME")},
        "HOME": str(here),
    }


def _state(here: Path) -> object:
    """What a command left behind, but for identities and serials."""
    document = json.loads((here / "terraform.tfstate").read_bytes())
    return sorted(
        (r["name"], json.dumps([i["attributes"]["input"] for i in r["instances"]])) for r in document["resources"]
    )


@pytest.mark.parametrize("stream", ["full", pytest.param("broken", marks=pytest.mark.slow), "missing"])
@pytest.mark.parametrize("command", thinned(COMMANDS, 9))
def test_what_cannot_be_printed_does_not_stop_the_work(
    here: Path, command: str, stream: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    twin = tmp_path_factory.mktemp("twin")
    for file in ("main.tf", "terraform.tfstate"):
        (twin / file).write_bytes((here / file).read_bytes())
    words = WORDS.get(command, command.split())
    wanted, out, _ = FORKER.execute(words, twin, _environment(twin), 60)
    code, _, err = FORKER.execute(words, here, _environment(here), 60, stdout=stream)
    assert "Internal error" not in err
    assert "Traceback" not in err
    assert _state(here) == _state(twin)
    assert code == (1 if out and stream != "missing" else wanted)
    assert ("Cannot write standard output" in err) == (bool(out) and stream == "full")


@pytest.mark.parametrize("command", ["apply", "plan", "console", "state push", "destroy"])
def test_without_any_stream(here: Path, command: str) -> None:
    """Files that are opened then must not get the numbers of the standard streams."""
    words = WORDS.get(command, command.split())
    quoted = " ".join(f"'{word}'" for word in [sys.executable, "-m", "planner", *words])
    done = subprocess.run(["sh", "-c", f"{quoted} <&- >&- 2>&-"], cwd=here, env=_environment(here), check=False)
    assert done.returncode == (1 if command == "state push" else 0)
    names = [name for name, _ in _state(here)]  # type: ignore[attr-defined]
    assert names == ([] if command == "destroy" else ["a", "b"])


@pytest.mark.parametrize(
    "command",
    thinned(
        sorted(
            index.ANSWERS
            - {"fmt", "batch policy", "batch query", "batch graph", "batch why", "rules stats", "state verify"}
        ),
        3,
    ),
)
def test_only_the_answer_is_printed_where_programs_read(here: Path, command: str) -> None:
    """With a journal to recover and with warnings, standard output says the same as without either."""
    words = WORDS.get(command, command.split())
    quiet = here.parent / f"{here.name}-quiet"
    quiet.mkdir()
    (quiet / "main.tf").write_text(MAIN.replace('"other"', '"v"'))
    (quiet / "terraform.tfstate").write_bytes((here / "terraform.tfstate").read_bytes())
    _leave_journal(here)
    _, wanted, _ = FORKER.execute(words, quiet, _environment(quiet), 60)
    _, out, err = FORKER.execute(words, here, _environment(here), 60)
    if command in ("state list", "state pull", "output", "show", "console", "graph"):
        assert "Warning: An interrupted operation was recovered" in err
    if command == "state pull":  # the recovered state has the next serial
        wanted = wanted.replace('"serial":1', '"serial":2').replace('"serial": 1', '"serial": 2')
        assert json.loads(out)
    if command == "drift":
        wanted = wanted.replace("serial 1", "serial 2")
    assert "Warning" not in out
    if command != "why":  # names lines
        assert sorted(out.replace("other", "v").splitlines()) == sorted(wanted.replace("other", "v").splitlines())


@pytest.mark.parametrize("command", ["plan", "apply", "destroy", "state list", "workspace list", "init", "refresh"])
def test_json_lines_are_all_that_is_printed(here: Path, command: str) -> None:
    _leave_journal(here)
    words = [*WORDS.get(command, command.split()), "-json"]
    code, out, _ = FORKER.execute(words, here, _environment(here), 60)
    assert code == 0
    assert [json.loads(line) for line in out.splitlines()]


def _leave_journal(here: Path) -> None:
    """As a process leaves it that was killed."""
    store = StateStore(str(here / "terraform.tfstate"))
    store.read()
    journal, _ = store.begin_journal("apply")
    assert journal is not None
    journal.start("terraform_data.a", "", "update", True)
    journal.close()


def test_a_failing_file_of_json_lines(here: Path) -> None:
    words = ["apply", "-auto-approve", "-var=x=new", "-json-into=/dev/full"]
    code, _, err = FORKER.execute(words, here, _environment(here), 60)
    assert code == 1
    assert "Cannot write /dev/full" in err
    assert "new" in str(_state(here))


def test_text_that_utf8_has_not(tmp_path: Path) -> None:
    with (tmp_path / "f").open("w", encoding="utf-8") as file:
        output = Output(file, "f")
        output.write("a\ud800b\n")
        output.flush()
    assert (tmp_path / "f").read_text("utf-8") == "a\ufffdb\n"
    assert output.problem is None


@pytest.mark.parametrize(
    ("text", "shown", "in_a_cell"),
    [
        ("a b\u00e9", "a b\u00e9", "a b\u00e9"),
        ("a\nb\tc", "a\nb\tc", "a\\nb\\tc"),
        ("\x1b[2Kdeny", "\u241b[2Kdeny", "\\x1b[2Kdeny"),
        ("a\rpass", "a\u240dpass", "a\\rpass"),
        ("\x9b2K\x85", "\\u009b2K\\u0085", "\\u009b2K\\u0085"),
        ("a\u202eb\u2066", "a\\u202eb\\u2066", "a\\u202eb\\u2066"),
        ("\x7f", "\u2421", "\\x7f"),
    ],
)
def test_what_steers_a_terminal_is_shown(text: str, shown: str, in_a_cell: str) -> None:
    assert visible(text) == shown
    assert cell(text) == in_a_cell
