"""The files of a repository at a revision, with real repositories."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planner.foundation.support.disk import list_directory, path_exists, read_text, view
from planner.foundation.vocabulary.diagnostic import Failure
from planner.language.config.load import load_config
from planner.operations.graphs import edited_since_commit
from planner.workflows.batch.selectors import changed_files
from planner.world.git.revisions import head_of, implied_base
from planner.world.git.tree import git_tree

AGO = "2020-01-01T00:00:00Z"
IDENTITY = {
    **{f"GIT_{who}_{what}": f"{what}@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    **{f"GIT_{who}_DATE": AGO for who in ("AUTHOR", "COMMITTER")},
}
Files = dict[str, Any]


def git(directory: Path, *words: str) -> str:
    environ = {**os.environ, **IDENTITY, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    settings = ("-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always")
    done = subprocess.run(
        ["git", *settings, *words], cwd=directory, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def write(directory: Path, files: Files) -> None:
    """Files by name; None removes one, a tuple makes a link."""
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None or isinstance(text, tuple):
            path.unlink(missing_ok=True)
        if isinstance(text, tuple):
            path.symlink_to(text[0])
        elif text is not None:
            path.write_text(text)


def committed(directory: Path, files: Files, now: Files) -> Path:
    """A repository with one commit, and files changed since then."""
    directory.mkdir(parents=True, exist_ok=True)
    git(directory, "init", "-q")
    write(directory, files)
    git(directory, "add", "-A")
    git(directory, "commit", "-qm", "one", "--allow-empty")
    write(directory, now)
    return directory


def contents(root: Path, below: str = ".") -> Files:
    """All that can be read below a directory, but for the repository itself."""
    found: Files = {}
    for entry in list_directory(str(root / below)):
        name = os.path.normpath(os.path.join(below, entry.name))
        if entry.name != ".git" and entry.is_dir():
            found |= contents(root, name)
        elif entry.name != ".git":
            try:
                found[name] = read_text(root / name)
            except OSError as problem:
                found[name] = problem.__class__.__name__
    return found


def snapshot(root: Path) -> tuple[str, bytes, str]:
    """The state of the work tree and the index."""
    index = root / git(root, "rev-parse", "--git-path", "index")
    return git(root, "status", "--porcelain", "--ignored"), index.read_bytes(), git(root, "stash", "list")


CASES: dict[str, tuple[Files, Files, Files]] = {
    "edited": ({"a": "1", "d/b": "2"}, {"a": "x", "d/b": "y"}, {"a": "1", "d/b": "2"}),
    "removed": ({"a": "1", "d/b": "2", "d/e/c": "3"}, {"d/b": None}, {"a": "1", "d/b": "2", "d/e/c": "3"}),
    "new": ({"a": "1"}, {"b": "2", "d/c": "3"}, {"a": "1"}),
    "ignored": (
        {"a": "1", ".gitignore": "b\nd/"},
        {"b": "2", "d/c": "3"},
        {"a": "1", ".gitignore": "b\nd/", "b": "2", "d/c": "3"},
    ),
    "data directory": ({"a": "1"}, {".terraform/modules/x": "2"}, {"a": "1", ".terraform/modules/x": "2"}),
    "link": ({"d/a": "1", "l": ("d",), "m": ("d/a",)}, {"d/a": "x", "l": None}, {"d/a": "1", "l/a": "1", "m": "1"}),
    "link up": ({"a": "1", "d/l": ("../a",)}, {"a": "x"}, {"a": "1", "d/l": "1"}),
    "link to nothing": ({"l": ("nowhere",)}, {}, {"l": "FileNotFoundError"}),
    "links in a circle": ({"l": ("m",), "m": ("l",)}, {}, {"l": "OSError", "m": "OSError"}),
    "link outside, as now": ({"l": ("../outside.txt",)}, {}, {"l": "outside"}),
    "link outside, then": ({"l": ("../outside.txt",)}, {"l": None}, {"l": "OSError"}),
    "link to an absolute path": ({"l": ("/etc/hostname",)}, {"l": None}, {"l": "OSError"}),
    "file that was a directory": ({"d/a": "1"}, {"d/a": None, "e": "2"}, {"d/a": "1"}),
    "hostile names": (
        {"-rf": "1", ":(glob)*": "2", 'q"\n': "3", "ü": "4", "a b": "5"},
        {"-rf": "x", ":(glob)*": "x", 'q"\n': None, "*": "new"},
        {"-rf": "1", ":(glob)*": "2", 'q"\n': "3", "ü": "4", "a b": "5"},
    ),
    "lock file and values": (
        {".terraform.lock.hcl": "1", "terraform.tfvars": "2"},
        {".terraform.lock.hcl": "x", "terraform.tfvars": None, "b.auto.tfvars": "new"},
        {".terraform.lock.hcl": "1", "terraform.tfvars": "2"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("files", "now", "then"), CASES.values(), ids=CASES)
def test_the_files_of_a_commit(files: Files, now: Files, then: Files, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("outside")
    root = committed(tmp_path / "r", files, now)
    before = snapshot(root)
    with view(git_tree(str(root), "HEAD")):
        assert contents(root) == then
    assert snapshot(root) == before


def test_what_is_taken_from_the_disk_is_remembered_unless_it_is_old(tmp_path: Path) -> None:
    root = committed(tmp_path, {".gitignore": "*.tfvars\n.terraform"}, {"a.tfvars": "1", ".terraform/x": "2"})
    tree = git_tree(str(root), "HEAD")
    assert tree.taken_from_disk == ()
    with view(tree):
        assert read_text(root / "a.tfvars") == "1"
        assert read_text(root / ".terraform/x") == "2"
        with pytest.raises(FileNotFoundError):
            read_text(root / ".terraform/y")
    assert tree.taken_from_disk == (".terraform/x", "a.tfvars")
    git(root, "-c", "user.name=x", "commit", "-qm", "later", "--allow-empty", "--date=now")
    environ = {**os.environ, **IDENTITY, "GIT_COMMITTER_DATE": "2038-01-01T00:00:00Z"}
    subprocess.run(["git", "commit", "-qm", "in the future", "--allow-empty"], cwd=root, env=environ, check=True)
    (root / "untracked").write_text("3")
    later = git_tree(str(root), "HEAD")
    with view(later):
        assert [read_text(root / name) for name in ("a.tfvars", ".terraform/x", "untracked")] == ["1", "2", "3"]
    assert later.taken_from_disk == ()


def test_what_was_added_to_the_index_since_then_is_missing(tmp_path: Path) -> None:
    root = committed(tmp_path, {"a": "1"}, {})
    write(root, {"b": "2", "d/c": "3"})
    git(root, "add", "-A")
    for name in ("b", "d/c", "d"):
        os.utime(root / name, (0, 0))
    with view(git_tree(str(root), "HEAD")):
        assert contents(root) == {"a": "1"}
        assert not path_exists(str(root / "d"))


@pytest.mark.parametrize("state", ["checked out", "another commit", "removed", "never fetched"])
def test_submodules_are_read_at_the_recorded_commit(state: str, tmp_path: Path) -> None:
    library = committed(tmp_path / "library", {"main.tf": "# 1", "inner/x": "1"}, {})
    root = committed(tmp_path / "r", {"a": "1"}, {})
    git(root, "submodule", "add", "-q", str(library), "lib")
    git(root, "commit", "-qm", "with a library")
    write(library, {"main.tf": "# 2"})
    git(library, "commit", "-qam", "two")
    if state == "another commit":
        git(root / "lib", "pull", "-q")
        assert (root / "lib/main.tf").read_text() == "# 2"
        git(root, "commit", "-qam", "another library")
    elif state == "removed":
        git(root, "rm", "-qf", "lib")
        git(root, "commit", "-qm", "no library")
    elif state == "never fetched":
        git(tmp_path, "clone", "-q", str(root), "clone")
        root = tmp_path / "clone"
    tree = git_tree(str(root), "HEAD" if state in ("checked out", "never fetched") else "HEAD~1")
    with view(tree):
        found = {name: text for name, text in contents(root).items() if name.startswith("lib/")}
    if state == "never fetched":
        assert (found, tree.taken_from_disk) == ({}, ("lib",))
    else:
        assert found == {"lib/main.tf": "# 1", "lib/inner/x": "1"}


def test_a_configuration_in_a_directory_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = '{"Modules": [{"Key": "m", "Source": "../modules/m", "Dir": "../modules/m"}]}'
    call = 'module "m" { source = "../modules/m" }'
    files = {"env/main.tf": call, "modules/m/main.tf": "locals { then = 1 }", ".gitignore": ".terraform"}
    now = {"modules/m/main.tf": "locals { now = 1 }", "env/new.tf": "", "env/.terraform/modules/modules.json": manifest}
    root = committed(tmp_path, files, now)
    monkeypatch.chdir(root / "env")
    for directory in (".", str(root / "env")):
        with view(git_tree(directory, "HEAD")):
            config, problems = load_config(directory)
        assert config is not None, problems
        assert sorted(config.files) == ["../modules/m/main.tf", "main.tf"]
        assert sorted(config.root.children["m"].locals) == ["then"]


def test_worktrees_of_a_bare_repository(tmp_path: Path) -> None:
    committed(tmp_path / "r", {"a": "1"}, {})
    git(tmp_path, "clone", "-q", "--bare", "r", "bare")
    git(tmp_path / "bare", "worktree", "add", "-q", "../work", "-b", "topic")
    write(tmp_path / "work", {"a": "2"})
    with view(git_tree(str(tmp_path / "work"), "main")):
        assert contents(tmp_path / "work") == {"a": "1"}
    with pytest.raises(Failure) as failure:
        git_tree(str(tmp_path / "bare"), "main")
    assert "without a work tree" in failure.value.diagnostics[0].detail


def test_variables_of_a_hook_do_not_lead_to_another_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = committed(tmp_path / "other", {"a": "other"}, {})
    root = committed(tmp_path / "r", {"d/a": "1"}, {"d/a": "2"})
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
    with view(git_tree(str(root / "d"), "HEAD")):
        assert contents(root / "d") == {"a": "1"}


def test_settings_of_a_repository_start_no_program(tmp_path: Path) -> None:
    root = committed(tmp_path / "r", {"a": "1", ".gitattributes": "* filter=evil diff=evil\nb filter=a=b"}, {"b": "2"})
    program = tmp_path / "evil"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    program.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "diff.external", "diff.evil.textconv", "filter.evil.smudge"):
        git(root, "config", name, str(program))
    git(root, "config", "filter.evil.clean", str(program))
    git(root, "config", "filter.a=b.process", str(program))
    (root / ".git/hooks/post-index-change").symlink_to(program)
    with view(git_tree(str(root), "HEAD")):
        assert contents(root)["a"] == "1"
    write(root, {"a": "3"})
    os.utime(root / "b", (1, 1))
    head = head_of(str(root))
    assert head is not None and head.is_edited
    assert edited_since_commit(str(root))({"file": str(root / "a"), "line": 1})
    assert implied_base({}, str(root)) is not None
    assert not (tmp_path / "started").exists()


def test_submodules_and_missing_objects_start_no_program(tmp_path: Path) -> None:
    root = committed(tmp_path / "r", {"a": "1"}, {"b": "2"})
    program = tmp_path / "evil"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    program.chmod(0o755)
    committed(root / "sub", {"f": "1"}, {})
    git(root, "add", "sub")
    git(root, "commit", "-qm", "sub")
    write(root, {"sub/.git/info/attributes": "* filter=evil", "sub/f": "2"})
    git(root / "sub", "config", "filter.evil.clean", str(program))
    write(root, {".git/info/attributes": "* filter=evil", "b": "3"})
    git(root, "config", "filter.evil.clean", str(program))
    git(root, "config", "core.fsmonitor", str(program))
    assert head_of(str(root)) is not None
    assert implied_base({}, str(root)) is not None
    assert "b" in changed_files(str(root), "HEAD~1")
    settings = {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
    }
    settings |= {"remote.origin.url": f"file://{root}", "remote.origin.uploadpack": f"{program}; git-upload-pack"}
    for name, value in settings.items():
        git(root, "config", name, value)
    object_id = git(root, "rev-parse", "HEAD~1:a")
    (root / ".git/objects" / object_id[:2] / object_id[2:]).unlink()
    with view(git_tree(str(root), "HEAD~1")):
        contents(root)
    assert not (tmp_path / "started").exists()


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 5\n"


def test_files_in_large_file_storage(tmp_path: Path) -> None:
    checksum = hashlib.sha256(b"large").hexdigest()
    pointer = POINTER.format(checksum)
    root = committed(tmp_path, {"stored": pointer, "here": pointer, "pointer": pointer, "gone": pointer}, {})
    write(root, {"stored": "x", "here": "large", "gone": "x"})
    tree = git_tree(str(root), "HEAD")
    with view(tree):
        assert contents(root) == {"stored": "OSError", "here": "large", "pointer": pointer, "gone": "OSError"}
    assert [name for name, _ in tree.unreadable] == ["gone", "stored"]
    assert "git lfs fetch" in tree.unreadable[0][1]
    write(root, {f".git/lfs/objects/{checksum[:2]}/{checksum[2:4]}/{checksum}": "large"})
    with view(git_tree(str(root), "HEAD")):
        assert contents(root)["gone"] == "large"


def many(root: Path) -> None:
    git(root, "tag", "v1")
    write(root, {"a": "2"})
    git(root, "commit", "-qam", "two")
    git(root, "branch", "v1")


def shallow(root: Path) -> None:
    git(root, "branch", "old")
    write(root, {"a": "2"})
    git(root, "commit", "-qam", "two")
    root.rename(root.with_name("origin"))
    git(root.parent, "clone", "-q", "--depth=1", f"file://{root.with_name('origin')}", root.name)


def unborn(root: Path) -> None:
    git(root, "update-ref", "-d", "HEAD")


def gone(root: Path) -> None:
    (root / ".git").rename(root / "not-git")


REVISIONS: list[tuple[Callable[[Path], None] | None, str, str]] = [
    (None, "HEAD", ""),
    (None, "main", ""),
    (None, "HEAD^{tree}", "no branch, tag or commit"),
    (None, "HEAD:a", "no branch, tag or commit"),
    (None, "mian", 'no branch, tag or commit mian. Did you mean "main"?'),
    (None, "--output=evil", "is not a revision"),
    (None, "", "is not a revision"),
    (None, "a\nb", "is not a revision"),
    (None, "a b", "no branch, tag or commit"),
    (None, "$(touch evil)", "no branch, tag or commit"),
    (None, "HEAD@{1}", "no branch, tag or commit"),
    (many, "v1", "is a branch and a tag"),
    (many, "tags/v1", ""),
    (shallow, "origin/old", "git fetch --depth=1 origin +old:refs/remotes/origin/old"),
    (shallow, "0123456789012345678901234567890123456789", "git fetch --depth=1 origin 0123"),
    (shallow, "HEAD~1", "git fetch --deepen=50"),
    (unborn, "HEAD", "no commits yet"),
    (gone, "HEAD", "not in a git repository"),
]


@pytest.mark.parametrize(("prepare", "ref", "message"), REVISIONS, ids=[f"{r[1]!r} {r[2][:20]}" for r in REVISIONS])
def test_revisions(prepare: Callable[[Path], None] | None, ref: str, message: str, tmp_path: Path) -> None:
    root = committed(tmp_path / "r", {"a": "1"}, {})
    if prepare is not None:
        prepare(root)
    if not message:
        assert len(git_tree(str(root), ref).commit) == 40
        return
    with pytest.raises(Failure) as failure:
        git_tree(str(root), ref)
    assert message in failure.value.diagnostics[0].detail
    assert not list(tmp_path.rglob("evil"))


def test_a_shallow_clone_reads_what_the_hint_fetches(tmp_path: Path) -> None:
    root = committed(tmp_path / "r", {"a": "1"}, {})
    shallow(root)
    git(root, "fetch", "-q", "--depth=1", "origin", "+old:refs/remotes/origin/old")
    with view(git_tree(str(root), "origin/old")):
        assert contents(root) == {"a": "1"}


def test_a_repository_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = committed(tmp_path, {"a": "1"}, {})
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(Failure) as failure:
        git_tree(str(root), "HEAD")
    assert "git config --global --add safe.directory" in failure.value.diagnostics[0].detail


# The revision that a directory is compared with where none is named.


def branches(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A clone with a topic branch that has left `main`, and the commits by name."""
    origin = committed(tmp_path / "origin", {"env/main.tf": "# 1", "modules/m/old.tf": ""}, {})
    git(tmp_path, "clone", "-q", "origin", "r")
    root = tmp_path / "r"
    git(root, "checkout", "-qb", "topic")
    write(root, {"env/main.tf": "# 2"})
    git(root, "commit", "-qam", "topic")
    write(origin, {"env/other.tf": "# 1"})
    git(origin, "add", "-A")
    git(origin, "commit", "-qm", "meanwhile")
    git(root, "fetch", "-q")
    commits = {"began": "main", "tip": "origin/main", "topic": "topic"}
    return root, {name: git(root, "rev-parse", ref) for name, ref in commits.items()}


BASES: list[tuple[dict[str, str], Files, str]] = [
    ({}, {}, ""),
    ({}, {"env/main.tf": "# 3"}, "topic"),
    ({}, {"env/new.txt": "x"}, "topic"),
    ({}, {"modules/m/old.tf": "x", "modules/m/new.tf": None}, "topic"),
    ({}, {"modules/m/new.tf": "x"}, "topic"),
    ({}, {"called/by/nothing.tf": "x"}, ""),
    ({}, {"elsewhere.txt": "x"}, ""),
    ({}, {"env/terraform.tfstate": "x"}, ""),
    ({"GITHUB_BASE_REF": "main"}, {}, "tip"),
    ({"GITHUB_BASE_REF": ""}, {}, ""),
    ({"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "CI_MERGE_REQUEST_DIFF_BASE_SHA": "{began}"}, {}, "tip"),
    ({"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "gone", "CI_MERGE_REQUEST_DIFF_BASE_SHA": "{began}"}, {}, "began"),
    ({"BUILDKITE_PULL_REQUEST_BASE_BRANCH": "main"}, {}, "tip"),
    ({"SYSTEM_PULLREQUEST_TARGETBRANCH": "refs/heads/main"}, {}, "tip"),
    ({"BASE_BRANCH_NAME": "main"}, {"env/main.tf": "# 3"}, "tip"),
    ({"GITHUB_BASE_REF": "gone"}, {}, "origin/gone is not in this clone. To fetch it, run git fetch --depth=1"),
    ({"GITHUB_BASE_REF": "--upload-pack=evil"}, {}, "origin/--upload-pack=evil is not in this clone"),
]


@pytest.mark.parametrize(("environ", "files", "base"), BASES, ids=[f"{b[0]} {[*b[1]]}" for b in BASES])
def test_the_base_of_a_pull_request(environ: dict[str, str], files: Files, base: str, tmp_path: Path) -> None:
    root, commits = branches(tmp_path)
    write(root, files)
    before = snapshot(root)
    found = implied_base({name: value.format(**commits) for name, value in environ.items()}, str(root / "env"))
    assert snapshot(root) == before
    if not base:
        assert found is None
    else:
        assert found is not None
        assert found.commit == commits.get(base, "")
        assert base in commits or base in found.hint


def test_the_base_of_the_merge_that_github_checks_out(tmp_path: Path) -> None:
    root, commits = branches(tmp_path)
    git(root, "checkout", "-q", "--detach", "origin/main")
    git(root, "merge", "-q", "topic", "-m", "merge")
    git(tmp_path, "clone", "-q", "--depth=2", "--no-local", "--single-branch", "r", "runner")
    found = implied_base({"GITHUB_BASE_REF": "main"}, str(tmp_path / "runner"))
    assert found is not None
    assert found.commit == commits["tip"]


def test_no_repository_and_no_commit_have_no_base(tmp_path: Path) -> None:
    assert implied_base({"GITHUB_BASE_REF": ""}, str(tmp_path)) is None
    git(tmp_path, "init", "-q")
    write(tmp_path, {"a.tf": ""})
    assert implied_base({}, str(tmp_path)) is None
