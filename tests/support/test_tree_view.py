"""Files of another time: inside a view, configurations and their functions read a tree under the same paths."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from attrs import frozen
from language.functions.test_families import run

from planner.engine.walk.machine import NOTHING, WorkResult
from planner.engine.walk.pool import _Pool
from planner.foundation.support.disk import (
    TreeEntry,
    UnrecordedError,
    files_read,
    forget_files_read,
    is_directory,
    list_directory,
    looked_at,
    path_exists,
    read_text,
    view,
)
from planner.foundation.values.value import Unknown
from planner.language.config.load import load_config
from planner.language.config.stack_files.load import stack_files
from planner.language.config.test_files.load import find_test_files
from planner.language.config.variables import collect_variables

NOW = {
    "main.tf": 'variable "name" {}\nlocals { now = 1 }',
    "terraform.tfvars": 'name = "now"',
    "now.auto.tfvars": "",
    "a.txt": "now",
    "sub/now.txt": "",
    "now.tftest.hcl": "",
    "now.tfcomponent.hcl": "",
}
THEN = {
    "main.tf": 'variable "name" {}\nmodule "m" { source = "./m" }',
    "m/main.tf": "locals { inner = 1 }",
    ".terraform/modules/modules.json": '{"Modules": [{"Key": "m", "Source": "./m", "Dir": "m"}]}',
    "terraform.tfvars": 'name = "then"',
    "a.txt": "then",
    "sub/then.txt": "",
    "then.tftest.hcl": "",
    "then.tfcomponent.hcl": "",
}


@frozen
class MemoryTree:
    """Files by name."""

    root: str
    files: dict[str, str]

    def read(self, name: str) -> bytes:
        if name not in self.files:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", name)
        return self.files[name].encode()

    def entries(self, directory: str) -> Iterator[TreeEntry]:
        below = "" if directory == "." else f"{directory}/"
        names = sorted({name.removeprefix(below) for name in self.files if name.startswith(below)})
        if not names:
            raise NotADirectoryError(errno.ENOTDIR, "Not a directory", directory)
        for name in dict.fromkeys(name.partition("/")[0] for name in names):
            yield TreeEntry(name, f"{below}{name}" not in self.files)


@pytest.fixture(params=["absolute", "relative", "through a link"])
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The directory, by several names."""
    for name, text in NOW.items():
        path = tmp_path / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "link").symlink_to(tmp_path / "work")
    (tmp_path / "outside.txt").write_text("outside")
    monkeypatch.chdir(tmp_path)
    return {"absolute": str(tmp_path / "work"), "relative": "work", "through a link": "link"}[request.param]


def reading(root: str) -> dict[str, Any]:
    config, problems = load_config(root)
    given, _ = collect_variables(root)
    assert config is not None, problems
    return {
        "files": sorted(config.files),
        "name": given["name"].value(True, problems),  # type: ignore[arg-type]
        "place": str(given["name"].span),
        "file": run("file", "a.txt", base_dir=root),
        "templatefile": read_text(f"{root}/a.txt"),
        "filemd5": run("filemd5", "./sub/../a.txt", base_dir=root),
        "exists": [run("fileexists", f"sub/{name}.txt", base_dir=root) for name in ("now", "then")],
        "fileset": [list(run("fileset", ".", p, base_dir=root).items) for p in ("**", "sub/*", "{sub,x}/t*", "a.txt")],
        "outside": [run("file", "../outside.txt", base_dir=root), run("fileset", "..", "*.txt", base_dir=root).items],
        "directories": [is_directory(f"{root}/{name}") for name in ("", "sub", "m", "a.txt", "sub/..")],
        "there": [path_exists(f"{root}/{name}") for name in ("sub/now.txt", "sub/then.txt", "..", "../outside.txt")],
        "tests": find_test_files(root),
        "stack": stack_files(root).components,
    }


def test_a_view_shows_the_tree_and_nothing_of_the_present(root: str, tmp_path: Path) -> None:
    tree = MemoryTree(str(tmp_path / "work"), THEN)
    before = reading(root)
    with view(tree):
        inside = reading(root)
        with view(None):
            assert reading(root) == before
    apart = tmp_path / "apart"
    for name, text in THEN.items():
        (apart / name).parent.mkdir(parents=True, exist_ok=True)
        (apart / name).write_text(text)
    assert reading(root) == before
    assert inside == reading(str(apart))
    assert inside != before


def test_reads_of_a_tree_are_not_those_of_the_configuration(root: str, tmp_path: Path) -> None:
    forget_files_read()
    with view(MemoryTree(str(tmp_path / "work"), THEN)):
        reading(root)
    assert files_read() == looked_at() == ()


def test_what_is_not_on_record_is_not_known(tmp_path: Path) -> None:
    class Forgetful(MemoryTree):
        def read(self, name: str) -> bytes:
            raise UnrecordedError

    with view(Forgetful(str(tmp_path), THEN)):
        assert isinstance(run("filemd5", "a.txt", base_dir=str(tmp_path)), Unknown)
        assert list(run("fileset", "sub", "*", base_dir=str(tmp_path)).items) == ["then.txt"]


def test_missing_names_are_reported_as_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with view(MemoryTree(str(tmp_path), THEN)):
        with pytest.raises(FileNotFoundError):
            read_text("now.txt")
        with pytest.raises(OSError, match="Not a directory"):
            list_directory("a.txt")
        with pytest.raises(ValueError, match="null"):
            read_text("a\0")


def test_threads_of_a_walk_see_the_view_and_others_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("now")
    texts: list[str] = []

    class Reading:
        def is_inline(self, node: str) -> bool:
            return False

        def run(self, node: str) -> WorkResult:
            texts.append(read_text(node))
            return NOTHING

    with view(MemoryTree(str(tmp_path), THEN)):
        pool = _Pool(Reading(), 1)  # type: ignore[arg-type]
        pool.submit("a.txt")
        pool.take(wait=True)
        other = Thread(target=Reading().run, args=("a.txt",))
        other.start()
        other.join()
    assert texts == ["then", "now"]
