"""The output of `version`: our own name and number, and the version of the ecosystem that we are compatible with.

Clients read the first line (one word, a blank, `v`, three numbers) and look for `OpenTofu v...` followed by a line
break anywhere; the own number is a suffix, so that version floors of theirs compare the compatible number.
"""

from __future__ import annotations

import os
import sys

from planner import COMPATIBLE_VERSION, __version__

_OWN = ".".join(__version__.split(".")[:2])
VERSION = f"{COMPATIBLE_VERSION}-planner{_OWN}"
"""the version as clients see it (a SemVer)"""

_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64", "i686": "386", "i386": "386"}


def platform() -> str:
    """`linux_amd64`: operating system and architecture as provider packages name them."""
    machine = os.uname().machine.lower() if hasattr(os, "uname") else os.environ.get("PROCESSOR_ARCHITECTURE", "")
    system = "windows" if sys.platform.startswith("win") else sys.platform
    return f"{system}_{_MACHINES.get(machine.lower(), machine.lower())}"
