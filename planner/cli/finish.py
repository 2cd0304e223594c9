"""Prints diagnostics, documents and verdicts at the end of a command."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from planner.foundation.vocabulary.diagnostic import Diagnostic, error, has_errors
from planner.render.terminal import Terminal

if TYPE_CHECKING:
    from planner.answers.policy.model import Verdict


def finish(diagnostics: Iterable[Diagnostic], terminal: Terminal) -> int:
    """Print the diagnostics. Returns the exit code: 0, or 1 if there is an error."""
    items = list(diagnostics)
    if items:
        from planner.render.diagnostics import show

        show(items, terminal)
    return int(has_errors(items))


def json_text(document: Any) -> str:
    from planner.foundation.support.exact_json import dumps

    return dumps(document, escape_html=False).decode("utf-8")


def show_verdicts(verdicts: list[tuple[str, Verdict]], noun: str, with_proofs: bool, terminal: Terminal) -> None:
    """Print a table of the findings of policies, if there are any, and with `with_proofs` the proof of each finding.
    `verdicts`: (deployment, verdict); the deployment is "" for a fleet. `noun`: heading of the column of addresses."""
    from planner.render.proof import proof_text
    from planner.render.rows import table

    items = [(name, finding) for name, verdict in verdicts for finding in verdict.findings]
    names = [name for name, _ in verdicts if name]
    if items:
        rows = [((name,) if names else ()) + (f.kind, f.code, f.address, f.message) for name, f in items]
        headers = ("VERDICT", "CODE", noun, "MESSAGE")
        terminal.out(table(("DEPLOYMENT", *headers) if names else headers, rows))
    for name, finding in items if with_proofs else ():
        terminal.out(f"\n{' '.join(filter(None, (name, finding.kind, finding.code, finding.address)))}")
        terminal.out(proof_text(finding.proof, terminal.paint, full=True))


# pages and other reports in files


def write_page(path: str, text: str, mode: int = 0o666) -> list[Diagnostic]:
    """Write a page or report. Returns an error if the file cannot be written. `mode`: the permissions of a new file
    before the umask."""

    def opened(name: str, flags: int) -> int:
        return os.open(name, flags, mode)

    try:
        with open(path, "w", encoding="utf-8", errors="replace", opener=opened) as file:
            file.write(text)
    except (OSError, ValueError) as problem:
        why = (problem.strerror or problem) if isinstance(problem, OSError) else problem
        return [error("explore.unwritable", "Cannot write the file", f"{path}: {why}.")]
    return []
