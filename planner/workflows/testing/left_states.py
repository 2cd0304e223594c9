"""States of runs that are written to files: what could not be cleaned up, and what runs keep."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import chain, count
from urllib.parse import quote

from planner.foundation.support.disk import replace_file
from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.language.config.test_files.model import TestFile, TestRun, state_name
from planner.workflows.testing.results import object_addresses
from planner.world.state.file import write_state
from planner.world.state.model import State
from planner.world.state.workspace import data_directory

LEFT_OVER = "errored_test.tfstate"
"""where a state is written that could not be cleaned up"""


def kept_path(file: TestFile, state: str) -> str:
    """Where a state is written that a run keeps."""
    name = f"{quote(file.name, safe='')}{'-' * bool(state)}{quote(state, safe='')}.tfstate"
    return os.path.join(data_directory(os.environ), "test", name)


def left_before(file: TestFile, run: TestRun) -> list[Diagnostic]:
    """An error when the state that the run is going to keep is still there from another time."""
    if not run.keeps_state:
        return []
    path = kept_path(file, state_name(run))
    if not os.path.lexists(path):
        return []
    detail = (
        f"{path} has what a run of this file made another time and did not clean up (skip_cleanup). Destroy it with "
        f"'planner destroy -state={path}' and remove the file, so that it is not forgotten."
    )
    return [error("test.state_kept", "State of an earlier test is left", detail, run.span)]


def save_beside(state: State, path: str = LEFT_OVER) -> tuple[str, list[Diagnostic]]:
    """Write a state to a file that is not there yet, as others may do at this moment; where, and what went wrong."""
    with suppress(OSError):  # said in a moment
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    root, ending = os.path.splitext(path)
    for free in chain([path], (f"{root}.{number}{ending}" for number in count(2))):
        try:
            open(free, "x").close()
        except FileExistsError:
            continue
        except OSError:
            pass
        return free, save(state, free)
    raise AssertionError


def save(state: State, path: str) -> list[Diagnostic]:
    """Write a state; what went wrong."""
    try:
        replace_file(path, write_state(state), 0o600)
    except OSError as problem:
        objects = "".join(f"\n  - {address}" for address, _ in object_addresses(state))
        detail = f"{path}: {problem.strerror or problem}. What is left has to be cleaned up by hand:{objects}"
        return [error("test.state_file", "Failed to persist state", detail)]
    return []
