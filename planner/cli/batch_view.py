"""How batch commands speak: progress, the plans of units, a table at the end, reports in files."""

from __future__ import annotations

import os
from typing import Any

from planner.batch.model import Done, Share
from planner.batch.schedule import Listener
from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments
from planner.render.streams import cell, visible
from planner.render.terminal import Terminal, is_terminal
from planner.vocabulary.diagnostic import error

MANY = 40
"""units: of more, the table has no row for those that are unchanged"""
SHOWN = 10
"""units that an error holds up are named"""
STYLES = {
    "changes": ("yellow",),
    "incomplete": ("cyan",),
    "unchanged": ("grey",),
    "applied": ("green",),
    "failed": ("red", "bold"),
    "died": ("red", "bold"),
    "declined": ("yellow",),
    "skipped": ("grey",),
    "stopped": ("yellow",),
}


class Lines(Listener):
    """A line for each unit that begins to be run and each that ends."""

    def __init__(self, terminal: Terminal, show: bool = False) -> None:
        self.terminal, self.show = terminal, show

    def shares(self, share: Share, selected: int) -> None:
        self.terminal.out(share_text(share, selected))

    def goes_on(self, applied: list[str], begun: list[str]) -> None:
        self.terminal.out(goes_on_text(applied, begun))

    def began(self, unit: str, attempt: int) -> None:
        again = " (again: a process died)" if attempt > 1 else ""
        self.terminal.out(f"{unit}: started{again}")
        self.terminal.stdout.flush()

    def ended(self, done: Done) -> None:
        if done.reused:
            return  # nothing was run; the table has it
        self.terminal.out(line(done, self.terminal))
        if self.show and done.result is not None and done.result.text:
            self.terminal.out(done.result.text)
        self.terminal.stdout.flush()

    def stopping(self, units: list[str]) -> None:
        self.terminal.out(stopping_text(units))
        self.terminal.stdout.flush()


class Live(Listener):
    """What is being run, kept at the foot of a terminal; what has ended scrolls above it."""

    def __init__(self, terminal: Terminal, show: bool = False) -> None:
        from rich.console import Console
        from rich.status import Status

        self.terminal, self.show = terminal, show
        self.running: list[str] = []
        self.ended_count = 0
        self.status = Status("", console=Console(file=terminal.stderr))

    def shares(self, share: Share, selected: int) -> None:
        self.terminal.out(share_text(share, selected))

    def goes_on(self, applied: list[str], begun: list[str]) -> None:
        self.terminal.out(goes_on_text(applied, begun))

    def began(self, unit: str, attempt: int) -> None:
        self.running.append(unit)
        self._update()
        self.status.start()

    def ended(self, done: Done) -> None:
        self.ended_count += 1
        if done.unit in self.running:
            self.running.remove(done.unit)
        self.status.stop()
        if not done.reused:
            self.terminal.out(line(done, self.terminal))
            if self.show and done.result is not None and done.result.text:
                self.terminal.out(done.result.text)
            self.terminal.stdout.flush()
        if self.running:
            self._update()
            self.status.start()

    def stopping(self, units: list[str]) -> None:
        self.status.stop()
        self.terminal.out(stopping_text(units))
        self.terminal.stdout.flush()
        self.status.start()

    def _update(self) -> None:
        from rich.markup import escape

        self.status.update(f"{self.ended_count} done; running {escape(visible(', '.join(self.running)))}")


def share_text(share: Share, selected: int) -> str:
    """Which part of a batch this is, and what is planned beside it."""
    units = f"{len(share.units):,} of {selected:,} units"
    if not share.beside:
        return f"Shard {share.number} of {share.count}: {units}."
    return (
        f"Shard {share.number} of {share.count}: {units}. Planned here for their values alone, and reported by the "
        f"shards that they belong to: {_few(sorted(share.beside))}."
    )


def goes_on_text(applied: list[str], begun: list[str]) -> str:
    """What is said when a saved plan was applied in part before."""
    lines = [f"Applied from this plan before: {_few(applied)}."] if applied else []
    lines += [f"{unit}: was being applied when an earlier run was cut off or failed" for unit in begun]
    return "\n".join(lines)


def _few(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def stopping_text(units: list[str]) -> str:
    """What is said after an interrupt."""
    rest = f" {', '.join(units)}: coming to an end. Interrupt again to end at once." if units else ""
    return f"Interrupted: no further unit begins.{rest}"


def listener(arguments: Arguments, terminal: Terminal) -> Listener:
    """Who tells how the batch goes on: nobody with -json, a live line on a terminal, else lines."""
    if arguments["json"]:
        return Listener()
    show = bool(arguments.get("show"))
    return (Live if is_terminal(terminal.stderr) and is_terminal(terminal.stdout) else Lines)(terminal, show)


def line(done: Done, terminal: Terminal) -> str:
    """One unit's end in one line."""
    word = terminal.paint(done.outcome, *STYLES.get(done.outcome, ()))
    because = f", because of {done.because}" if done.because else ""
    result = done.result
    if result is None or done.outcome in ("failed", "died", "stopped", "unchanged"):
        return f"{done.unit}: {word}{because}"
    add, change, remove, _, _ = result.counts
    return f"{done.unit}: {word}{because}, +{add} ~{change} -{remove} ({result.seconds:.2f}s)"


# ---------------------------------------------------------------- the end


def conclude(report: Any, arguments: Arguments, terminal: Terminal) -> int:
    """Show what a batch came to and write the reports; the exit code."""
    from planner.batch.reports.document import report_json

    document = report_json(report, is_brief(arguments))
    return conclude_with(document, report, arguments, terminal)


def conclude_with(document: dict[str, Any], report: Any, arguments: Arguments, terminal: Terminal) -> int:
    """The same of a document that is there already; `report` has the diagnostics and how it ended."""
    written = _write_reports(document, report, arguments, terminal)
    if arguments["json"]:
        terminal.data(json_text(document))
    else:
        _tell(document, report, terminal)
    if report.failed or not written or (arguments.get("strict") and document["orphaned"]):
        return 1
    return 2 if arguments.get("detailed-exitcode") and report.has_changes else 0


def is_brief(arguments: Arguments) -> bool:
    """Whether nothing that is written names the changes of units, or is compared with what others write."""
    return not any(arguments.get(name) for name in ("json", "junit", "markdown", "html", "show", "report", "shard"))


def _tell(document: dict[str, Any], report: Any, terminal: Terminal) -> None:
    for unit in document["units"]:
        for diagnostic in unit["diagnostics"]:
            if diagnostic["severity"] != "error":
                terminal.out(diagnostic_text(unit["unit"], diagnostic, terminal))
    finish(report.diagnostics, terminal)
    if document["units"]:
        _tell_units(document, terminal)
    elif not report.failed:
        which = "of this shard" if document["shard"] is not None else "selected"
        terminal.out(f"No unit is {which}: nothing to do.")
    _tell_errors(document, terminal)
    _annotate(document, report, terminal)


def _tell_errors(document: dict[str, Any], terminal: Terminal) -> None:
    """What went wrong comes last, where it is seen, with what it holds up."""
    held_up = blocked(document)
    beside = document["shard"]["beside"] if document["shard"] is not None else []
    for unit in [*document["units"], *beside]:
        errors = [d for d in unit["diagnostics"] if d["severity"] == "error"]
        for diagnostic in errors:
            terminal.err(diagnostic_text(unit["unit"], diagnostic, terminal))
        others = held_up.get(unit["unit"], [])
        if errors and others:
            rest = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
            terminal.err(f"\nThis holds up {', '.join(others[:SHOWN])}{rest}.")


def blocked(document: dict[str, Any]) -> dict[str, list[str]]:
    """The units that were skipped, by the unit that all of it began with, in the order of the report."""
    because = {unit["unit"]: unit["because"] for unit in document["units"] if unit["outcome"] == "skipped"}
    found: dict[str, list[str]] = {}
    for name in because:
        first = name
        while first in because:
            first = because[first]
        found.setdefault(first, []).append(name)
    return found


def _annotate(document: dict[str, Any], report: Any, terminal: Terminal) -> None:
    """On GitHub's machines, where the lines of a change get what is said of them."""
    analysis = getattr(report, "analysis", None)  # what is joined was annotated by the jobs
    if os.environ.get("GITHUB_ACTIONS") == "true" and analysis is not None:
        _github(document, analysis.fleet.root, terminal)


def _github(document: dict[str, Any], root: str, terminal: Terminal) -> None:
    from planner.batch.reports.github import github

    for line in github(document, root, os.environ.get("GITHUB_WORKSPACE") or os.getcwd()):
        terminal.out(line)


def _tell_units(document: dict[str, Any], terminal: Terminal) -> None:
    from planner.batch.reports.document import summary_line, totals_text

    terminal.out()
    terminal.out(table(document))
    terminal.out()
    terminal.out(terminal.paint(summary_line(document), "bold"))
    if document["command"] in ("plan", "apply", "destroy"):
        terminal.out(f"Objects: {totals_text(document) or 'none'}.")
    if any(unit["outcome"] == "incomplete" for unit in document["units"]):
        terminal.out(
            "Part of an incomplete plan is known only when the unit that is named is applied: `planner batch why\n"
            "pending UNIT` says what. It cannot be applied; it is planned again then."
        )
    if any(unit["outcome"] == "stopped" for unit in document["units"]):
        terminal.out("The run was interrupted. To go on: planner batch resume")
    if document["run"]:
        terminal.out(f"Record: .planner/batch/{document['run']}")


def table(document: dict[str, Any]) -> str:
    """A row for each unit, of many units for each that has something to say."""
    from planner.batch.reports.document import note

    rows, units = [], document["units"]
    if len(units) > MANY:
        units = [unit for unit in units if unit["outcome"] != "unchanged"]
    for unit in units:
        counts = unit["counts"]
        numbers = [counts[name] or "" for name in ("add", "change", "remove")]
        rows.append([unit["wave"], unit["unit"], unit["outcome"], *numbers, note(unit)])
    headers = ["wave", "unit", "outcome", "add", "change", "destroy", ""]
    left = len(document["units"]) - len(units)
    more = f"{left} unchanged units are not shown." if left else ""
    return "\n".join(filter(None, (aligned([headers, *rows], "rllrrrl") if rows else "", more)))


def aligned(rows: list[list[Any]], sides: str) -> str:
    """Rows as a table with a line below the first, columns on the sides l or r. There may be thousands of rows."""
    columns = [[cell(str(value)) for value in column] for column in zip(*rows, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    laid = [
        [text.rjust(width) if side == "r" else text.ljust(width) for text in column]
        for column, width, side in zip(columns, widths, sides, strict=True)
    ]
    lines = ["  ".join(line).rstrip() for line in zip(*laid, strict=True)]
    lines.insert(1, "  ".join("-" * width for width in widths).rstrip())
    return "\n".join(lines)


def diagnostic_text(unit: str, diagnostic: dict[str, Any], terminal: Terminal) -> str:
    """A diagnostic of a unit, which comes from another process as data."""
    is_error = diagnostic["severity"] == "error"
    paint = terminal.error_paint if is_error else terminal.paint
    title = paint("Error: " if is_error else "Warning: ", "bold", "red" if is_error else "yellow")
    lines = ["", title + paint(f"{unit}: {diagnostic['summary']}", "bold"), ""]
    place = diagnostic.get("range")
    if place is not None:
        context = (diagnostic.get("snippet") or {}).get("context")
        inside = f", in {context}" if context else ""
        lines.append(f"  on {place['filename']} line {place['start']['line']}{inside}:")
        code = (diagnostic.get("snippet") or {}).get("code", "")
        start = (diagnostic.get("snippet") or {}).get("start_line", place["start"]["line"])
        lines += [f"  {number:>4}: {text}" for number, text in enumerate(code.split("\n"), start)]
        lines.append("")
    if diagnostic.get("detail"):
        lines.append(diagnostic["detail"])
    return "\n".join(lines)


def _write_reports(document: dict[str, Any], report: Any, arguments: Arguments, terminal: Terminal) -> bool:
    from importlib import import_module

    written = True
    wanted = [(kind, arguments.get(kind)) for kind in ("report", "junit", "markdown", "html")]
    if document["shard"] is not None and arguments.get("out"):
        wanted.append(("report", os.path.join(arguments["out"], "report.json")))
    for kind, path in wanted:
        if not path:
            continue
        if kind == "report":
            text = json_text(document)
        else:
            write = getattr(import_module(f"planner.batch.reports.{kind}"), kind)
            more = (edge_grounds(report),) if kind == "html" else ()
            text = write(document, texts(report), *more)
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as problem:
            finish([error("batch.report", "Cannot write the report", f"{path}: {problem.strerror}.")], terminal)
            written = False
    return written


def texts(report: Any) -> dict[str, str]:
    """What the units' runs printed, where that was asked for."""
    done = getattr(report, "done", {})  # what is joined has no texts
    return {unit: end.result.text for unit, end in done.items() if end.result is not None and end.result.text}


def edge_grounds(report: Any) -> dict[Any, Any]:
    """What the edges between units stand on."""
    from planner.batch.grounds import grounds

    analysis = getattr(report, "analysis", None)
    return grounds(analysis) if analysis is not None else {}
