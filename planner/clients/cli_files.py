"""Where the user's settings of the command line tool are. Who only asks whether there are any needs to read none."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def home(environ: Mapping[str, str]) -> Path:
    """The user's home directory."""
    return Path(environ.get("HOME") or os.path.expanduser("~"))


def setting_files(environ: Mapping[str, str]) -> list[Path]:
    """The files that are there, in the order in which they are read."""
    named = environ.get("TF_CLI_CONFIG_FILE") or environ.get("TERRAFORM_CONFIG")
    if named:
        return [Path(named)] if os.path.isfile(named) else []
    own = home(environ)
    candidates = [own / ".tofurc", own / ".terraformrc"]
    folder = own / ".terraform.d"
    if environ.get("XDG_CONFIG_HOME"):
        settings = Path(environ["XDG_CONFIG_HOME"]) / "opentofu"
        candidates.append(settings / "tofurc")
        folder = folder if folder.is_dir() else settings
    more = (
        sorted(p for p in folder.iterdir() if p.name.endswith((".tfrc", ".tfrc.json")) and p.is_file())
        if (folder.is_dir())
        else []
    )
    return [*[p for p in candidates if p.is_file()][:1], *more]
