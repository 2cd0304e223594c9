"""A batch as Markdown, for a comment on a pull request."""

from __future__ import annotations

from typing import Any

from planner.batch.reports.document import summary_line, totals

SIGNS = {"create": "+", "update": "~", "delete": "-", "read": "<=", "forget": "."}
LONGEST = 60_000
"""characters: comments have a limit, and lists of changes are cut before it"""


def markdown(document: dict[str, Any], texts: dict[str, str]) -> str:
    """A table of units, then the changes of each, folded."""
    numbers = totals(document)
    lines = [f"### {summary_line(document)}", ""]
    lines.append(f"**{numbers['add']}** to add, **{numbers['change']}** to change, **{numbers['remove']}** to destroy.")
    lines += [
        "",
        "| wave | unit | outcome | add | change | destroy | |",
        "| ---: | --- | --- | ---: | ---: | ---: | --- |",
    ]
    for unit in document["units"]:
        counts = [str(unit["counts"][name] or "") for name in ("add", "change", "remove")]
        note = f"because of {unit['because']}" if unit["because"] else ""
        note = f"{note} (from before)".strip() if unit["reused"] else note
        cells = [str(unit["wave"]), f"`{_cell(unit['unit'])}`", _mark(unit["outcome"]), *counts, _cell(note)]
        lines.append(f"| {' | '.join(cells)} |")
    for unit in document["units"]:
        lines += _details(unit)
        if sum(map(len, lines)) > LONGEST:
            lines += ["", "More changes are in the report itself: this text has reached the length of a comment."]
            break
    return "\n".join(lines) + "\n"


def _details(unit: dict[str, Any]) -> list[str]:
    shown = [
        f"{_sign(c['action'])} {c['address']}" + (f"  ({c['reason']})" if c["reason"] else "") for c in unit["changes"]
    ]
    problems = [f"{d['severity']}: {d['summary']}: {d['detail']}" for d in unit["diagnostics"]]
    if not shown and not problems:
        return []
    body = "\n".join([*problems, *shown])
    fence = "```"
    while fence in body:
        fence += "`"
    is_open = " open" if any(d["severity"] == "error" for d in unit["diagnostics"]) else ""
    title = unit["unit"].replace("&", "&amp;").replace("<", "&lt;")
    return [
        "",
        f"<details{is_open}><summary><code>{title}</code>: {unit['outcome']}</summary>",
        "",
        f"{fence}diff",
        body,
        fence,
        "</details>",
    ]


def _sign(action: str) -> str:
    return SIGNS.get(action, "-/+")


def _mark(outcome: str) -> str:
    return f"**{outcome}**" if outcome in ("failed", "died", "stopped") else outcome


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("`", "'")
