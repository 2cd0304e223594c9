"""A batch as one HTML page that needs nothing else: the fleet's graph as a picture, the units, their changes."""

from __future__ import annotations

from html import escape
from typing import Any

from planner.batch.reports.document import summary_line, totals
from planner.batch.reports.layout import Box, layout
from planner.datalog.engine.native import reduction

STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8881; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 1200px; padding: 0 1em; }
h1 { font-size: 1.4em; } .facts { color: #777; }
.graph { overflow: auto; max-height: 75vh; border: 1px solid var(--line); border-radius: 6px; }
svg text { font: 12px ui-monospace, monospace; fill: currentColor; }
svg rect { stroke: #0006; stroke-width: 1; rx: 5; } svg g { cursor: pointer; }
svg path { fill: none; stroke: #888; stroke-width: 1.2; } svg path.near { stroke: #d40; stroke-width: 2.2; }
svg g.chosen rect { stroke: #d40; stroke-width: 2.5; }
table { border-collapse: collapse; width: 100%; margin: 1em 0; }
th, td { text-align: left; padding: .25em .7em; border-bottom: 1px solid var(--line); } td.n { text-align: right; }
.badge { border-radius: 4px; padding: 0 .5em; color: #111; white-space: nowrap; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5em 0; padding: .4em .8em; }
details.chosen { outline: 2px solid #d40; } summary { cursor: pointer; }
pre { overflow: auto; background: var(--soft); padding: .6em; } .error { color: #c22; } code { font-size: .95em; }
input { font: inherit; padding: .2em .5em; width: 22em; max-width: 100%; }
"""
COLOURS = {
    "applied": "#9ad6a0",
    "changes": "#f2d27a",
    "incomplete": "#a9c9f2",
    "unchanged": "#d5d5d5",
    "declined": "#e8c8a0",
    "skipped": "#cfcfe0",
    "stopped": "#e8c8a0",
    "died": "#f29a9a",
    "failed": "#f29a9a",
}
SCRIPT = """
const near = unit => {
  for (const e of document.querySelectorAll('.chosen')) e.classList.remove('chosen');
  for (const p of document.querySelectorAll('svg path'))
    p.classList.toggle('near', p.dataset.from === unit || p.dataset.to === unit);
  for (const e of document.querySelectorAll('[data-unit]')) if (e.dataset.unit === unit) e.classList.add('chosen');
};
for (const g of document.querySelectorAll('svg g[data-unit]')) g.addEventListener('click', () => {
  near(g.dataset.unit);
  const d = [...document.querySelectorAll('details')].find(e => e.dataset.unit === g.dataset.unit);
  if (d) { d.open = true; d.scrollIntoView({block: 'nearest'}); }
});
document.getElementById('filter').addEventListener('input', event => {
  const word = event.target.value.toLowerCase();
  for (const e of document.querySelectorAll('details, tbody tr'))
    e.hidden = !e.textContent.toLowerCase().includes(word);
});
"""


def html(document: dict[str, Any], texts: dict[str, str]) -> str:
    """The page. `texts` are the plans of units as `planner plan` shows them."""
    numbers = totals(document)
    counts = f"{numbers['add']} to add, {numbers['change']} to change, {numbers['remove']} to destroy"
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f"<title>{escape(summary_line(document))}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(summary_line(document))}</h1>",
        f'<p class="facts">{counts}. Run {escape(document["run"])}, {document["seconds"]} s.</p>',
        f'<div class="graph">{_picture(document)}</div>',
        '<p><input id="filter" placeholder="Show only what contains ..." aria-label="Filter"></p>',
        _table(document),
        *(_unit(unit, texts.get(unit["unit"], "")) for unit in document["units"]),
        f"<script>{SCRIPT}</script></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _picture(document: dict[str, Any]) -> str:
    units = {unit["unit"]: unit for unit in document["units"]}
    edges = sorted(reduction({(a, b) for a, b in document["edges"] if a in units and b in units}, {}))
    picture = layout({name: unit["wave"] for name, unit in units.items()}, edges)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{picture.width:.0f}" height="{picture.height:.0f}" role="img" '
        'aria-label="The units and what they wait for">'
    ]
    for a, b in edges:
        lines.append(
            f'<path data-from="{escape(a)}" data-to="{escape(b)}" d="{_curve(picture.boxes[b], picture.boxes[a])}"/>'
        )
    for name, unit in units.items():
        box = picture.boxes[name]
        colour = COLOURS.get(unit["outcome"], "#ddd")
        lines.append(
            f'<g data-unit="{escape(name)}"><title>{escape(name)}: {unit["outcome"]}</title>'
            f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height}" fill="{colour}"/>'
            f'<text x="{box.x + 12:.1f}" y="{box.y + 18:.1f}" style="fill:#111">{escape(name)}</text></g>'
        )
    return "\n".join([*lines, "</svg>"])


def _curve(start: Box, end: Box) -> str:
    """From the right of one box to the left of another."""
    x1, y1 = start.x + start.width, start.y + start.height / 2
    x2, y2 = end.x, end.y + end.height / 2
    middle = (x1 + x2) / 2
    return f"M{x1:.1f} {y1:.1f}C{middle:.1f} {y1:.1f} {middle:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"


def _badge(outcome: str) -> str:
    return f'<span class="badge" style="background:{COLOURS.get(outcome, "#ddd")}">{outcome}</span>'


def _table(document: dict[str, Any]) -> str:
    rows = []
    for unit in document["units"]:
        counts = "".join(f'<td class="n">{unit["counts"][n] or ""}</td>' for n in ("add", "change", "remove"))
        note = f"because of {unit['because']}" if unit["because"] else ""
        note = f"{note} (from before)".strip() if unit["reused"] else note
        rows.append(
            f'<tr><td class="n">{unit["wave"]}</td><td><code>{escape(unit["unit"])}</code></td>'
            f"<td>{_badge(unit['outcome'])}</td>{counts}<td>{escape(note)}</td></tr>"
        )
    head = "".join(f"<th>{name}</th>" for name in ("wave", "unit", "outcome", "add", "change", "destroy", ""))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _unit(unit: dict[str, Any], text: str) -> str:
    chosen = ", ".join(f"{s['selector'] or 'everything'} ({s['way']})" for s in unit["selected_by"])
    waits = ", ".join(unit["waits_for"]) or "nothing"
    lines = [
        f'<details data-unit="{escape(unit["unit"])}"><summary><code>{escape(unit["unit"])}</code> '
        f"{_badge(unit['outcome'])}</summary>",
        f"<p>In {escape(unit['folder'])}. Waits for {escape(waits)}. Selected by {escape(chosen)}.</p>",
    ]
    for problem in unit["diagnostics"]:
        place = problem.get("range")
        where = f" ({escape(place['filename'])}:{place['start']['line']})" if place else ""
        lines.append(
            f'<p class="{escape(problem["severity"])}"><strong>{escape(problem["summary"])}</strong>{where}<br>'
            f"{escape(problem['detail'])}</p>"
        )
    if text:
        lines.append(f"<pre>{escape(text)}</pre>")
    elif unit["changes"]:
        changes = "\n".join(f"{c['action']} {c['address']} {c['reason']}".rstrip() for c in unit["changes"])
        lines.append(f"<pre>{escape(changes)}</pre>")
    return "\n".join([*lines, "</details>"])
