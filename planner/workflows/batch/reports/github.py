"""The report for GitHub Actions: workflow commands with which GitHub shows diagnostics next to the lines of a change.

https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

import os
from typing import Any

MOST = 50
"""maximum number of annotations, because GitHub does not show all annotations if there are many"""
_KINDS = {"error": "error", "warning": "warning"}


def github(document: dict[str, Any], root: str, workspace: str) -> list[str]:
    """A workflow command for each diagnostic, errors first, but at most MOST. `root`: the fleet's root. `workspace`:
    the directory of the checkout, to which the paths in the commands are relative."""
    whose = [("", root, document["diagnostics"])]
    for unit in document["units"]:
        whose.append((f"{unit['unit']}: ", os.path.join(root, unit["folder"]), unit["diagnostics"]))
    items = [
        (diagnostic["severity"] != "error", _line(diagnostic, before, folder, workspace))
        for before, folder, diagnostics in whose
        for diagnostic in diagnostics
    ]
    lines = [line for _, line in sorted(items, key=lambda item: item[0])]
    if len(lines) > MOST:
        left = len(lines) - MOST + 1
        lines = [*lines[: MOST - 1], f"::notice::{left} more problems are in the log of this step."]
    return lines


def _line(diagnostic: dict[str, Any], before: str, folder: str, workspace: str) -> str:
    settings = {"title": f"{before}{diagnostic['summary']}"}
    place = diagnostic.get("range")
    if place is not None and not place["filename"].startswith("<"):
        path = os.path.relpath(os.path.normpath(os.path.join(folder, place["filename"])), workspace)
        if not path.startswith(".."):
            start = place["start"]
            settings = {"file": path, "line": str(start["line"]), "col": str(start["column"]), **settings}
    text = diagnostic.get("detail") or diagnostic["summary"]
    return workflow_command(_KINDS.get(diagnostic["severity"], "notice"), settings, text)


def workflow_command(kind: str, settings: dict[str, str], text: str) -> str:
    escaped = {name: escaped_text(value).replace(":", "%3A").replace(",", "%2C") for name, value in settings.items()}
    return f"::{kind} {','.join(f'{name}={value}' for name, value in escaped.items())}::{escaped_text(text)}"


def escaped_text(text: str) -> str:
    """The text with percent signs and line breaks encoded, so that they cannot end a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
