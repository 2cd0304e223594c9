"""Which state is meant? One name for a state, whoever speaks of it: the module that writes it, others that read it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from planner.world.state.backend import DEFAULT_WORKSPACE, module_of

SECRETS = frozenset(("access_key", "secret_key", "token", "password", "client_secret", "credentials", "conn_str"))
"""settings that say who asks, not what is asked for"""


def state_identity(
    kind: str, settings: Mapping[str, Any], workspace: str = DEFAULT_WORKSPACE, directory: str = "."
) -> str:
    """What a backend that is known says; else its type with the settings that are no secrets, and the workspace.
    `directory`: where relative paths begin."""
    backend = module_of(kind)
    if backend is not None:
        return str(backend.identity({k: v for k, v in settings.items() if v is not None}, workspace, directory))
    shown = {k: v for k, v in sorted(settings.items()) if v is not None and k not in SECRETS}
    return f"{kind}:{_json(shown)}#{workspace}"


def _json(shown: Mapping[str, Any]) -> str:
    return json.dumps(shown, sort_keys=True, default=str)
