"""Fleets and stacks. A fleet is a set of root modules (units), which are planned in the order of their dependencies.
The units of a stack are its deployments.

Fleets and stacks are planned in a separate process with its own workers, because each unit needs its own working
directory and environment. The library only starts that process and reads its report."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from planner.api.arguments import absolute, one_of, switches, text
from planner.api.configuration import read_plan_file
from planner.api.plan import Plan
from planner.api.session import Stop, session
from planner.foundation.support.notebook import table_html
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors, warning
from planner.foundation.vocabulary.records import field, frozen
from planner.logic.programs.actions import Counts

# Runs a planner command in a separate process, for fleets and stacks, whose workers change the working directory and
# environment variables.


def run_command(directory: str, words: Sequence[str], stop: Stop | None = None) -> dict[str, Any]:
    """Run a planner command in a separate process, and return the JSON document that it prints. `stop` interrupts the
    process. Raises Failure if the command does not print a JSON object."""
    command = [sys.executable, "-P", "-m", "planner", *words]  # with -P, Python imports nothing from the directory
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
        detail = (
            errors.decode("utf-8", "replace").strip() or f"The command ended with the exit code {process.returncode}."
        )
        raise Failure(error("api.command", f"planner {' '.join(words[:2])} failed", detail))
    return document


def diagnostics_of(entries: Sequence[dict[str, Any]]) -> tuple[Diagnostic, ...]:
    """The diagnostics in a JSON document. The `detail` of a diagnostic about a source range ends with the file and
    line."""
    return tuple(map(_diagnostic, entries))


def _diagnostic(entry: dict[str, Any]) -> Diagnostic:
    place = entry.get("range") or {}
    where = f"{place['filename']}:{place['start']['line']}" if place.get("filename") and place.get("start") else ""
    detail = "\n\n".join(filter(None, (str(entry.get("detail", "")), f"on {where}" if where else "")))
    make = warning if entry.get("severity") == "warning" else error
    return make(str(entry.get("code", "")), str(entry.get("summary", "")), detail, address=entry.get("address"))


_COUNTS = ("add", "change", "remove", "import", "forget", "invoke", "failed")


@frozen
class UnitInfo:
    """A unit of a fleet: its directory, tags, the units for which it waits, and the number of its wave (units in wave 0
    do not wait for others)."""

    name: str
    directory: str
    tags: tuple[str, ...]
    waits_for: tuple[str, ...]
    wave: int


@frozen(eq=False)
class PlannedUnit:
    """The result of planning a unit. `outcome` is unchanged, changes, incomplete (the unit needs values of another unit
    that are known only after apply), denied (by policies), failed, skipped, stopped or died (the unit's worker process
    ended unexpectedly). `because` contains the names of the units that caused the outcome. `changes` are tuples
    (address, action, reason)."""

    name: str
    directory: str = field(repr=False)
    outcome: str
    counts: Counts
    because: tuple[str, ...]
    changes: tuple[tuple[str, str, str], ...] = field(repr=False)
    outputs: tuple[tuple[str, str], ...] = field(repr=False)
    """the root outputs that change, as (name, action)"""
    diagnostics: tuple[Diagnostic, ...] = field(repr=False)
    reused: bool = field(repr=False)
    """whether the plan was reused from an earlier run with the same inputs"""
    plan_file: str = field(repr=False)

    def plan(self) -> Plan:
        """The plan of the unit, with its causes. Raises Failure unless the outcome is `changes`."""
        if not self.plan_file:
            raise Failure(error("api.no_plan", "No plan", f"The outcome of {self.name} is {self.outcome}."))
        return read_plan_file(self.plan_file, self.directory)


@frozen(eq=False)
class FleetPlan:
    """The plans of a fleet, with the units sorted by wave and name. `report` is the document printed by `batch
    plan -json`."""

    units: tuple[PlannedUnit, ...]
    diagnostics: tuple[Diagnostic, ...]
    seconds: float
    report: Mapping[str, Any] = field(repr=False)

    @property
    def failed(self) -> bool:
        """Whether the fleet itself has an error, or the outcome of a unit is denied, failed, skipped, stopped or
        died."""
        return has_errors(self.diagnostics) or not self.report.get("succeeded", False)

    def unit(self, name: str) -> PlannedUnit:
        """The unit with this name. Raises KeyError."""
        for unit in self.units:
            if unit.name == name:
                return unit
        raise KeyError(name)

    def _repr_html_(self) -> str:
        rows = [(u.name, u.outcome, *u.counts[:3], ", ".join(u.because)) for u in self.units]
        return table_html(("unit", "outcome", "add", "change", "destroy", "because of"), rows)


class Fleet:
    """The root modules below a directory, or the units that its planner.batch.hcl or Terragrunt files define."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def units(self, *words: str) -> tuple[UnitInfo, ...]:
        """The units, sorted by wave and name. `words` select some of the units, as in `planner batch graph`. Raises
        Failure if the fleet has errors."""
        document = self._run(["batch", "graph", "-json", *_selecting(words)])
        waiting: dict[str, list[str]] = {}
        for edge in document.get("edges", ()):
            one, other = (edge[0], edge[1]) if isinstance(edge, list) else (edge["unit"], edge["waits_for"])
            waiting.setdefault(one, []).append(other)
        return tuple(
            UnitInfo(
                n["unit"],
                os.path.normpath(os.path.join(self.directory, n["folder"])),
                tuple(n["tags"]),
                tuple(sorted(waiting.get(n["unit"], ()))),
                n["wave"],
            )
            for n in document["nodes"]
        )

    def plan(
        self,
        *words: str,
        mode: Literal["normal", "destroy", "refresh-only"] = "normal",
        changed: str = "",
        workers: int = 0,
        refresh: bool = True,
        cache: bool = True,
        stop: Stop | None = None,
    ) -> FleetPlan:
        """Plan the units in the order of their dependencies, several at a time. A unit gets the planned outputs of the
        units whose outputs it reads. `words` select units, as in `planner batch plan`. `changed` is a git revision; it
        selects the units that read files changed since this revision. `workers=0` means one worker per processor. If
        `cache` is false, results of earlier runs are not used. A unit that fails has the outcome failed; Failure is
        raised only if there is an error in the fleet itself."""
        one_of("mode", mode, ("normal", "destroy", "refresh-only"))
        text("changed", changed)
        switches(refresh=refresh, cache=cache)
        if not isinstance(workers, int) or workers < 0:
            raise Failure(error("api.argument", "Invalid argument", f"workers is {workers!r}, but must be 0 or more."))
        flags = ["-destroy"] if mode == "destroy" else ["-refresh-only"] if mode == "refresh-only" else []
        flags += [f"-changed={changed}"] if changed else []
        flags += [f"-workers={workers}"] if workers else []
        flags += [] if refresh else ["-refresh=false"]
        flags += [] if cache else ["-no-cache"]
        document = self._run(["batch", "plan", "-json", *flags, *_selecting(words)], stop)
        units = tuple(_unit(entry, self.directory) for entry in document["units"])
        diagnostics = diagnostics_of(document["diagnostics"])
        if not units and has_errors(diagnostics):
            raise Failure(diagnostics)
        return FleetPlan(units, diagnostics, float(document["seconds"]), document)

    def _run(self, words: Sequence[str], stop: Stop | None = None) -> dict[str, Any]:
        if not os.path.isdir(self.directory):
            detail = f"There is no directory {self.directory}."
            raise Failure(error("api.directory", "No such directory", detail))
        with session(self.directory, stop):
            return run_command(self.directory, words, stop)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {os.path.basename(self.directory)}>"


class Stack(Fleet):
    """A stack. Its units are the deployments in its *.tfdeploy.hcl files, with names of the form
    `DIRECTORY/DEPLOYMENT`."""

    def init(self, stop: Stop | None = None) -> None:
        """Install the modules and providers of the components, as `planner stacks init` does. Raises Failure."""
        from planner.workflows.stacks.init import init_stack

        with session(self.directory, stop):
            problems = init_stack(self.directory)
            if has_errors(problems):
                raise Failure(problems)


def fleet(directory: str | os.PathLike[str] = ".") -> Fleet:
    """The fleet in a directory. Files are read only when a method needs them."""
    return Fleet(absolute("directory", directory))


def stack(directory: str | os.PathLike[str] = ".") -> Stack:
    """The stack in a directory. Files are read only when a method needs them."""
    return Stack(absolute("directory", directory))


def _selecting(words: Sequence[str]) -> Sequence[str]:
    """Returns the words, which select units. Raises Failure for a word that the command would read as an option."""
    for word in words:
        if text("one of the words", word).startswith("-"):
            raise Failure(error("api.argument", "Invalid argument", f"{word!r} does not select units."))
    return words


def _unit(entry: Mapping[str, Any], root: str) -> PlannedUnit:
    counts = entry.get("counts") or {}
    return PlannedUnit(
        entry["unit"],
        os.path.normpath(os.path.join(root, entry["folder"])),
        entry["outcome"],
        Counts(*(int(counts.get(name, 0)) for name in _COUNTS)),
        tuple(entry.get("because_all") or ([entry["because"]] if entry.get("because") else [])),
        tuple((c["address"], c["action"], c.get("reason", "")) for c in entry.get("changes", ())),
        tuple((o["name"], o["action"]) for o in entry.get("outputs", ())),
        diagnostics_of(entry.get("diagnostics", ())),
        bool(entry.get("reused")),
        str(entry.get("plan_file") or ""),
    )
