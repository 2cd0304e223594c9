"""Completion of command lines by shells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conformance import forked

from planner.cli.completion import completions
from planner.cli.completion_words import WORDS_OF_WHY
from planner.operations.effects import words_of_why


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("planner va", ["validate", "vars"]),
        ("planner state ", ["journal", "list", "mv", "pull", "push", "replace-provider", "rm", "show", "verify"]),
        ("planner workspace se", ["select"]),
        ("planner env se", ["select"]),
        ("planner -chdir=x plan -detailed", ["-detailed-exitcode"]),
        ("planner plan -ou", ["-out="]),
        ("planner plan nothing-", []),
        ("planner -ver", ["-version"]),
        ("planner unknown -", []),
    ],
)
def test_words(line: str, words: list[str]) -> None:
    assert completions(line) == words


def test_a_shell_asks(tmp_path: Path) -> None:
    done = forked.run([], tmp_path, {"COMP_LINE": "planner workspace s xyz", "COMP_POINT": "19"})
    assert (done.returncode, done.stdout) == (0, "select\nshow\n")


def test_it_is_installed_and_removed(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    assert "Nothing was changed" in forked.run(["-install-autocomplete"], tmp_path, environ).stderr
    (tmp_path / ".bashrc").write_text("alias a=b")
    (tmp_path / ".zshrc").write_text("")
    (tmp_path / ".config/fish").mkdir(parents=True)
    assert forked.run(["-install-autocomplete"], tmp_path, environ).stdout.count("Added to") == 3
    lines = (tmp_path / ".bashrc").read_text().splitlines()
    assert lines[0] == "alias a=b" and lines[1].startswith("complete -C ") and lines[1].endswith(" planner")
    assert "bashcompinit" in (tmp_path / ".zshrc").read_text()
    assert forked.run(["-install-autocomplete"], tmp_path, environ).returncode == 1
    assert forked.run(["-uninstall-autocomplete"], tmp_path, environ).stdout.count("Removed from") == 3
    assert (tmp_path / ".bashrc").read_text() == "alias a=b\n"
    assert forked.run(["-uninstall-autocomplete"], tmp_path, environ).returncode == 1


CONFIGURATION = {
    "main.tf": """variable "size" {}
resource "terraform_data" "a" {}
data "http" "b" {}
module "net" {
  source = "./net"
}
output "id" { value = 1 }
""",
    "net/main.tf": 'resource "terraform_data" "inner" {}\n',
    "terraform.tfstate": json.dumps(
        {"resources": [{"type": "terraform_data", "name": "a", "instances": [{"index_key": "x y"}, {"index_key": 0}]}]}
    ),
    "terraform.tfstate.d/stage/terraform.tfstate": "{",
    "policies/p.dl": "",
    ".planner/policies/own.dl": 'deny("open", A, "m") :- x(A).\nwarn("size", A, "m") :- x(A).\n',
}


@pytest.mark.parametrize(
    ("line", "current", "words"),
    [
        (
            "planner why ",
            "",
            [
                *sorted(
                    [
                        *WORDS_OF_WHY, "data.http.b", "module.net", "module.net.terraform_data.inner", "output.id",
                        "terraform_data.a", r"terraform_data.a\[0\]", r"terraform_data.a\[\"x\ y\"\]", "var.size",
                    ]
                ),
            ],
        ),
        ("planner why un", "", ["undecided", "unknown"]),
        ("planner why unknown var", "", ["var.size"]),
        ("planner why deny ", "", ["open", "size"]),
        ("planner why -full deny size data", "", ["data.http.b"]),
        ("planner why file policies/", "", ["policies/p.dl"]),
        ("planner query allpa", "", ["allpaths", r"allpaths\("]),
        ("planner query 'edge(X, Y), in_sta", "", ["edge(X, Y), in_state("]),
        ("planner query allpaths data", "", ["data.http.b"]),
        ("planner query 'deps(data", "", ["deps(data.http.b"]),
        ("planner query 'deps(data.http.b) & rde", "", ["deps(data.http.b) & rdeps("]),
        ('planner taint "terraform_data.a[', "a[", [r"a[0]", r"a[\"x y\"]"]),
        ("planner taint 'terraform_data.a[\"", "", ['terraform_data.a["x y"]']),
        ("planner plan -target=module.net.", "", ["-target=module.net.terraform_data.inner"]),
        ("planner plan -target=module.net.", "module.net.", ["module.net.terraform_data.inner"]),  # as bash asks
        ("planner plan --target=data", "", ["--target=data.http.b"]),
        ("planner taint te", "", [r"terraform_data.a\[0\]", r"terraform_data.a\[\"x\ y\"\]"]),
        (r"planner taint terraform_data.a\[\"", "", [r"terraform_data.a\[\"x\ y\"\]"]),
        ("planner plan -var=", "", ["-var=size="]),
        ("planner output ", "", ["id"]),
        ("planner workspace select ", "", ["default", "stage"]),
        ("planner env delete s", "", ["stage"]),
        ("planner plan -policy=po", "", ["-policy=policies/"]),
        ("planner plan -policy=policies/", "", ["-policy=policies/p.dl"]),
        ("planner policy check -policy=builtin:protection", "protection", ["protection"]),
        ("planner batch plan n", "", ["net"]),
        ("planner query change_", "", None),
        ("planner explain state.locke", "", ["state.locked"]),
        ("planner docs fleet", "", ["fleet-file", "fleets"]),
        ("planner schema revie", "", ["review"]),
        ("planner help wo", "", ["workspace"]),
        ("planner plan -var-file=nothing/", "", []),
        ("planner plan -detailed-exitcode=", "", []),
    ],
)  # fmt: skip
def test_words_of_the_working_directory(
    line: str, current: str, words: list[str] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in CONFIGURATION.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    found = completions(line, current)
    assert found == words if words is not None else found


def test_the_words_of_why_are_all_there() -> None:
    assert list(WORDS_OF_WHY) == words_of_why()


@pytest.mark.parametrize("name", ["main.tf", "terraform.tfstate"])
@pytest.mark.parametrize("content", [b"\xff\xfe{", b"[" * 100_000, b'{"resources": 1}', b"[1]"])
def test_damaged_files_give_no_words(
    name: str, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(content)
    assert completions("planner taint ") == []
