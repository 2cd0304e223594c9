"""Where a file should be: pipes, endless devices and links in circles are told of and never waited for; a pipe that
somebody names himself is read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conformance import forked
from thinned import thinned

from planner.foundation.support.disk import read_given, read_whole, replace_file

MAIN = 'variable "v" {\n  default = "d"\n}\noutput "o" {\n  value = var.v\n}\n'


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(MAIN)
    return tmp_path


def planner(*words: str, given: str | None = None) -> tuple[int, str]:
    """A real process, for what waits would wait for ever."""
    done = forked.run([*words, "-no-color"], Path.cwd(), stdin=given or "", timeout=60)
    assert "Traceback" not in done.stderr and "Internal error" not in done.stderr
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def circle(path: Path) -> None:
    path.symlink_to(path.name)


ODD = {
    "pipe": (os.mkfifo, "Not a regular file"),
    "device": (endless, "Not a regular file"),
    "circle": (circle, "Too many levels of symbolic links"),
}
PLACES: list[tuple[str, list[list[str]]]] = [
    ("x.tf", [["validate"], ["fmt"]]),
    ("x.auto.tfvars", [["plan"]]),
    (".terraform.lock.hcl", [["init"]]),
    (".terraform/modules/modules.json", [["validate"]]),
    (".terraform/terraform.tfstate", [["plan"]]),
    ("terraform.tfstate", [["state", "list"], ["apply", "-auto-approve"]]),
    (".planner/policies/x.dl", [["plan", "-policy=.planner/policies"]]),
]


@pytest.mark.parametrize(("place", "commands"), PLACES, ids=[place for place, _ in PLACES])
@pytest.mark.parametrize("kind", thinned(list(ODD), 2))
def test_no_file(work: Path, kind: str, place: str, commands: list[list[str]]) -> None:
    make: Callable[[Path], None]
    make, told = ODD[kind]
    (work / place).parent.mkdir(parents=True, exist_ok=True)
    make(work / place)
    for command in commands:
        code, said = planner(*command)
        assert code in (1, 2) and told in said, said


def test_functions(work: Path) -> None:
    os.mkfifo("p")
    calls = [
        f'{name}("{path}")' for name in ("file", "filebase64", "filemd5", "filesha512") for path in ("p", "/dev/zero")
    ]
    calls += ['templatefile("p", {})', 'fileexists("p")']
    for n, call in enumerate(calls):
        (work / f"{n}.tf").write_text(f'output "o{n}" {{\n  value = {call}\n}}\n')
    code, said = planner("plan")
    assert code == 1 and said.lower().count("not a regular file") == len(calls)


def test_the_null_device_is_a_file_without_content(work: Path) -> None:
    (work / "n.tf").symlink_to(os.devnull)
    (work / "o.tf").write_text('output "n" {\n  value = "${file("/dev/null")}-${join(",", fileset(".", "*.tf"))}"\n}\n')
    code, said = planner("plan", "-var-file=/dev/null")
    assert code == 0 and "-main.tf,o.tf" in said


@pytest.mark.parametrize("name", ["/dev/stdin", "/dev/fd/0"])
def test_pipes_that_are_named(work: Path, name: str) -> None:
    code, said = planner("plan", f"-var-file={name}", given='v = "piped"\n')
    assert code == 0 and "piped" in said


def test_an_endless_device_that_is_named(work: Path) -> None:
    code, said = planner("plan", "-var-file=/dev/zero")
    assert code == 1 and "larger than 64 MiB" in said


def test_states_and_plans_through_pipes(work: Path) -> None:
    assert planner("apply", "-auto-approve")[0] == 0
    code, said = planner("show", "/dev/stdin", given=(work / "terraform.tfstate").read_text())
    assert code == 0 and 'o = "d"' in said
    code, said = planner("state", "push", "-force", "/dev/stdin", given=(work / "terraform.tfstate").read_text())
    assert code == 0, said


def test_helpers(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    assert read_whole(path) == read_given(path) == read_whole(path, 5) == b"12345"
    with pytest.raises(OSError, match="larger than"):
        read_whole(path, 4)
    with pytest.raises(IsADirectoryError):
        read_whole(tmp_path)
    with pytest.raises(ValueError, match="null"):
        read_whole("a\0b")
    reading, writing = os.pipe()
    os.write(writing, b"in a pipe")
    os.close(writing)
    assert read_given(f"/proc/self/fd/{reading}") == b"in a pipe"
    os.close(reading)
    os.mkfifo(tmp_path / "p")
    with pytest.raises(OSError, match="No such device"):
        replace_file(str(tmp_path / "p"), b"nobody reads this")


DEEP = [
    (".terraform.lock.hcl", f"a = {'[' * 5000}", "nested too deep"),
    (".terraform.lock.hcl", '{"a":' * 5000, "nested too deep"),
    (
        ".terraform.lock.hcl",
        'provider "registry.opentofu.org/a/b" {\n version = "1.0.0"\n constraints = 1.5\n}',
        "a string",
    ),
    (
        ".terraform.lock.hcl",
        'provider "registry.opentofu.org/a/b" {\n version = "1.0.0"\n constraints = []\n}',
        "a string",
    ),
    (
        ".terraform.lock.hcl",
        'provider "registry.opentofu.org/a/b" {\n version = "1.0.0"\n hashes = []\n}',
        "at least one",
    ),
    (".terraform.lock.hcl", 'provider "registry.opentofu.org/a/b" {\n version = 1\n}', "cannot be parsed"),
    (".terraform/terraform.tfstate", '{"backend":' + "[" * 100_000, "does not describe a backend"),
    (".terraform/terraform.tfstate", '{"backend": {"type": "local", "hash": 1e400}}', "does not describe a backend"),
    (
        ".terraform/terraform.tfstate",
        '{"backend": {"type": "local", "config": [[1, 2]]}}',
        "does not describe a backend",
    ),
]


@pytest.mark.parametrize(("place", "text", "told"), DEEP)
def test_texts_that_make_no_sense(work: Path, place: str, text: str, told: str) -> None:
    (work / place).parent.mkdir(exist_ok=True)
    (work / place).write_text(text)
    code, said = planner("init")
    assert code == 1 and told in said, said


@pytest.mark.parametrize("command", ["init", "get", "providers", "plan"])
def test_directories_where_none_is_taken(work: Path, command: str) -> None:
    for name in ("extra", "there"):
        (work / "there").mkdir(exist_ok=True)
        code, said = planner(command, name)
        assert code == 1 and f"{command} takes no directory; use -chdir=DIR" in said, said


def test_a_directory_that_is_not_there(work: Path) -> None:
    code, said = planner("validate", "extra")
    assert code == 1 and "directory extra does not exist" in said


def test_a_plugin_cache_that_cannot_be_opened(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (work / "rc").write_text(f'plugin_cache_dir = "{work}/missing/one"\n')
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(work / "rc"))
    code, said = planner("init")
    assert code == 0 and f"{work}/missing/one cannot be opened: No such file or directory" in said
    monkeypatch.setenv("TF_PLUGIN_CACHE_DIR", str(work / "main.tf"))
    code, said = planner("init")
    assert code == 0 and "main.tf cannot be opened: Not a directory" in said
    monkeypatch.setenv("TF_PLUGIN_CACHE_DIR", str(work))
    code, said = planner("init")
    assert code == 0 and "cannot be opened" not in said
