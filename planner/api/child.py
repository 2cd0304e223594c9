"""A command of planner in a process of its own, for work that needs a process: fleets and stacks, whose workers change
directories and variables of the environment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from planner.api.session import Stop
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, warning


def run_command(directory: str, words: Sequence[str], stop: Stop | None = None) -> dict[str, Any]:
    """The JSON document that a command prints. Raises Failure when it prints none."""
    command = [sys.executable, "-P", "-m", "planner", *words]  # -P: nothing is imported from the directory
    variables = {name: value for name, value in os.environ.items() if not name.startswith("TF_CLI_ARGS")}
    with subprocess.Popen(
        command,
        cwd=directory,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:

        def interrupt() -> None:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGINT)

        requested = (stop or Stop()).signal
        requested.listen(interrupt)
        try:
            output, errors = process.communicate()
        except BaseException:
            interrupt()
            process.wait()
            raise
        finally:
            requested.forget(interrupt)
    try:
        document = json.loads(output)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        detail = errors.decode("utf-8", "replace").strip() or f"It ended with the exit code {process.returncode}."
        raise Failure(error("api.command", f"planner {' '.join(words[:2])} failed", detail))
    return document


def diagnostics_of(entries: Sequence[dict[str, Any]]) -> tuple[Diagnostic, ...]:
    """The diagnostics in a document. Their places are in the document alone: `detail` names them."""
    return tuple(map(_diagnostic, entries))


def _diagnostic(entry: dict[str, Any]) -> Diagnostic:
    place = entry.get("range") or {}
    where = f"{place['filename']}:{place['start']['line']}" if place.get("filename") and place.get("start") else ""
    detail = "\n\n".join(filter(None, (str(entry.get("detail", "")), f"on {where}" if where else "")))
    make = warning if entry.get("severity") == "warning" else error
    return make(str(entry.get("code", "")), str(entry.get("summary", "")), detail, address=entry.get("address"))
