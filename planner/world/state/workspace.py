"""Which workspace is selected: the variable TF_WORKSPACE, else the file `environment` in the data folder."""

from __future__ import annotations

import os
from collections.abc import Mapping

from planner.foundation.support.disk import read_whole, replace_file
from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.world.state.backend import DEFAULT_WORKSPACE

_ALLOWED = frozenset("-_.~$&+=:@")


def valid_workspace_name(name: str) -> bool:
    """Whether a name can stand in a path and a URL as it is."""
    return bool(name) and all(c in _ALLOWED or (c.isascii() and c.isalnum()) for c in name)


def data_directory(environment: Mapping[str, str]) -> str:
    """Where the working directory keeps its data: TF_DATA_DIR, else `.terraform`."""
    return environment.get("TF_DATA_DIR") or ".terraform"


def current_workspace(directory: str, environment: Mapping[str, str]) -> tuple[str, bool, list[Diagnostic]]:
    """The selected workspace of the working directory, whether TF_WORKSPACE decides it, and what is wrong with it.

    A data folder that cannot be read means the default workspace."""
    forced = environment.get("TF_WORKSPACE")
    if forced:
        if valid_workspace_name(forced):
            return forced, True, []
        problem = error(
            "state.workspace_name",
            "Invalid workspace name",
            f'TF_WORKSPACE names the workspace "{forced}", but names take only letters, digits and -_.~$&+=:@.',
        )
        return forced, True, [problem]
    path = os.path.join(directory, data_directory(environment), "environment")
    try:
        name = read_whole(path).decode("utf-8").strip()
    except OSError:
        return DEFAULT_WORKSPACE, False, []
    except UnicodeDecodeError:
        name = "\N{REPLACEMENT CHARACTER}"
    if name and not valid_workspace_name(name):
        detail = (
            f"{path} names the selected workspace, but its content is not a valid name. Remove it, then select again."
        )
        return name, False, [error("state.workspace_file", "Cannot tell which workspace is selected", detail)]
    return name or DEFAULT_WORKSPACE, False, []


def select_workspace(directory: str, environment: Mapping[str, str], name: str) -> list[Diagnostic]:
    """Remember a workspace as the selected one."""
    folder = os.path.join(directory, data_directory(environment))
    try:
        os.makedirs(folder, exist_ok=True)
        replace_file(os.path.join(folder, "environment"), name.encode())
    except OSError as e:
        return [
            error("state.workspace_file", "Cannot select the workspace", f"{e.filename or folder}: {e.strerror or e}.")
        ]
    return []
