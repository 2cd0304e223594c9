"""Which state is meant? One name for a state, whoever speaks of it: the module that writes it, others that read it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from planner.state.backends.local import (
    DEFAULT_PATH,
    DEFAULT_WORKSPACE,
    DEFAULT_WORKSPACE_DIRECTORY,
    LocalBackend,
)

SECRETS = frozenset(("access_key", "secret_key", "token", "password", "client_secret", "credentials", "conn_str"))
"""settings that say who asks, not what is asked for"""


def state_identity(
    kind: str, settings: Mapping[str, Any], workspace: str = DEFAULT_WORKSPACE, directory: str = "."
) -> str:
    """A local state is its file, by its real path; any other is its backend with the settings that are no secrets, and
    its workspace. `directory`: where relative paths begin."""
    if kind == "local":
        backend = LocalBackend(
            str(settings.get("path") or DEFAULT_PATH),
            str(settings.get("workspace_dir") or DEFAULT_WORKSPACE_DIRECTORY),
        )
        return os.path.realpath(os.path.join(directory, backend.state_path(workspace)))
    shown = {k: v for k, v in sorted(settings.items()) if v is not None and k not in SECRETS}
    return f"{kind}:{json.dumps(shown, sort_keys=True, default=str)}#{workspace}"
