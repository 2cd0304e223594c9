"""The report of a batch as Markdown for a comment on a pull request. It shows only changes, puts causes first, and is
never longer than GitHub allows.

The table lists units by wave. If there are many units, the table lists failed units first, then units that do not
change because of other units, then units that do. Below the table, each unit's changes are in a collapsible section.
Units at the end that do not fit are omitted; their number is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from planner.logic.programs.actions import words_for
from planner.render.alike import numbered
from planner.render.review.document import bare_document
from planner.render.review.drift import REPORT
from planner.render.review.literal import code, prose
from planner.render.review.markdown import decisions, foot_lines, output_text, sections, where_lines
from planner.render.review.subject import ReviewSubject
from planner.workflows.batch.reports.document import (
    is_drift,
    note,
    noun_of,
    replaced_text,
    summary_line,
    totals,
    totals_text,
)

LONGEST = 65_000
"""maximum length of the report in characters; GitHub accepts 65,536"""
FOLD = 6_000
"""maximum number of characters for the changes of one unit, or of units with equal changes"""
HEAD = ("| wave | {} | outcome | add | change | destroy | |", "| ---: | --- | --- | ---: | ---: | ---: | --- |")
"""the head of the table; {} is replaced with the noun for the rows: unit or component"""
MOST_OPEN = 30
"""if the table has more rows, it is in a collapsible section"""
MOST_OUTPUTS = 4
"""maximum number of a unit's outputs in the table"""
CAUSES = 0.45
"""maximum fraction of the remaining length for the causes"""
TABLE = 0.55
"""maximum fraction of the remaining length for the table"""
MOST_NAMED = 10
"""maximum number of names in a list of units or components"""
_RESERVED = 600
"""number of characters reserved for the notes about omitted units and changes"""
_BAD = ("failed", "denied", "died", "stopped", "skipped", "declined")


def markdown(document: dict[str, Any], texts: dict[str, str], review: Mapping[str, Any] | None = None) -> str:
    """The report as Markdown. `review`: the review of the fleet (review.py). Its decisions, causes and objects precede
    the table; its outputs and attributes are in the table and in the units' sections."""
    shown = ordered(document)
    where = where_lines(review) if review is not None else ()
    lines = [f"### {_title(document)}", "", *where, _totals(document), "", *_problems(document)]
    foot: list[str] = []
    if review is not None:
        lines += decisions(review)
        room = LONGEST - _RESERVED - sum(len(line) + 1 for line in lines)
        lines += sections(review, int(room * CAUSES), ("causes", "objects"))
        foot = foot_lines(review)
    room = LONGEST - _RESERVED - sum(len(line) + 1 for line in (*lines, *foot))
    outputs: dict[str, list[Mapping[str, Any]]] = {}
    for one in review["outputs"] if review is not None else ():
        outputs.setdefault(one["unit"], []).append(one)
    reviewed: dict[str, list[Mapping[str, Any]]] = {}
    for change in review["changes"] if review is not None else ():
        reviewed.setdefault(change["unit"], []).append(change)
    groups = _groups(shown, reviewed, outputs)
    rows, left = _fitting(
        [_row(group, () if group[0]["changes"] else outputs.get(group[0]["unit"], ())) for group in groups],
        int(room * TABLE),
    )
    room -= int(room * TABLE) - left
    if len(rows) > MOST_OPEN:
        lines += [f"<details><summary>{sum(map(len, groups[: len(rows)])):,} {noun_of(document)}s</summary>", ""]
    if rows:
        lines += [HEAD[0].format(noun_of(document)), *HEAD[1:], *rows]
    if len(rows) > MOST_OPEN:
        lines += ["", "</details>"]
    alike = _groups([one for group in groups[: len(rows)] for one in group], reviewed, outputs, in_any_wave=True)
    folded = [(group, fold) for group in alike if (fold := _fold(group, reviewed, outputs))]
    folds, _ = _fitting([fold for _, fold in folded], room - 120)
    lines += folds
    lines += _rest(document, groups, len(rows), sum(len(group) for group, _ in folded[len(folds) :]))
    lines += ["", *foot] if foot else []
    return "\n".join(lines) + "\n"


def ordered(document: dict[str, Any]) -> list[dict[str, Any]]:
    """All units, sorted by wave, except unchanged units without diagnostics. If there are more than MOST_OPEN, failed
    units come first, and units that change because of other units come last."""
    units = [u for u in document["units"] if u["outcome"] != "unchanged" or u["diagnostics"]]
    is_long = len(units) > MOST_OPEN
    position = {unit["unit"]: n for n, unit in enumerate(units)}

    def rank(unit: dict[str, Any]) -> tuple[int, bool, int]:
        first = unit["outcome"] not in _BAD if is_long else unit["wave"]
        return first, bool(unit["because"]), position[unit["unit"]]

    return sorted(units, key=rank)


def _problems(document: dict[str, Any]) -> list[str]:
    """A code block with the errors that are not about a single unit; empty if there are none."""
    wrong = [d for d in document.get("diagnostics", ()) if d["severity"] == "error"]
    lines = [f"{d['severity']}: {d['summary']}: {d['detail']}" for d in wrong]
    return [*_fenced(lines, "problems"), ""] if lines else []


def _title(document: dict[str, Any]) -> str:
    if is_drift(document) and any(totals(document).values()):
        return f"{summary_line(document)}{REPORT}"
    return summary_line(document)


def _groups(
    units: Sequence[dict[str, Any]],
    reviewed: Mapping[str, list[Mapping[str, Any]]],
    outputs: Mapping[str, list[Mapping[str, Any]]],
    in_any_wave: bool = False,
) -> list[list[dict[str, Any]]]:
    """The units, grouped so that the units of a group have equal changes with equal causes. If `in_any_wave`, units of
    different waves, and units whose outputs are read by different units, can be in one group."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for unit in units:
        name = unit["unit"]
        changes = tuple(
            (
                *(one[part] for part in ("address", "action", "stateful", "reason", "previous_address", "is_drift")),
                *one["causes"],
                *((item["path"], item["forces_replacement"]) for item in one["attributes"]),
            )
            for one in reviewed.get(name, ())
        )
        own = tuple(
            (o["name"], o["before"], o["after"], *(() if in_any_wave else o["read_by"])) for o in outputs.get(name, ())
        )
        about = (unit["outcome"], *(() if in_any_wave else (unit["wave"], note(unit), *unit["counts"].values())))
        alone = name if unit["diagnostics"] or not changes or any(one["is_drift"] for one in reviewed[name]) else ""
        if in_any_wave and not all(one["causes"] for one in reviewed.get(name, ())):
            alone = name
        groups.setdefault((about, changes, own, alone), []).append(unit)
    return [*groups.values()]


def _names(group: Sequence[dict[str, Any]]) -> list[tuple[str, int]]:
    """The names of a group's units, as (text, number of units that the text names). Names that differ only in a number
    share one text. If there are more than MOST_NAMED texts, the last text is the number of the remaining units."""
    items = numbered(unit["unit"] for unit in group)
    shown = [(item.text, item.number) for item in items[:MOST_NAMED]]
    left = sum(item.number for item in items[MOST_NAMED:])
    return [*shown, *([(f"and {left:,} more", 1)] if left else [])]


def _totals(document: dict[str, Any]) -> str:
    return f"Objects: {totals_text(document, '**') or 'none'}{replaced_text(document)}."


def _fitting(texts: list[str], room: int) -> tuple[list[str], int]:
    """The first texts, as many as fit in `room` characters, and the number of characters that remain."""
    items = []
    for text in texts:
        if len(text) + 1 > room:
            break
        room -= len(text) + 1
        items.append(text)
    return items, room


def _rest(document: dict[str, Any], groups: list[list[dict[str, Any]]], rows: int, silent: int) -> Iterable[str]:
    """Notes about unchanged units, and about units and changes that are omitted. `rows`: the number of groups in the
    table. `silent`: the number of units in the table whose changes are omitted."""
    lines, noun = [], noun_of(document)
    unchanged = Counter(u["outcome"] for u in document["units"])["unchanged"]
    if noun == "component":
        quiet = Counter(unit["unit"].partition(": ")[0] for unit in document["units"] if unit["outcome"] == "unchanged")
        busy = {unit["unit"].partition(": ")[0] for group in groups for unit in group}
        alone = {
            name: number for name, number in quiet.items() if name not in busy and ": " in document["units"][0]["unit"]
        }
        lines += [f"{code(name)}: unchanged ({n:,} component{'s' * (n != 1)})." for name, n in alone.items()]
        unchanged -= sum(alone.values())
    if unchanged:
        other = "other " if lines else ""
        lines.append(f"{unchanged:,} {other}{f'{noun} is' if unchanged == 1 else f'{noun}s are'} unchanged.")
    if document.get("left_out"):
        names, more = document["left_out"][:MOST_NAMED], len(document["left_out"]) - MOST_NAMED
        rest = f" and {more} more" if more > 0 else ""
        lines.append(f"Left out: {', '.join(map(code, names))}{rest}.")
    if rows < len(groups):
        outcomes = Counter(unit["outcome"] for group in groups[rows:] for unit in group)
        what = ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))
        number = sum(outcomes.values())
        lines.append(f"**Cut:** {number} more {noun}{'s' * (number != 1)} ({what}): a comment cannot be longer.")
    if silent:
        last = f"{silent} {noun}s" if silent > 1 else noun
        lines.append(f"**Cut:** the changes of the last {last} in the table: a comment cannot be longer.")
    return ["", " ".join(lines)] if lines else []


def _row(group: Sequence[dict[str, Any]], outputs: Sequence[Mapping[str, Any]] = ()) -> str:
    """A table row for units with equal changes. `outputs`: the changed outputs of the unit if only its outputs
    change."""
    unit = group[0]
    names = ", ".join(text if text.startswith("and ") else code(text, in_table=True) for text, _ in _names(group))
    named = [output_text(one, in_table=True) for one in outputs[:MOST_OUTPUTS]]
    named += [f"and {len(outputs) - MOST_OUTPUTS:,} more outputs"] if len(outputs) > MOST_OUTPUTS else []
    counts = [
        f"{number:,}" if (number := sum(one["counts"][name] for one in group)) else ""
        for name in ("add", "change", "remove")
    ]
    cells = [
        f"{unit['wave']} (after {unit['wave'] - 1})" if unit["wave"] else "0",
        f"{names} ({len(group):,})" if len(group) > 1 else names,
        _mark(unit["outcome"]),
        *counts,
        "; ".join(filter(None, (prose(note(unit)), *named))),
    ]
    return f"| {' | '.join(cells)} |"


def _fold(
    group: Sequence[dict[str, Any]],
    reviewed: Mapping[str, list[Mapping[str, Any]]] = {},
    outputs: Mapping[str, list[Mapping[str, Any]]] = {},
) -> str:
    """A collapsible section with the changes and diagnostics of units with equal changes; "" if the units have neither
    changes nor diagnostics. `reviewed`: {unit: its changes by attribute}."""
    unit = group[0]
    shown = [
        f"{_sign(c['action'])} {c['address']}" + (f"  ({c['reason']})" if c["reason"] else "") for c in unit["changes"]
    ]
    problems = [f"{d['severity']}: {d['summary']}: {d['detail']}" for d in unit["diagnostics"]]
    if not shown and not problems:
        return ""
    is_open = " open" if any(d["severity"] == "error" for d in unit["diagnostics"]) else ""
    titles = [text.replace("&", "&amp;").replace("<", "&lt;").replace("\n", " ") for text, _ in _names(group)]
    title = f"<code>{', '.join(titles)}</code>{f' ({len(group):,})' if len(group) > 1 else ''}"
    head = f"\n<details{is_open}><summary>{title}: {unit['outcome']}</summary>\n"
    changes = [change for one in group for change in reviewed.get(one["unit"], ())]
    if not changes:
        return "\n".join([head, *_fenced([*problems, *shown]), "</details>"])
    parts = {"changes": changes, "outputs": _common(group, outputs)}
    inner = sections({**bare_document("", ReviewSubject()), **parts}, FOLD, parts)
    return "\n".join([head, *(_fenced(problems) if problems else ()), *inner, "</details>"])


def _common(group: Sequence[dict[str, Any]], outputs: Mapping[str, list[Mapping[str, Any]]]) -> list[Mapping[str, Any]]:
    """The changed outputs to show for units with equal changes. If there are several units and other units read their
    outputs, these are the outputs that are read, each with the name of its unit. Otherwise they are the outputs of the
    first unit."""
    own = [one for unit in group for one in outputs.get(unit["unit"], ())]
    if len(group) > 1 and any(one["read_by"] for one in own):
        return [{**one, "name": f"{one['unit']}: {one['name']}"} for one in own if one["read_by"]]
    return own[: len(outputs.get(group[0]["unit"], ()))]


def _fenced(lines: list[str], what: str = "") -> list[str]:
    """A code block with the first lines (at most FOLD characters), and a line with the number of omitted lines."""
    body, left = _bounded(lines)
    fence = "```"
    while fence in body:
        fence += "`"
    more = [f"and {left} more {what}".rstrip()] if left else []
    return [f"{fence}diff", body, *more, fence]


def _bounded(lines: list[str]) -> tuple[str, int]:
    """The first lines within FOLD characters, and the number of omitted lines. A line that is too long is cut."""
    items: list[str] = []
    room = FOLD
    for line in lines:
        if room < len(line) and items:
            break
        items.append(line if len(line) <= room else f"{line[: room - 4]} ...")
        room -= len(line) + 1
        if room <= 0:
            break
    return "\n".join(items), len(lines) - len(items)


def _sign(action: str) -> str:
    return "?" if action == "defer" else words_for(action).sign


def _mark(outcome: str) -> str:
    return f"**{outcome}**" if outcome in ("failed", "denied", "died", "stopped") else outcome
