"""Calling git to look at a repository: nothing is changed in it, and its settings start no program of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence

from planner.foundation.vocabulary.diagnostic import Failure, error

_SETTINGS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.warnAmbiguousRefs=true")
_OF_REPOSITORY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_IMPLICIT_WORK_TREE")
"""variables that hooks get, whose paths belong to another working directory"""


class GitError(Exception):
    """Git failed; the message is its output."""


def command(*words: str) -> list[str]:
    """The command line of git."""
    return ["git", "--no-pager", *_SETTINGS, *words]


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of git: the repository is the one of the directory, unless both its directory and its work tree
    are set; no prompts, no locks, messages in English."""
    is_set = os.path.isabs(environ.get("GIT_DIR", "")) and "GIT_WORK_TREE" in environ
    made = {name: value for name, value in environ.items() if is_set or name not in _OF_REPOSITORY}
    return {**made, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def run(directory: str, words: Sequence[str], data: bytes = b"", accepted: Sequence[int] = (0,)) -> tuple[str, str]:
    """The output and the messages of git in a directory; names that are not text have surrogates. Raises GitError, and
    Failure where git or the directory is missing."""
    try:
        done = subprocess.run(
            command(*words), cwd=directory, env=environment(os.environ), input=data, capture_output=True, check=False
        )
    except (FileNotFoundError, NotADirectoryError) as problem:
        if not os.path.isdir(directory):
            detail = f"{directory} is not a directory."
        else:
            detail = "git was not found on the PATH. Install git, or leave -since out."
        raise Failure(error("git.missing", "Cannot read the repository", detail)) from problem
    except OSError as problem:
        detail = f"git cannot be started: {problem.strerror or problem}."
        raise Failure(error("git.missing", "Cannot read the repository", detail)) from problem
    messages = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode not in accepted:
        raise GitError(messages or f"exit code {done.returncode}")
    return os.fsdecode(done.stdout), messages
