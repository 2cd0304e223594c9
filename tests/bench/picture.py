"""Pictures of how cost grows (both axes logarithmic) and of how it changed from entry to entry of the history; one line
a series, an SVG without anything from outside."""

from __future__ import annotations

from html import escape
from math import ceil, floor, log10

WIDTH, HEIGHT = 720, 440
LEFT, RIGHT, TOP, BOTTOM = 70, 180, 40, 50
COLOURS = ("#1b6ca8", "#d1495b", "#2e8b57", "#8e6c8a", "#e08e0b", "#3c3c3c", "#00a6a6", "#a0522d", "#6a5acd")

Series = dict[str, list[tuple[float, float]]]
"""name -> (size, seconds), both positive; a name that begins with "tofu" is drawn dashed"""


def svg(series: Series, title: str) -> str:
    """The picture as text. Raises ValueError when there is nothing to draw."""
    points = [point for line in series.values() for point in line]
    if not points:
        raise ValueError("nothing to draw")
    low_x, high_x = _decades(x for x, _ in points)
    low_y, high_y = _decades(y for _, y in points)

    def place(x: float, y: float) -> tuple[float, float]:
        across = (log10(x) - low_x) / (high_x - low_x)
        up = (log10(y) - low_y) / (high_y - low_y)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    out = [
        *_begun(title),
        f'<text x="{(WIDTH - RIGHT + LEFT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">resources</text>',
    ]
    for decade in range(low_x, high_x + 1):
        x, y = place(10.0**decade, 10.0**low_y)
        out.append(f'<path d="M{x:.1f} {y:.1f}V{TOP}" stroke="#ddd"/>')
        out.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{10**decade:,}</text>')
    for decade in range(low_y, high_y + 1):
        x, y = place(10.0**low_x, 10.0**decade)
        out.append(f'<path d="M{x:.1f} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        out.append(f'<text x="{x - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{10.0**decade:g} s</text>')
    for i, (name, line) in enumerate(sorted(series.items())):
        out += _line(i, name, [place(x, y) for x, y in sorted(line)], name.startswith("tofu"))
    return "\n".join([*out, "</svg>", ""])


def history_svg(series: Series, names: list[str], title: str) -> str:
    """The picture of ratios, positive, at entries with these names; x of a series is the entry's number. Lines are in
    the order in which they end, the highest first; every second nine are dashed. Raises ValueError when there is
    nothing to draw."""
    points = [point for line in series.values() for point in line]
    if not points:
        raise ValueError("nothing to draw")
    low, high = _decades([1.0, *(y for _, y in points)])
    bottom, last = HEIGHT - BOTTOM, max(len(names) - 1, 1)

    def place(x: float, y: float) -> tuple[float, float]:
        up = (log10(y) - low) / (high - low)
        return LEFT + 20 + x / last * (WIDTH - LEFT - RIGHT - 40), bottom - up * (bottom - TOP)

    out = _begun(title)
    for decade in range(low, high + 1):
        _, y = place(0, 10.0**decade)
        out.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{"#888" if decade == 0 else "#ddd"}"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0**decade:g}</text>')
    step = ceil(len(names) / 6)  # names that find room
    for i in range((len(names) - 1) % step, len(names), step):
        x, _ = place(i, 1.0)
        out.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{escape(names[i])}</text>')
    for i, (name, line) in enumerate(sorted(series.items(), key=lambda item: (-max(item[1])[1], item[0]))):
        out += _line(i, name, [place(x, y) for x, y in sorted(line)], i // len(COLOURS) % 2 == 1)
    return "\n".join([*out, "</svg>", ""])


def _begun(title: str) -> list[str]:
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12"><rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="24" font-size="15">{escape(title)}</text>',
    ]


def _line(i: int, name: str, places: list[tuple[float, float]], is_dashed: bool) -> list[str]:
    """The i-th line through these places, and its name beside the picture."""
    colour = COLOURS[i % len(COLOURS)]
    dashed = ' stroke-dasharray="6 4"' if is_dashed else ""
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    y = TOP + 12 + 18 * i
    return [
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashed}/>',
        *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places),
        f'<path d="M{WIDTH - RIGHT + 14} {y - 4}h22" stroke="{colour}" stroke-width="2"{dashed}/>',
        f'<text x="{WIDTH - RIGHT + 42}" y="{y}">{escape(name)}</text>',
    ]


def _decades(values: object) -> tuple[int, int]:
    logs = [log10(v) for v in values]  # type: ignore[attr-defined]
    low, high = floor(min(logs)), ceil(max(logs))
    return low, max(high, low + 1)
