"""A batch as Markdown, for a comment on a pull request: changes only, causes first, never longer than a comment may be.

Failed units come first, then those that change by themselves, then those that change because of them; below the table
the changes of each are folded. Units for which there is no room are left out from the end, and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from planner.logic.programs.actions import words_for
from planner.render.review.document import ReviewSubject, bare_document
from planner.render.review.literal import code, prose
from planner.render.review.markdown import decisions, foot_lines, output_text, sections
from planner.workflows.batch.reports.document import note, noun_of, summary_line, totals_text

LONGEST = 65_000
"""characters: GitHub takes 65,536"""
FOLD = 6_000
"""characters of the changes of one unit, while others have none yet"""
HEAD = ("| wave | {} | outcome | add | change | destroy | |", "| ---: | --- | --- | ---: | ---: | ---: | --- |")
"""of the table; {}: what that is which is planned by itself"""
MOST_OPEN = 30
"""rows of the table that are not folded"""
MOST_OUTPUTS = 4
"""outputs of a unit in the table"""
CAUSES = 0.45
"""the part of the room that causes may take"""
TABLE = 0.55
"""the part of the room that the table may take"""
MOST_NAMED = 10
"""of what was left out"""
_RESERVED = 600
"""characters for the note about omitted parts"""
_BAD = ("failed", "died", "stopped", "skipped", "declined")


def markdown(document: dict[str, Any], texts: dict[str, str], review: Mapping[str, Any] | None = None) -> str:
    """A table of the units that are not as they were, then the changes of each, folded. `review`: the review of the
    fleet (review.py), whose decisions, causes and outputs come first, and whose attributes are in the folds."""
    shown = ordered(document)
    lines = [f"### {summary_line(document)}", "", _totals(document), "", *_problems(document)]
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
    rows, left = _fitting(
        [_row(unit, () if unit["changes"] else outputs.get(unit["unit"], ())) for unit in shown], int(room * TABLE)
    )
    room -= int(room * TABLE) - left
    if len(rows) > MOST_OPEN:
        lines += [f"<details><summary>{len(rows):,} {noun_of(document)}s</summary>", ""]
    if rows:
        lines += [HEAD[0].format(noun_of(document)), *HEAD[1:], *rows]
    if len(rows) > MOST_OPEN:
        lines += ["", "</details>"]
    reviewed: dict[str, list[Mapping[str, Any]]] = {}
    for change in review["changes"] if review is not None else ():
        reviewed.setdefault(change["unit"], []).append(change)
    folds, _ = _fitting([fold for unit in shown[: len(rows)] if (fold := _fold(unit, reviewed, outputs))], room - 120)
    lines += folds
    lines += _rest(document, shown, len(rows), len(folds))
    lines += ["", *foot] if foot else []
    return "\n".join(lines) + "\n"


def ordered(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The units that are not unchanged, or have diagnostics: failures before the rest, causes before their
    consequences."""
    units = [u for u in document["units"] if u["outcome"] != "unchanged" or u["diagnostics"]]
    position = {unit["unit"]: n for n, unit in enumerate(units)}

    def rank(unit: dict[str, Any]) -> tuple[bool, bool, int]:
        return unit["outcome"] not in _BAD, bool(unit["because"]), position[unit["unit"]]

    return sorted(units, key=rank)


def _problems(document: dict[str, Any]) -> list[str]:
    """The problems of no single part; as many as there is room for before the table."""
    wrong = [d for d in document.get("diagnostics", ()) if d["severity"] == "error"]
    said = [f"{d['severity']}: {d['summary']}: {d['detail']}" for d in wrong]
    return [*_fenced(said, "problems"), ""] if said else []


def _totals(document: dict[str, Any]) -> str:
    return f"Objects: {totals_text(document, '**') or 'none'}."


def _fitting(texts: list[str], room: int) -> tuple[list[str], int]:
    """The first texts that there is room for, and the room that they leave."""
    items = []
    for text in texts:
        if len(text) + 1 > room:
            break
        room -= len(text) + 1
        items.append(text)
    return items, room


def _rest(document: dict[str, Any], shown: list[dict[str, Any]], rows: int, folds: int) -> Iterable[str]:
    """The parts left out of the text, in words."""
    said, noun = [], noun_of(document)
    unchanged = Counter(u["outcome"] for u in document["units"])["unchanged"]
    if unchanged:
        said.append(f"{unchanged} {f'{noun} is' if unchanged == 1 else f'{noun}s are'} unchanged.")
    if document.get("left_out"):
        names, more = document["left_out"][:MOST_NAMED], len(document["left_out"]) - MOST_NAMED
        rest = f" and {more} more" if more > 0 else ""
        said.append(f"Left out: {', '.join(map(code, names))}{rest}.")
    if rows < len(shown):
        outcomes = Counter(unit["outcome"] for unit in shown[rows:])
        what = ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))
        said.append(f"**Cut:** {len(shown) - rows} more {noun}s ({what}) have no room in a comment.")
    silent = sum(1 for unit in shown[:rows] if _fold(unit)) - folds
    if silent:
        said.append(f"**Cut:** the changes of the last {silent} {noun}s in the table have no room in a comment.")
    return ["", " ".join(said)] if said else []


def _row(unit: dict[str, Any], outputs: Sequence[Mapping[str, Any]] = ()) -> str:
    """`outputs`: those of a unit where nothing else changes."""
    named = [output_text(one, in_table=True) for one in outputs[:MOST_OUTPUTS]]
    named += [f"and {len(outputs) - MOST_OUTPUTS:,} more outputs"] if len(outputs) > MOST_OUTPUTS else []
    counts = [str(unit["counts"][name] or "") for name in ("add", "change", "remove")]
    cells = [
        str(unit["wave"]),
        code(unit["unit"], in_table=True),
        _mark(unit["outcome"]),
        *counts,
        "; ".join(filter(None, (prose(note(unit)), *named))),
    ]
    return f"| {' | '.join(cells)} |"


def _fold(
    unit: dict[str, Any],
    reviewed: Mapping[str, list[Mapping[str, Any]]] = {},
    outputs: Mapping[str, list[Mapping[str, Any]]] = {},
) -> str:
    """The changes and diagnostics of a unit, folded; "" for none. `reviewed`: the changes of units, attribute by
    attribute, and `outputs`."""
    shown = [
        f"{_sign(c['action'])} {c['address']}" + (f"  ({c['reason']})" if c["reason"] else "") for c in unit["changes"]
    ]
    problems = [f"{d['severity']}: {d['summary']}: {d['detail']}" for d in unit["diagnostics"]]
    if not shown and not problems:
        return ""
    is_open = " open" if any(d["severity"] == "error" for d in unit["diagnostics"]) else ""
    title = unit["unit"].replace("&", "&amp;").replace("<", "&lt;").replace("\n", " ")
    head = f"\n<details{is_open}><summary><code>{title}</code>: {unit['outcome']}</summary>\n"
    changes = reviewed.get(unit["unit"])
    if not changes:
        return "\n".join([head, *_fenced([*problems, *shown]), "</details>"])
    parts = {"changes": changes, "outputs": outputs.get(unit["unit"], [])}
    inner = sections({**bare_document("", ReviewSubject()), **parts}, FOLD, parts)
    return "\n".join([head, *(_fenced(problems) if problems else ()), *inner, "</details>"])


def _fenced(lines: list[str], what: str = "") -> list[str]:
    """Lines as they are, within their bound."""
    body, left = _bounded(lines)
    fence = "```"
    while fence in body:
        fence += "`"
    more = [f"and {left} more {what}".rstrip()] if left else []
    return [f"{fence}diff", body, *more, fence]


def _bounded(lines: list[str]) -> tuple[str, int]:
    """The first lines within the bound of one unit, and how many were left out; one that is too long is cut."""
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
    return f"**{outcome}**" if outcome in ("failed", "died", "stopped") else outcome
