"""Reads git repositories: the repository of a directory, commits, and the default revision for comparisons."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean, word
from planner.foundation.vocabulary.records import frozen

# Calls of git never change the repository and never run programs from its settings.

_SETTINGS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.warnAmbiguousRefs=true")
_OFFLINE = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1"}
"""environment variables with which git fetches nothing, not even missing objects of a partial clone. A fetch could
start programs that the repository's settings name"""
_SUBMODULES = "--ignore-submodules=dirty"
"""an option with which git compares only the commits of submodules, not their files. Comparing the files would use the
settings of the submodules"""
_OF_REPOSITORY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_IMPLICIT_WORK_TREE")
"""environment variables that git sets for hooks; their paths may be relative to the directory in which the hook runs"""


class GitError(Exception):
    """git failed. The message is its error output or, if there is none, the exit code."""


def command(*words: str) -> list[str]:
    return ["git", "--no-pager", *_SETTINGS, *words]


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment in which git runs: without prompts and locks, with messages in English. git uses the repository
    of the working directory, unless GIT_WORK_TREE and an absolute GIT_DIR are set."""
    is_set = os.path.isabs(environ.get("GIT_DIR", "")) and "GIT_WORK_TREE" in environ
    made = {name: value for name, value in environ.items() if is_set or name not in _OF_REPOSITORY}
    return {**made, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **_OFFLINE}


_FILTERING = ("status", "diff")
"""git commands that pass edited files through filters, which are programs named in git's settings"""


def _without_filters(directory: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Environment variables that disable filters from the repository's own settings. Filters from the user's settings,
    such as Git LFS, stay enabled. Raises GitError and Failure."""
    words = [
        "config",
        "--show-scope",
        "--includes",
        "--name-only",
        "-z",
        "--get-regexp",
        r"^filter\..*\.(clean|process)$",
    ]
    parts = run(directory, words, accepted=(0, 1))[0].split("\0")
    own = [name for scope, name in zip(parts[::2], parts[1::2], strict=False) if scope in ("local", "worktree")]
    given = environ.get("GIT_CONFIG_COUNT", "")
    first = int(given) if given.isascii() and given.isdigit() else 0
    settings = [(name, "") for name in own] + [(f"{name.rpartition('.')[0]}.required", "false") for name in own]
    made = {"GIT_CONFIG_COUNT": str(first + len(settings))} if settings else {}
    for number, (name, value) in enumerate(settings, first):
        made |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return made


def run(directory: str, words: Sequence[str], data: bytes = b"", accepted: Sequence[int] = (0,)) -> tuple[str, str]:
    """Run git. Returns its output and its error output. `data`: its input. Names that are not UTF-8 contain surrogates.
    Raises GitError if the exit code is not one of `accepted`, and Failure if git cannot be started."""
    environ = environment(os.environ)
    if words[0] in _FILTERING:
        environ |= _without_filters(directory, environ)
    try:
        done = subprocess.run(command(*words), cwd=directory, env=environ, input=data, capture_output=True, check=False)
    except (FileNotFoundError, NotADirectoryError) as problem:
        if not os.path.isdir(directory):
            detail = f"{directory} is not a directory."
        else:
            detail = "git was not found on the PATH. Install git, or omit -since."
        raise Failure(error("git.missing", "Cannot read the repository", detail)) from problem
    except OSError as problem:
        detail = f"git cannot be started: {problem.strerror or problem}."
        raise Failure(error("git.missing", "Cannot read the repository", detail)) from problem
    messages = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode not in accepted:
        raise GitError(messages or f"exit code {done.returncode}")
    return os.fsdecode(done.stdout), messages


_TITLE = "Cannot read the revision"
_READ = (".tf", ".tofu", ".tf.json", ".tofu.json", ".tfvars", ".tfvars.json", ".hcl", ".tftpl", ".tpl")
"""suffixes of files that configurations may read anywhere in the repository"""


def top_of(directory: str) -> str:
    """The top directory of the work tree that contains a directory, as an absolute path without links. Raises
    Failure."""
    try:
        output, _ = run(directory, ["rev-parse", "--show-toplevel"])
    except GitError as problem:
        raise Failure(_no_repository(directory, str(problem))) from None
    return os.path.realpath(output.removesuffix("\n"))


class Head(NamedTuple):
    """The checked-out branch and commit. `path`: the directory relative to the top of the repository ("" for the
    top)."""

    path: str
    branch: str  # "" if HEAD is detached
    commit: str  # its first nine digits
    is_edited: bool  # whether tracked files differ from the commit


def head_of(directory: str) -> Head | None:
    """The checked-out branch and commit; None if there is no repository, no commit or no git."""
    try:
        path = run(directory, ["rev-parse", "--show-prefix"])[0].strip().rstrip("/")
        lines = run(directory, ["status", "--porcelain=v2", "--branch", "--untracked-files=no", _SUBMODULES])[
            0
        ].splitlines()
    except (GitError, Failure):
        return None
    about = {words[1]: words[2] for line in lines if line.startswith("# ") and len(words := line.split(" ", 2)) > 2}
    commit, branch = about.get("branch.oid", "(initial)"), about.get("branch.head", "")
    if commit == "(initial)":
        return None
    edited = any(not line.startswith("# ") for line in lines)
    return Head(path, "" if branch == "(detached)" else branch, commit[:9], edited)


def _no_repository(directory: str, message: str) -> Diagnostic:
    shown = os.path.abspath(directory)
    if "dubious ownership" in message:
        named = re.search(r"in repository at '([^'\n]*)'", message)
        place = word(named[1] if named else shown)
        detail = (
            f"The repository of {shown} belongs to another user, so git does not read it. If you trust it: "
            f"git config --global --add safe.directory {place}"
        )
    elif "not a git repository" in message:
        detail = f"{shown} is not in a git repository."
    elif "must be run in a work tree" in message:
        detail = f"{shown} is in a repository without a work tree. Use a directory created with git worktree add."
    else:
        detail = f"git failed: {message}"
    return error("git.repository", _TITLE, detail)


def commit_of(directory: str, ref: str) -> str:
    """The hash of the commit that a revision names, in hexadecimal digits. Raises Failure if there is no such commit;
    the message contains a remedy if planner knows one."""
    if not ref or ref.startswith("-") or not ref.isprintable():
        detail = f"{ref!r} is not a revision: name a branch, a tag or a commit."
        raise Failure(error("git.revision", _TITLE, detail))
    try:
        output, messages = run(directory, ["rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}"])
    except GitError as problem:
        top_of(directory)  # reports problems of the repository, if any
        raise Failure(error("git.revision", _TITLE, _unknown(directory, ref, str(problem)))) from None
    if "is ambiguous" in messages:
        detail = f"{ref} is a branch and a tag. Write heads/{ref} or tags/{ref}."
        raise Failure(error("git.revision", _TITLE, detail))
    return output.strip()


def _unknown(directory: str, ref: str, message: str) -> str:
    if "is ambiguous" in message:
        return f"{ref} matches several commits: write more digits."
    try:
        if not run(directory, ["rev-list", "--max-count=1", "--all"])[0]:
            return "The repository has no commits yet."
        if run(directory, ["rev-parse", "--is-shallow-repository"])[0].strip() == "true":
            return f"{ref} is not in this shallow clone. {fetch_hint(ref)}"
        names = run(directory, ["for-each-ref", "--format=%(refname:short)"])[0].split("\n")
    except GitError as problem:
        return f"git failed: {problem}"
    return f"The repository has no branch, tag or commit {ref}.{did_you_mean(ref, [n for n in names if n])}"


def fetch_hint(ref: str) -> str:
    """The advice on how to fetch a missing revision into a shallow clone."""
    name = ref.removeprefix("origin/")
    if re.search(r"[~^@{:]|^HEAD$", name):
        return "To fetch it, run git fetch --deepen=50 or git fetch --unshallow."
    if name == ref:
        return f"To fetch it, run git fetch --depth=1 origin {word(name)}"
    return f"To fetch it, run git fetch --depth=1 origin {word(f'+{name}:refs/remotes/origin/{name}')}"


# Default revisions for comparisons.


@frozen
class Base:
    """A revision to compare with, its name, and the reason for choosing it. `commit` is "" if it is not in the clone;
    `hint` then describes how to fetch it."""

    commit: str
    name: str
    reason: str
    hint: str = ""


_BRANCHES = (
    "GITHUB_BASE_REF",
    "CI_MERGE_REQUEST_TARGET_BRANCH_NAME",
    "BUILDKITE_PULL_REQUEST_BASE_BRANCH",
    "SYSTEM_PULLREQUEST_TARGETBRANCH",
    "BASE_BRANCH_NAME",
)
"""environment variables with the target branch of a pull request in GitHub, GitLab, Buildkite, Azure Pipelines and
Atlantis"""
_COMMITS = ("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", "CI_MERGE_REQUEST_DIFF_BASE_SHA")
"""GitLab's environment variables with the commit at the tip of the target branch, and with the commit at which the
source branch began"""


def implied_base(environ: Mapping[str, str], directory: str) -> Base | None:
    """The revision to compare with if no values of an earlier apply are recorded. In CI, it is the base of the pull
    request. Otherwise it is HEAD if files that configurations read have uncommitted changes. In all other cases, and
    without git, it is None."""
    variables = [name for name in (_COMMITS[0], *_BRANCHES, _COMMITS[1]) if environ.get(name, "").strip()]
    try:
        bases = [_base(directory, name, environ[name].strip()) for name in variables]
        if bases:
            return next((base for base in bases if base.commit), bases[0])
        if _is_dirty(directory):
            return Base(commit_of(directory, "HEAD"), "HEAD", "uncommitted changes")
    except (Failure, GitError):  # no repository
        pass
    return None


def _base(directory: str, variable: str, value: str) -> Base:
    """The base revision that the value of an environment variable names: a commit, or a target branch, whose tip is
    assumed to have been applied. `commit` of the result is "" if the clone lacks the commit."""
    name = value.removeprefix("refs/heads/")
    candidates = [value] if variable in _COMMITS else [f"refs/remotes/origin/{name}", f"refs/heads/{name}"]
    if variable == "GITHUB_BASE_REF" and _is_merge(directory):
        candidates.append("HEAD^1")  # GitHub checks out a merge commit, whose first parent is the base
    for ref in candidates:
        try:
            return Base(commit_of(directory, ref), name, variable)
        except Failure:
            continue
    missing = name if variable in _COMMITS else f"origin/{name}"
    return Base("", name, variable, f"{missing} is not in this clone. {fetch_hint(missing)}")


def _is_merge(directory: str) -> bool:
    try:
        return len(run(directory, ["rev-list", "--parents", "--max-count=1", "HEAD"])[0].split()) > 2
    except GitError:
        return False


def _is_dirty(directory: str) -> bool:
    """Whether files that a configuration may read differ from HEAD. These are all files in the directory except states.
    Elsewhere in the repository, these are only files with a suffix in _READ. Raises GitError and Failure."""
    top = top_of(directory)
    words = ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal", _SUBMODULES]
    own = os.path.relpath(os.path.realpath(directory), top)
    below = "" if own == "." else f"{own}/"
    for line in run(top, words)[0].split("\0"):
        path = line[3:]
        if path and (path.startswith(below) or path.endswith(_READ)) and ".tfstate" not in path:
            return True
    return False
