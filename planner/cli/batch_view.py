"""How batch commands speak: progress, the plans of units, a table at the end, reports in files."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from planner.cli.batch_lines import SHOWN, BatchLines
from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments
from planner.foundation.vocabulary.diagnostic import error
from planner.render.streams import cell
from planner.render.terminal import Terminal, is_terminal
from planner.workflows.batch.reports.document import note, report_json, summary_line, totals_text
from planner.workflows.batch.schedule import BatchListener

MANY = 40
"""units: of more, the table has no row for those that are unchanged"""


def listener(arguments: Arguments, terminal: Terminal) -> BatchListener:
    """Who tells how the batch goes on: nobody with -json, a live table on a terminal, else lines."""
    if arguments["json"]:
        return BatchListener()
    show = bool(arguments.get("show"))
    if is_terminal(terminal.stderr) and is_terminal(terminal.stdout):
        return _on_terminal(bool(arguments.get("no-color")), terminal, show)
    return BatchLines(terminal, show)


def _on_terminal(no_color: bool, terminal: Terminal, show: bool) -> BatchListener:
    from planner.cli.batch_live import Live, is_live

    return (Live if is_live(no_color) else BatchLines)(terminal, show)


# ---------------------------------------------------------------- the end


def conclude(report: Any, arguments: Arguments, terminal: Terminal) -> int:
    """Show what a batch came to and write the reports; the exit code."""
    document = report_json(report, is_brief(arguments))
    return conclude_with(document, report, arguments, terminal)


def conclude_with(document: dict[str, Any], report: Any, arguments: Arguments, terminal: Terminal) -> int:
    """The same of a document that is there already; `report` has the diagnostics and how it ended."""
    written = _write_reports(document, report, arguments, terminal)
    if arguments["json"]:
        terminal.data(json_text(document))
    else:
        _tell(document, report, terminal)
    if report.failed or not written or (arguments.get("strict") and _may_be_orphaned(document, report)):
        return 1
    return 2 if arguments.get("detailed-exitcode") and report.has_changes else 0


def _may_be_orphaned(document: dict[str, Any], report: Any) -> bool:
    """Whether units are gone and their objects are not, or nobody can say."""
    return bool(document["orphaned"]) or any(d.code == "batch.manifest" for d in report.diagnostics)


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
    from planner.workflows.batch.reports.github import github

    for line in github(document, root, os.environ.get("GITHUB_WORKSPACE") or os.getcwd()):
        terminal.out(line)


def _tell_units(document: dict[str, Any], terminal: Terminal) -> None:
    terminal.out()
    terminal.out(table(document))
    terminal.out()
    terminal.out(terminal.paint(summary_line(document), "bold"))
    if document["command"] in ("plan", "apply", "destroy"):
        terminal.out(f"Objects: {totals_text(document) or 'none'}.")
    incomplete = [unit for unit in document["units"] if unit["outcome"] == "incomplete"]
    if any(not unit["because"] for unit in incomplete):
        terminal.out(
            "Parts of deployments are deferred: apply does the rest and plans again, until everything is there."
        )
    if any(unit["because"] for unit in incomplete):
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
            write = getattr(import_module(f"planner.workflows.batch.reports.{kind}"), kind)
            more = (edge_grounds(report),) if kind == "html" else ()
            text = write(document, texts(report), *more)
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as problem:
            finish(
                [error("batch.report", "Cannot write the report", f"{path}: {problem.strerror or problem}.")], terminal
            )
            written = False
    return written


def texts(report: Any) -> dict[str, str]:
    """What the units' runs printed, where that was asked for."""
    done = getattr(report, "done", {})  # what is joined has no texts
    return {unit: end.result.text for unit, end in done.items() if end.result is not None and end.result.text}


def edge_grounds(report: Any) -> dict[Any, Any]:
    """What the edges between units stand on."""
    from planner.workflows.batch.edge_sources import grounds

    analysis = getattr(report, "analysis", None)
    return grounds(analysis) if analysis is not None else {}
