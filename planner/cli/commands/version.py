"""`version`: versions of planner, the compatible OpenTofu, and locked providers."""

from __future__ import annotations

import os
import sys

from planner.cli.flags import Arguments, Flag, command
from planner.foundation.vocabulary.release import COMPATIBLE_VERSION, NEXT_VERSION, RELEASE, follows_next
from planner.render.terminal import Terminal


@command(
    "[options]",
    """Shows the version of planner, the compatible version of OpenTofu, and the locked providers.

For clients that check the name on the first line, PLANNER_VERSION_NAME replaces it.""",
    (
        Flag("json", "bool", "Print JSON."),
        Flag("v", "bool", "", True),
        Flag("version", "bool", "", True),
    ),
)
def version(arguments: Arguments, terminal: Terminal) -> int:
    """Always returns 0, even if the lock file cannot be read."""
    providers = locked_providers()
    if arguments["json"]:
        terminal.data(_json(providers))
        return 0
    # some clients check the program's name in this output, so users can set it
    name = os.environ.get("PLANNER_VERSION_NAME", "").split()
    terminal.out(f"{name[0] if name else 'planner'} v{VERSION}\non {platform()}")
    for provider, version in providers.items():
        terminal.out(f"+ provider {provider} v{version}")
    more = f", and with the language of v{NEXT_VERSION} as announced" if follows_next() else ""
    terminal.out(f"compatible with OpenTofu v{COMPATIBLE_VERSION}{more}")
    return 0


def _json(providers: dict[str, str]) -> str:
    import json

    answer = {
        "format_version": "1.0",
        "terraform_version": COMPATIBLE_VERSION,
        "platform": platform(),
        "provider_selections": providers,
        "planner_version": RELEASE,
        "compatible_with": {"product": "OpenTofu", "version": COMPATIBLE_VERSION},
        **({"language_of": NEXT_VERSION} if follows_next() else {}),
    }
    return json.dumps(answer, indent=2, ensure_ascii=False)


def locked_providers() -> dict[str, str]:
    """{provider: version} in the directory's lock file. Only block headers and versions are read, so that no parser has
    to be loaded."""
    try:
        if not os.path.isfile(".terraform.lock.hcl"):
            return {}  # the lock file does not exist, or is not a regular file
        with open(".terraform.lock.hcl", encoding="utf-8") as file:
            lines = file.read().split("\n")
    except (OSError, UnicodeDecodeError):
        return {}
    table: dict[str, str] = {}
    address = ""
    for line in lines:
        words = line.split()
        if words[:1] == ["provider"] and len(words) > 1:
            address = words[1].strip('"')
        elif words[:2] == ["version", "="] and len(words) > 2 and address:
            table[address] = words[2].strip('"')
    return dict(sorted(table.items()))


_OWN = ".".join(RELEASE.split(".")[:2])

VERSION = f"{COMPATIBLE_VERSION}-planner{_OWN}"

"""the version as clients expect it (SemVer)"""


_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64", "i686": "386", "i386": "386"}


def platform() -> str:
    """`linux_amd64`: operating system and architecture, as in provider packages."""
    machine = os.uname().machine.lower() if hasattr(os, "uname") else os.environ.get("PROCESSOR_ARCHITECTURE", "")
    system = "windows" if sys.platform.startswith("win") else sys.platform
    return f"{system}_{_MACHINES.get(machine.lower(), machine.lower())}"
