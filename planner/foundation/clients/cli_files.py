"""Paths of the user's settings of the command line tool: to find out whether there are any, without reading them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def home(environ: Mapping[str, str]) -> Path:
    """The user's home directory."""
    return _path(_home(environ))


def _path(path: str) -> Path:
    return Path(path)


def _home(environ: Mapping[str, str]) -> str:
    return environ.get("HOME") or os.path.expanduser("~")


def setting_files(environ: Mapping[str, str]) -> list[Path]:
    """The files that are there, in the order in which they are read."""
    return [_path(name) for name in _setting_files(environ)]


def _setting_files(environ: Mapping[str, str]) -> list[str]:
    named = environ.get("TF_CLI_CONFIG_FILE") or environ.get("TERRAFORM_CONFIG")
    if named:
        return [named] if os.path.isfile(named) else []
    own = _home(environ)
    candidates = [os.path.join(own, ".tofurc"), os.path.join(own, ".terraformrc")]
    folder = os.path.join(own, ".terraform.d")
    if environ.get("XDG_CONFIG_HOME"):
        settings = os.path.join(environ["XDG_CONFIG_HOME"], "opentofu")
        candidates.append(os.path.join(settings, "tofurc"))
        folder = folder if os.path.isdir(folder) else settings
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    more = [os.path.join(folder, name) for name in names if name.endswith((".tfrc", ".tfrc.json"))]
    return [
        *[file for file in candidates if os.path.isfile(file)][:1],
        *[file for file in more if os.path.isfile(file)],
    ]
