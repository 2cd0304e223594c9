"""Standing policies, which apply without being named in a command: the policies of the organisation, and the policies
in a configuration's own directory.

An organisation names its policies in `PLANNER_POLICIES` (paths and builtin:NAME, separated as in `PATH`) or in the CLI
configuration (`policies { plans = ["/etc/planner/policies"] }`). For policies of fleets, the names are
`PLANNER_BATCH_POLICIES` and `fleets`; for policies of deployments, `PLANNER_STACK_POLICIES` and `stacks`. Authors of
configurations can neither leave out these policies nor add rules to the relations that they declare. A path that does
not exist is an error."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal

from planner.foundation.support.assets import setting_files

OWN = os.path.join(".planner", "policies")
SETTINGS = (os.path.join(".planner", "policy.toml"), os.path.join(".planner", "waivers.toml"))
FLEET = os.path.join(".planner", "batch-policies")
STACK = os.path.join(".planner", "stack-policies")
"""OWN, FLEET and STACK: the directories of the policies of a configuration, a fleet and a stack. SETTINGS: the settings
files of a configuration"""
NAME_POLICIES = "Name them with -policy=DIR, -policy=FILE or -policy=builtin:NAME; in Python with policies=[...]."
"""a hint on how to name policies, for commands that need policies and find none"""


def organisation(
    kind: Literal["policies", "batch_policies", "stack_policies"], environ: Mapping[str, str]
) -> tuple[str, ...]:
    """The policies of the organisation, as absolute paths and builtin:NAME. Raises Failure if the CLI configuration
    cannot be read."""
    standing: tuple[str, ...] = ()
    if setting_files(environ):
        from planner.foundation.clients.cli_config import load_cli_config

        settings = load_cli_config(environ)
        standing = getattr(settings, kind)
    return tuple(dict.fromkeys((*standing, *_words(environ.get(f"PLANNER_{kind.upper()}", "")))))


def _words(text: str) -> list[str]:
    words: list[str] = []
    parts = iter(text.split(os.pathsep))
    for part in parts:
        if part == "builtin":  # the path separator is also in builtin:NAME
            words.append(f"{part}:{next(parts, '')}")
        elif part:
            words.append(part if part.startswith("builtin:") else os.path.abspath(part))
    return words


def own(folder: str, name: str = OWN) -> tuple[str, ...]:
    """The paths of the directory `name` with the policies of a configuration, fleet or stack and, for a configuration,
    of its settings files. Paths that do not exist are left out."""
    names = (name, *SETTINGS) if name == OWN else (name,)
    paths = [os.path.normpath(os.path.join(folder, one)) for one in names]
    return tuple(path for path in paths if os.path.lexists(path))
