"""The report of a batch as one self-contained HTML page with the fleet's graph, the review and a table."""

from __future__ import annotations

import os
from collections.abc import Mapping
from html import escape
from typing import Any

from planner.logic.datalog.engine.native import reduction
from planner.render.page.document import Arrow, Page, PageChange, PageNode, PageView, Reason
from planner.render.page.page import page_html
from planner.render.review.page import body
from planner.workflows.batch.questions import Edge, UnitEdgeSource
from planner.workflows.batch.reports.document import note, noun_of, summary_line, totals

COLOURS = {
    "applied": "create",
    "changes": "update",
    "incomplete": "read",
    "deferred": "read",
    "forgotten": "forget",
    "unchanged": "none",
    "declined": "forget",
    "skipped": "forget",
    "stopped": "forget",
    "died": "delete",
    "failed": "delete",
    "denied": "delete",
}
SIGNS = {"applied": "=", "changes": "~", "incomplete": "?", "deferred": "?", "died": "!", "failed": "!", "denied": "!"}
"""signs before names, for readers who cannot distinguish the colours"""
LAYERS = (
    ("reference", "a value of the other unit is read"),
    ("order", "configured order"),
)
BOXES_FROM = 30
"""minimum number of units in a fleet for drawing directories as boxes"""


def html(
    document: dict[str, Any],
    texts: dict[str, str],
    grounds: Mapping[Edge, UnitEdgeSource] = {},
    review: Mapping[str, Any] | None = None,
) -> str:
    """A batch as an HTML page. `texts`: {unit: its plan as `planner plan` shows it}. `grounds`: {edge: its source}.
    `review`: the review of the fleet."""
    return page_html(page_of_batch(document, texts, grounds), below(document, review))


def below(document: dict[str, Any], review: Mapping[str, Any] | None = None) -> str:
    """The HTML below the graph: the review or, without a review, the diagnostics; then a table of the units."""
    first = _problems(document) if review is None else body(review)
    return f'<div class="below">{first}{_table(document)}</div>'


def page_of_batch(document: dict[str, Any], texts: dict[str, str], grounds: Mapping[Edge, UnitEdgeSource]) -> Page:
    """A page with a node for each unit, coloured by its outcome."""
    numbers = totals(document)
    counts = f"{numbers['add']} to add, {numbers['change']} to change, {numbers['remove']} to destroy."
    units = document["units"]
    moved = [unit for unit in units if unit["outcome"] != "unchanged"]
    number = {unit["unit"]: n for n, unit in enumerate(moved)}
    return Page(
        summary_line(document),
        (counts, f"Run {document['run']}, {document['seconds']} s."),
        (_view(document, grounds, number),),
        LAYERS,
        colours(document),
        tuple(change_of(unit, texts) for unit in moved),
        noun="unit",
        asks="planner batch why",
    )


def colours(document: dict[str, Any]) -> tuple[tuple[str, str, str, str], ...]:
    """(outcome, colour, sign, name) for each outcome that occurs in the report."""
    known = (outcome for outcome in document["outcomes"] if outcome in COLOURS)
    return tuple((outcome, COLOURS[outcome], SIGNS.get(outcome, ""), outcome) for outcome in known)


def change_of(unit: dict[str, Any], texts: dict[str, str]) -> PageChange:
    because = unit["because"]
    lines = [] if texts.get(unit["unit"]) else [_line(change) for change in unit["changes"]]
    groups = tuple(f"because of {other}" for other in unit.get("because_all") or [because]) if because else ()
    return PageChange(unit["unit"], unit["outcome"], because, groups, tuple(lines), texts.get(unit["unit"], ""))


def _line(change: dict[str, Any]) -> str:
    return f"{change['action']} {change['address']} {change['reason']}".rstrip()


def _view(document: dict[str, Any], grounds: Mapping[Edge, UnitEdgeSource], number: dict[str, int]) -> PageView:
    units = document["units"]
    names = {unit["unit"] for unit in units}
    boxes = _boxes([unit["folder"] for unit in units])
    items = tuple(
        PageNode(
            unit["unit"],
            "unit",
            unit["unit"],
            folder if (folder := os.path.dirname(unit["folder"])) in boxes else "",
            unit["unit"],
            None,
            (number[unit["unit"]],) if unit["unit"] in number else (),
            tuple(_facts(unit)),
        )
        for unit in units
    )
    edges = {(a, b) for a, b in document["edges"] if a in names and b in names}
    reduced = reduction(edges, {})
    return PageView("units", "Units and their dependencies", items, tuple(_arrows(edges, reduced, grounds)), boxes)


def _arrows(edges: set[Edge], reduced: Any, grounds: Mapping[Edge, UnitEdgeSource]) -> list[Arrow]:
    arrows = []
    for edge in sorted(edges):
        ground = grounds.get(edge)
        places = tuple((str(place), place.snippet) for place in ground.places) if ground is not None else ()
        reasons = tuple(
            Reason(maker.rule, maker.reason, () if n else places)
            for n, maker in enumerate(ground.makers if ground is not None else ())
        )
        layers = ground.layers if ground is not None else ("reference",)
        arrows.append(Arrow(*edge, layers, edge not in reduced, reasons))
    return arrows


def _facts(unit: dict[str, Any]) -> list[tuple[str, str]]:
    chosen = ", ".join(f"{s['selector'] or 'everything'} ({s['way']})" for s in unit["selected_by"])
    counts = ", ".join(f"{number} {name}" for name, number in unit["counts"].items() if number)
    rows = [
        ("Outcome", unit["outcome"]),
        ("Directory", unit["folder"]),
        ("Wave", str(unit["wave"])),
        ("Selected by", chosen),
    ]
    rows += [("From an earlier run", "its inputs are unchanged")] if unit["reused"] else []
    rows += [("Objects", counts)] if counts else []
    return [*rows, *((d["severity"], _problem(d)) for d in unit["diagnostics"])]


def _problem(problem: dict[str, Any]) -> str:
    place = problem.get("range")
    where = f" ({place['filename']}:{place['start']['line']})" if place else ""
    return f"{problem['summary']}{where}. {problem['detail']}"


def _boxes(folders: list[str]) -> dict[str, tuple[str, str]]:
    """{box: (enclosing box, title)}, with a box for each parent directory of units; no box encloses another box. {} if
    the fleet has fewer than BOXES_FROM units, or if all units have the same parent directory."""
    above = {os.path.dirname(folder) for folder in folders} - {""}
    return {folder: ("", folder) for folder in above} if len(folders) >= BOXES_FROM and len(above) > 1 else {}


# ---------------------------------------------------------------- below the graph


def _table(document: dict[str, Any]) -> str:
    rows = []
    for unit in document["units"]:
        counts = "".join(f'<td class="n">{unit["counts"][n] or ""}</td>' for n in ("add", "change", "remove"))
        rows.append(
            f'<tr><td class="n">{unit["wave"]}</td><td><code>{escape(unit["unit"])}</code></td>'
            f"<td>{escape(unit['outcome'])}</td>{counts}<td>{escape(note(unit))}</td></tr>\n"
        )
    titles = ("wave", noun_of(document), "outcome", "add", "change", "destroy", "note")
    head = "".join(f'<th scope="col">{name}</th>' for name in titles)
    caption = f"{noun_of(document).title()}s"
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def errors_of_units(document: dict[str, Any]) -> list[str]:
    problems = ((unit["unit"], problem) for unit in document["units"] for problem in unit["diagnostics"])
    return [f"Error: {unit}: {_problem(problem)}" for unit, problem in problems if problem["severity"] == "error"]


def _problems(document: dict[str, Any]) -> str:
    """The list of all diagnostics as HTML, for pages without a review; "" if there are none."""
    rows = [("", problem) for problem in document["diagnostics"]]
    rows += [(unit["unit"], problem) for unit in document["units"] for problem in unit["diagnostics"]]
    lines = [
        f"<li><strong>{escape(d['severity'])}</strong> {f'<code>{escape(unit)}</code> ' if unit else ''}"
        f"{escape(_problem(d))}</li>"
        for unit, d in rows
    ]
    return f"<h2>Problems</h2><ul>{''.join(lines)}</ul>" if lines else ""
