"""Which files changed since a revision: what git says, and files that it does not know yet."""

from __future__ import annotations

import os
import subprocess

from planner.foundation.vocabulary.diagnostic import Failure, error


def changed_files(root: str, revision: str) -> list[str]:
    """Paths as seen from `root`, sorted, of everything in its repository that differs from the revision. Raises Failure
    when git cannot say."""
    if revision.startswith("-"):
        raise Failure(error("batch.revision", "Not a revision", f'"{revision}" is an option and no revision.'))
    top = _git(root, "rev-parse", "--show-toplevel").rstrip("\n")
    differing = _git(root, "diff", "--name-only", "--no-renames", "-z", revision, "--", top)
    unknown = _git(top, "ls-files", "--others", "--exclude-standard", "-z")
    names = {name for name in (*differing.split("\0"), *unknown.split("\0")) if name}
    return sorted(os.path.relpath(os.path.join(os.path.realpath(top), n), os.path.realpath(root)) for n in names)


def _git(folder: str, *words: str) -> str:
    try:
        done = subprocess.run(["git", "-C", folder, *words], capture_output=True, check=False, stdin=subprocess.DEVNULL)
    except OSError as problem:
        detail = f"git cannot be started: {problem.strerror or problem}."
        raise Failure(error("batch.git", "Changes cannot be found", detail)) from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise Failure(error("batch.git", "Changes cannot be found", f"git {words[0]} says: {said}"))
    return done.stdout.decode("utf-8", "surrogateescape")
