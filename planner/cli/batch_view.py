"""The output of batch commands: progress, plans of units, the final table, and report files."""

from __future__ import annotations

import os
import time
import unicodedata
from collections import Counter
from importlib import import_module
from typing import TYPE_CHECKING, Any

from planner.cli.batch_lines import SHOWN, BatchLines, few
from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments
from planner.cli.review import Review
from planner.foundation.vocabulary.diagnostic import error
from planner.render.terminal import Terminal, cell, is_terminal, visible
from planner.workflows.batch.model import BAD, OUTCOMES, FinishedUnit
from planner.workflows.batch.reports.document import note, report_json, summary_line, totals_text
from planner.workflows.batch.saved_plan import REPORT
from planner.workflows.batch.schedule import BatchListener

if TYPE_CHECKING:
    from planner.workflows.batch.reports.review import UnitReviews

MANY = 40
"""with more units than this number, the table omits unchanged units"""


def listener(arguments: Arguments, terminal: Terminal) -> BatchListener:
    """The listener that shows the progress of a batch: no output with -json, a live table on a terminal that can show
    it, otherwise lines."""
    if arguments["json"]:
        return BatchListener()
    show = bool(arguments.get("show"))
    if is_terminal(terminal.stderr) and is_terminal(terminal.stdout):
        return (Live if is_live(bool(arguments.get("no-color"))) else BatchLines)(terminal, show)
    return BatchLines(terminal, show)


# ---------------------------------------------------------------- the result


def conclude(report: Any, arguments: Arguments, terminal: Terminal) -> int:
    """Show the result of a batch, and write the reports. Returns 1 after a failure; with -strict also if removed units
    may still have objects. With -detailed-exitcode, returns 2 for changes or drift. Otherwise returns 0."""
    document = report_json(report, is_brief(arguments))
    return conclude_with(document, report, arguments, terminal)


def conclude_with(document: dict[str, Any], report: Any, arguments: Arguments, terminal: Terminal) -> int:
    """Like `conclude`, for a report whose JSON document the caller has already made."""
    written = _write_reports(document, report, arguments, terminal)
    if arguments["json"]:
        terminal.data(json_text(document))
    else:
        _tell(document, report, terminal)
    if report.failed or not written or (arguments.get("strict") and _may_be_orphaned(document, report)):
        return 1
    changed = report.has_drift if arguments.command == "batch drift" else report.has_changes
    return 2 if arguments.get("detailed-exitcode") and changed else 0


def _may_be_orphaned(document: dict[str, Any], report: Any) -> bool:
    """Whether removed units still have objects, or may have objects because the list of units is damaged."""
    return bool(document["orphaned"]) or any(d.code == "batch.manifest" for d in report.diagnostics)


def is_brief(arguments: Arguments) -> bool:
    """Whether reports can omit the changes of each unit, because no option needs them."""
    return not any(
        arguments.get(name)
        for name in ("json", "junit", "markdown", "html", "review", "show", "report", "shard", "out")
    )


def _tell(document: dict[str, Any], report: Any, terminal: Terminal) -> None:
    for unit in document["units"]:
        for diagnostic in unit["diagnostics"]:
            if diagnostic["severity"] != "error":
                terminal.out(diagnostic_text(unit["unit"], _folder(unit, document), diagnostic, terminal))
    finish(report.diagnostics, terminal)
    if document["units"]:
        _tell_units(document, terminal)
    elif not report.failed:
        which = "of this shard" if document["shard"] is not None else "selected"
        terminal.out(f"No unit is {which}: nothing to do.")
    _tell_errors(document, terminal)
    _annotate(document, report, terminal)


def _tell_errors(document: dict[str, Any], terminal: Terminal) -> None:
    """Print the errors of each unit, and the units that were skipped because of them. Errors come last in the output,
    so that they are noticed."""
    held_up = blocked(document)
    beside = document["shard"]["beside"] if document["shard"] is not None else []
    for unit in [*document["units"], *beside]:
        errors = [d for d in unit["diagnostics"] if d["severity"] == "error"]
        for diagnostic in errors:
            terminal.err(diagnostic_text(unit["unit"], _folder(unit, document), diagnostic, terminal))
        others = held_up.get(unit["unit"], [])
        if errors and others:
            rest = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
            terminal.err(f"\nSkipped because of this: {', '.join(others[:SHOWN])}{rest}.")


def blocked(document: dict[str, Any]) -> dict[str, list[str]]:
    """{unit that failed first: units that were skipped because of it}, in the order of the report."""
    because = {unit["unit"]: unit["because"] for unit in document["units"] if unit["outcome"] == "skipped"}
    result: dict[str, list[str]] = {}
    for name in because:
        first = name
        while first in because:
            first = because[first]
        result.setdefault(first, []).append(name)
    return result


def _annotate(document: dict[str, Any], report: Any, terminal: Terminal) -> None:
    """On GitHub's runners, print an annotation for each diagnostic, at the diagnostic's line."""
    analysis = getattr(report, "analysis", None)  # joined results have none: their jobs printed annotations
    if os.environ.get("GITHUB_ACTIONS") == "true" and analysis is not None:
        from planner.workflows.batch.reports.github import github

        for line in github(document, analysis.fleet.root, os.environ.get("GITHUB_WORKSPACE") or os.getcwd()):
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
            "Some blocks are deferred: batch apply plans them again in further rounds, until no block is deferred."
        )
    if any(unit["because"] for unit in incomplete):
        terminal.out(
            "An incomplete plan depends on values that are known only after the named unit is applied, and is planned\n"
            "again then. To see the values, run: planner batch why pending UNIT"
        )
    if any(unit["outcome"] == "stopped" for unit in document["units"]):
        terminal.out(
            "The run was interrupted. To continue it, if it was started without variables: planner batch resume"
        )
    if document["run"]:
        terminal.out(f"Record: .planner/batch/{document['run']}")


def table(document: dict[str, Any]) -> str:
    """The table of units, with a row for each unit. If there are many units, unchanged units are omitted."""
    rows, units = [], document["units"]
    if len(units) > MANY:
        units = [unit for unit in units if unit["outcome"] != "unchanged"]
    for unit in units:
        counts = unit["counts"]
        numbers = [counts[name] or "" for name in ("add", "change", "remove")]
        rows.append([unit["wave"], unit["unit"], unit["outcome"], *numbers, note(unit)])
    headers = ["wave", "unit", "outcome", "add", "change", "destroy", ""]
    left = len(document["units"]) - len(units)
    more = f"{left} unchanged unit{' is' if left == 1 else 's are'} not shown." if left else ""
    return "\n".join(filter(None, (aligned([headers, *rows], "rllrrrl") if rows else "", more)))


def aligned(rows: list[list[Any]], sides: str) -> str:
    """A table as text, with a horizontal line below the first row. `sides`: one letter for each column, l
    (left-aligned) or r (right)."""
    columns = [[cell(str(value)) for value in column] for column in zip(*rows, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    laid = [
        [text.rjust(width) if side == "r" else text.ljust(width) for text in column]
        for column, width, side in zip(columns, widths, sides, strict=True)
    ]
    lines = ["  ".join(line).rstrip() for line in zip(*laid, strict=True)]
    lines.insert(1, "  ".join("-" * width for width in widths).rstrip())
    return "\n".join(lines)


def _folder(unit: dict[str, Any], document: dict[str, Any]) -> str:
    """The directory of a unit's files, relative to the fleet's directory; "" in a report about a stack."""
    return "" if "about" in document else unit.get("folder", "")


def diagnostic_text(unit: str, folder: str, diagnostic: dict[str, Any], terminal: Terminal) -> str:
    """A unit's diagnostic as text. The diagnostic is JSON from another process."""
    is_error = diagnostic["severity"] == "error"
    paint = terminal.error_paint if is_error else terminal.paint
    title = paint("Error: " if is_error else "Warning: ", "bold", "red" if is_error else "yellow")
    lines = ["", title + paint(f"{unit}: {diagnostic['summary']}", "bold"), ""]
    place = diagnostic.get("range")
    if place is not None:
        context = (diagnostic.get("snippet") or {}).get("context")
        inside = f", in {context}" if context else ""
        file = place["filename"]
        path = file if file.startswith("<") else os.path.normpath(os.path.join(folder, file))
        lines.append(f"  on {path} line {place['start']['line']}{inside}:")
        code = (diagnostic.get("snippet") or {}).get("code", "")
        start = (diagnostic.get("snippet") or {}).get("start_line", place["start"]["line"])
        lines += [f"  {number:>4}: {text}" for number, text in enumerate(code.split("\n"), start)]
        lines.append("")
    if diagnostic.get("detail"):
        lines.append(diagnostic["detail"])
    return "\n".join(lines)


def _write_reports(document: dict[str, Any], report: Any, arguments: Arguments, terminal: Terminal) -> bool:
    written = True
    wanted = [(kind, arguments.get(kind)) for kind in ("report", "junit", "markdown", "html", "review")]
    review = _fleet_review(document, report, arguments)
    if document["shard"] is not None:
        wanted = [("kept" if kind == "report" else kind, path) for kind, path in wanted]
    if arguments.get("out") and (document["shard"] is not None or not report.failed):
        wanted.append(("kept", os.path.join(arguments["out"], REPORT)))
    for kind, path in wanted:
        if not path:
            continue
        if kind == "report":
            text = json_text(document)
        elif kind == "kept":
            text = _kept_text(document, report)
        elif kind == "review":
            text = json_text(review)
        else:
            write = getattr(import_module(f"planner.workflows.batch.reports.{kind}"), kind)
            more = {"grounds": edge_grounds(report)} if kind == "html" else {}
            more |= {"review": review} if kind in ("markdown", "html") and review is not None else {}
            text = write(document, texts(report), **more)
        try:
            with open(path, "w", encoding="utf-8", opener=_for_owner if kind == "kept" else None) as file:
                file.write(text)
        except OSError as problem:
            finish(
                [error("batch.report", "Cannot write the report", f"{path}: {problem.strerror or problem}.")], terminal
            )
            written = False
    return written


def _for_owner(path: str, flags: int) -> int:
    """Open a file that only the user can read, because it contains values."""
    return os.open(path, flags, 0o600)


def _kept_text(document: dict[str, Any], report: Any) -> str:
    """The report and the units' reviews as JSON, for a later `batch join` or `show`."""
    from planner.workflows.batch.reports.review import reviews_json

    return json_text({**document, "reviews": reviews_json(_unit_reviews(report, True))})


def _fleet_review(document: dict[str, Any], report: Any, arguments: Arguments) -> dict[str, Any] | None:
    """The review of the fleet; None if it was not requested."""
    analysis = getattr(report, "analysis", None)
    subject = Review(arguments, "batch", directory=analysis.fleet.root if analysis is not None else ".").subject
    if subject is None:
        return None
    from planner.workflows.batch.reports.review import fleet_review

    return fleet_review(document, _unit_reviews(report), subject)


def _unit_reviews(report: Any, is_kept: bool = False) -> UnitReviews:
    """The reviews of the units. In a joined report, these are the reviews that the jobs wrote."""
    from planner.workflows.batch.reports.review import unit_reviews

    joined: UnitReviews | None = getattr(report, "reviews", None)
    return joined if joined is not None else unit_reviews(report, is_kept)


def texts(report: Any) -> dict[str, str]:
    """{unit: output of its run}; empty if the output was not requested."""
    done = getattr(report, "done", {})  # joined results have no output
    return {unit: end.result.text for unit, end in done.items() if end.result is not None and end.result.text}


def edge_grounds(report: Any) -> dict[Any, Any]:
    """{edge: the rule or the file that is its source} for the page; empty for joined results and a cached analysis."""
    from planner.workflows.batch.questions import grounds

    analysis = getattr(report, "analysis", None)
    return grounds(analysis) if analysis is not None else {}


# The running work of a batch, as a table at the bottom of the terminal. The table is redrawn in place, and lines of
# finished units scroll above it. It is drawn on events and at the ticks of the batch, without a thread.


MOST_ROWS = 10
"""maximum number of running units in the table"""
SOONEST = 0.1
"""minimum seconds between two redraws"""


class Live(BatchLines):
    """Prints lines for finished units, and draws a table of the running units below them."""

    def __init__(self, terminal: Terminal, show: bool = False) -> None:
        super().__init__(terminal, show)
        self.begun: dict[str, int] = {}
        """{submitted unit: number of the attempt}"""
        self.since: dict[str, float] = {}
        """{running unit: its start time}; `begun` may also contain units that are queued"""
        self.slots = 1
        self.outcomes: Counter[str] = Counter()
        self.expected = 0
        self.bad: list[str] = []
        self._widths: list[int] = []  # widths of the lines on the screen
        self._drawn_at = 0.0

    def say(self, text: str) -> None:
        self._clear()
        super().say(text)

    def expects(self, units: list[str]) -> None:
        self.expected = len(units)
        self.outcomes.clear()

    def began(self, unit: str, attempt: int) -> None:
        self.begun[unit] = attempt
        self.since.pop(unit, None)
        if attempt > 1:
            super().began(unit, attempt)
        self.tick(self.slots)

    def finish_unit(self, done: FinishedUnit) -> None:
        self.begun.pop(done.unit, None)
        self.since.pop(done.unit, None)
        self.outcomes[done.outcome] += 1
        if done.outcome in BAD and done.outcome != "skipped":
            self.bad.append(done.unit)
        super().finish_unit(done)
        self.tick(self.slots)

    def tick(self, slots: int) -> None:
        now, self.slots = time.monotonic(), slots
        for unit in self.begun:
            if unit not in self.since and len(self.since) < slots:
                self.since[unit] = now
        if self.begun and now - self._drawn_at >= SOONEST:
            self._drawn_at = now
            self._draw(now)

    def rests(self) -> None:
        self._clear()

    # ---------------------------------------------------------------- drawing

    def _draw(self, now: float) -> None:
        columns, rows = _size(self.terminal)
        lines = [fitting(text, columns - 1) for text in self._lines(now, rows)]
        paint = self.terminal.error_paint
        painted = [paint(lines[0], "bold"), *lines[1:]]
        if self.bad:
            painted[-1] = paint(painted[-1], "red")
        self.terminal.stdout.flush()
        self.terminal.stderr.write(self._back() + "".join(f"{text}\n" for text in painted))
        self.terminal.stderr.flush()
        self._widths = [cells(text) for text in lines]

    def _lines(self, now: float, rows: int) -> list[str]:
        done = sum(self.outcomes.values())
        waiting = max(0, self.expected - done - len(self.since))
        how = ", ".join(f"{self.outcomes[outcome]} {outcome}" for outcome in OUTCOMES if self.outcomes[outcome])
        lines = [f"{len(self.since)} running, {waiting} waiting, {done} done" + (f": {how}" if how else "")]
        room = max(0, min(MOST_ROWS, rows - 5))
        shown = list(self.since.items())[:room]
        width = max((cells(visible(unit)) for unit, _ in shown), default=0)
        for unit, since in shown:
            attempt = self.begun[unit]
            name, again = visible(unit), f"  try {attempt}" if attempt > 1 else ""
            lines.append(f"  {name}{' ' * (width - cells(name))}  {elapsed(now - since)}{again}")
        if shown and len(self.since) > room:
            lines.append(f"  and {len(self.since) - room} more")
        if self.bad:
            lines.append(f"not done: {visible(few(self.bad))}")
        return lines

    def _clear(self) -> None:
        if self._widths:
            self.terminal.stderr.write(self._back())
            self.terminal.stderr.flush()
            self._widths = []

    def _back(self) -> str:
        """Escape sequences that move to the first line of the table and clear the screen from there. If the terminal
        became narrower, a line of the table may occupy several lines of the screen."""
        columns, _ = _size(self.terminal)
        height = sum(max(1, -(-width // columns)) for width in self._widths)
        return f"\x1b[{height}A\x1b[J" if height else ""


def is_live(no_color: bool) -> bool:
    """Whether the live table can be drawn. It is not drawn in CI, with -no-color, and on terminals without escape
    sequences."""
    in_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
    return not no_color and not in_ci and os.environ.get("TERM", "dumb") not in ("", "dumb")


def _size(terminal: Terminal) -> tuple[int, int]:
    """The terminal's current columns and rows."""
    try:
        size = os.get_terminal_size(terminal.stderr.fileno())
        return size.columns or 80, size.lines or 24
    except (OSError, ValueError, AttributeError):
        return 80, 24


def elapsed(seconds: float) -> str:
    """A duration as text: `8s`, `2m 5s`, `1h 0m`."""
    minutes, rest = divmod(int(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60}h {minutes % 60}m"
    return f"{minutes}m {rest}s" if minutes else f"{rest}s"


def cells(text: str) -> int:
    """The width of a text on a terminal, in columns."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def fitting(text: str, columns: int) -> str:
    """The text; if it is wider than `columns`, it is cut and ends with `..`."""
    if cells(text) <= columns:
        return text
    kept, left = "", columns - 2
    for character in text:
        left -= _cell(character)
        if left < 0:
            break
        kept += character
    return f"{kept.rstrip()}.."[: max(0, columns)]


def _cell(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
