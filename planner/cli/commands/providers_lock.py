"""`providers lock`: checksums for other platforms into the lock file."""

from __future__ import annotations

from planner.api.installation import Installation
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import JSON_LINES, VARIABLES, loading_calls
from planner.cli.views import open_view
from planner.render.download_line import DownloadLine
from planner.render.terminal import Terminal

USAGE = "[options] [PROVIDER...]"
HELP = """Downloads the packages of the providers (all of the configuration, or the named ones) for each platform
from their registries, whatever the installation settings, and records their checksums in the dependency lock file.

A template of OCI repositories may have {hostname}, {namespace} and {type}: example.com/mirror/{namespace}/{type}."""
CHOICES = (
    Flag("fs-mirror", "string", "Take the packages from this mirror directory.", value="DIR"),
    Flag("net-mirror", "string", "Take the packages from this network mirror.", value="URL"),
    Flag("platform", "list", "A platform to lock for (this one). May be repeated.", value="OS_ARCH"),
)
OCI_MIRROR = Flag(
    "oci-mirror", "string", "Take the packages from the OCI repositories of a template.", value="TEMPLATE"
)
FLAGS = (*CHOICES, OCI_MIRROR, *VARIABLES, *JSON_LINES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 on errors."""
    platforms = checked_choices(arguments)
    view = open_view(arguments, terminal)
    with DownloadLine(terminal) as line:
        diagnostics = loading_calls(Installation, arguments).lock_providers(
            arguments.words,
            platforms,
            view.say,
            fs_mirror=arguments["fs-mirror"],
            net_mirror=arguments["net-mirror"],
            oci_mirror=arguments["oci-mirror"],
            progress=line,
        )
    return view.finish(diagnostics)


def checked_choices(arguments: Arguments) -> tuple[str, ...]:
    """The platforms. Raises UsageError when options do not fit together."""
    if sum(bool(arguments.get(name)) for name in ("fs-mirror", "net-mirror", "oci-mirror")) > 1:
        detail = "Packages come from one of -fs-mirror, -net-mirror and -oci-mirror, not from several."
        raise UsageError("Options exclude each other", detail)
    return checked_platforms(arguments["platform"])


def checked_platforms(given: tuple[str, ...]) -> tuple[str, ...]:
    """Platforms in the form OS_ARCH. Raises UsageError."""
    for text in given:
        system, _, machine = text.partition("_")
        if not system.isalnum() or not machine.isalnum():
            raise UsageError(
                "Invalid target platform", f"{text!r} does not have the form OS_ARCH, such as linux_amd64."
            )
    return tuple(dict.fromkeys(given))
