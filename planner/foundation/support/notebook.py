"""Renders results as HTML for notebooks, without scripts. All text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

MAX_ROWS = 200  # the maximum number of table rows
MAX_VERTICES = 60  # the maximum number of vertices of a graph that is drawn
_CELL = "text-align:left;vertical-align:top;padding:2px 12px 2px 0"
_BOX, _GAP, _LINE = 22, 14, 7.2


def table_html(columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = "") -> str:
    """A table with at most MAX_ROWS rows, followed by the number of remaining rows. Without columns, the result shows
    whether there are any rows: `True.` or `False.`"""
    head = "".join(f"<th style='{_CELL}'>{escape(name)}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td style={_CELL!r}>{escape(str(value))}</td>' for value in row)}</tr>"
        for row in rows[:MAX_ROWS]
    )
    more = f"<p>{len(rows) - MAX_ROWS} more rows</p>" if len(rows) > MAX_ROWS else ""
    if not columns:
        return f"<p>{'True.' if rows else 'False.'}</p>"
    title = f"<p><b>{escape(caption)}</b></p>" if caption else ""
    return f"{title}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def proof_html(text: str) -> str:
    return f"<pre style='font-family:monospace;line-height:1.35'>{escape(text)}</pre>"


def graph_html(vertices: Sequence[str], edges: Iterable[tuple[str, str]]) -> str:
    """A drawing of a graph, with each vertex to the right of its dependencies; for a large graph, a table of its
    edges."""
    pairs = list(edges)
    if len(vertices) > MAX_VERTICES:
        return table_html(("dependent", "dependency"), pairs, f"{len(vertices)} vertices, {len(pairs)} edges")
    places, width, height = _places(vertices, pairs)
    lines = "".join(_arrow(places[one], places[other]) for one, other in pairs)
    boxes = "".join(_box(name, *place) for name, place in places.items())
    size = f"width='{width:.0f}' height='{height:.0f}' viewBox='0 0 {width:.0f} {height:.0f}'"
    return (
        f"<div style='overflow-x:auto'><svg xmlns='http://www.w3.org/2000/svg' role='img' {size} "
        f"style='max-width:none' font-family='monospace' font-size='12'>"
        f"<title>{len(vertices)} vertices, {len(pairs)} edges</title>{lines}{boxes}</svg></div>"
    )


def _places(
    vertices: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> tuple[dict[str, tuple[float, float, float]], float, float]:
    """The (left, top, width) of each box, with one column per level, and the width and height of the drawing."""
    below: dict[str, list[str]] = {name: [] for name in vertices}
    for dependent, dependency in pairs:
        below[dependent].append(dependency)
    levels: dict[str, int] = {}
    for start in vertices:
        stack = [start]
        while stack:
            name = stack[-1]
            waiting = [other for other in below[name] if other not in levels and other not in stack]
            if waiting:
                stack.append(waiting[0])
            else:
                levels.setdefault(name, 1 + max((levels.get(other, -1) for other in below[name]), default=-1))
                stack.pop()
    columns: dict[int, list[str]] = {}
    for name in vertices:
        columns.setdefault(levels[name], []).append(name)
    places: dict[str, tuple[float, float, float]] = {}
    left, height = 0.0, 0.0
    for level in sorted(columns):
        wide = max(len(name) for name in columns[level]) * _LINE + 12
        for number, name in enumerate(columns[level]):
            places[name] = (left, number * (_BOX + _GAP) + 2, wide)
        left += wide + 60
        height = max(height, len(columns[level]) * (_BOX + _GAP))
    return places, max(left - 60, 0) + 2, height + 4


def _box(name: str, left: float, top: float, width: float) -> str:
    return (
        f"<rect x='{left + 1:.0f}' y='{top:.0f}' width='{width:.0f}' height='{_BOX}' rx='4' fill='#eef3fa' "
        f"stroke='#5b7ea8'/><text x='{left + 7:.0f}' y='{top + 15:.0f}' fill='#10233c'>{escape(name)}</text>"
    )


def _arrow(dependent: tuple[float, float, float], dependency: tuple[float, float, float]) -> str:
    x, y = dependent[0] + 1, dependent[1] + _BOX / 2
    to, at = dependency[0] + dependency[2] + 1, dependency[1] + _BOX / 2
    bend = f"{x - 30:.0f},{y:.0f} {to + 30:.0f},{at:.0f}"
    return f"<path d='M{x:.0f},{y:.0f} C{bend} {to:.0f},{at:.0f}' fill='none' stroke='#8a97a8'/>"
