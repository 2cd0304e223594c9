"""A proof for people: the conclusion first, below it what it rests on, down to lines of files.

The proof is the document that `why -json` prints (format: planner.datalog.proof). The short form tells reasons and
places; the full form every fact, rule and condition. Both are iterative: proofs may be hundreds of steps high.
"""

from __future__ import annotations

from typing import Any

from planner.cli.terminal import Paint


def proof_text(document: dict[str, Any], paint: Paint, full: bool = False) -> str:
    """The text of a proof, or of the reasons why something does not hold."""
    if "proofs" not in document:
        return _obstacles(document, paint)
    return _full(document, paint) if full else _short(document, paint)


# ---------------------------------------------------------------- the short form


class _Part:
    """A line of the short form and what stands below it. `place` is where it comes from, for leaves."""

    __slots__ = ("below", "place", "reason")

    def __init__(self, reason: str, place: str = "") -> None:
        self.reason = reason
        self.place = place
        self.below: list[_Part] = []


def _short(document: dict[str, Any], paint: Paint) -> str:
    """Reasons that lead to a place in a file, the command line or the state; what was said before is not repeated, and
    a reason with a single one below gives way to that."""
    parts = _parts(document)
    root = parts[0]
    for part in reversed(parts):
        part.below = [below for below in part.below if below.below or below.place]
        if len(part.below) != 1:
            continue
        (only,) = part.below
        if not only.below:
            part.below, part.place = [], only.place
        elif part is not root:
            part.reason, part.below = only.reason, only.below
    lines: list[str] = []
    stack = [(0, root)]
    while stack:
        depth, part = stack.pop()
        reason = paint(part.reason, "bold") if part is root else part.reason
        place = paint(part.place, "grey")
        line = "  " * depth + (f"{reason}: {place}" if reason and place else reason or place)
        if lines[-1:] != [line]:  # several facts of one decision may stand in one place
            lines.append(line)
        stack += [(depth + 1, below) for below in reversed(part.below)]
    return "\n".join(lines)


def _parts(document: dict[str, Any]) -> list[_Part]:
    """Every step of the proof where it is used first, parents before what is below them."""
    proofs: dict[str, Any] = document["proofs"]
    root = _Part("")
    parts, seen = [root], {document["root"]}
    stack = [(document["root"], root)]
    while stack:
        name, part = stack.pop()
        step = proofs[name]
        if step.get("input"):
            part.place = source_text(step.get("source"))
            continue
        part.reason = step.get("reason") or fact_text(step["tuple"])
        found = []
        for entry in step.get("body", ()):
            if "proof" in entry and entry["proof"] not in seen:
                seen.add(entry["proof"])
                below = _Part("")
                part.below.append(below)
                parts.append(below)
                found.append((entry["proof"], below))
        stack += reversed(found)
    return parts


# ---------------------------------------------------------------- the full form


def _full(document: dict[str, Any], paint: Paint) -> str:
    """An indented tree of facts; a sub-proof that was shown before is only named again."""
    proofs: dict[str, Any] = document["proofs"]
    lines: list[str] = []
    shown: set[str] = set()
    stack: list[tuple[int, Any]] = [(0, {"proof": document["root"]})]
    while stack:
        depth, part = stack.pop()
        lead = "  " * depth
        if "proof" not in part:
            lines.append(lead + _literal(part))
            continue
        name = part["proof"]
        step = proofs[name]
        fact = fact_text(step["tuple"])
        if step.get("input"):
            place = source_text(step.get("source"))
            lines.append(f"{lead}{fact}{paint(f'  {place}', 'grey') if place else ''}")
            continue
        if name in shown:
            lines.append(f"{lead}{fact} {paint('(shown above)', 'grey')}")
            continue
        shown.add(name)
        reason = f": {step['reason']}" if step.get("reason") else ""
        rule = paint(f" [{step['rule']}]", "grey") if step.get("rule") else ""
        lines.append(f"{lead}{paint(fact, 'bold')}{reason}{rule}")
        stack += [(depth + 1, inner) for inner in reversed(step.get("body", ()))]
    return "\n".join(lines)


def _literal(part: dict[str, Any]) -> str:
    if "not" in part:
        return f"not {fact_text(part['not'])}"
    if "aggregate" in part:
        return f"{part['aggregate']} = {part['value']}"
    return str(part.get("test", part))


# ---------------------------------------------------------------- pieces


def _obstacles(document: dict[str, Any], paint: Paint) -> str:
    lines = [f"{paint(fact_text(document['goal']), 'bold')} does not hold."]
    for rule in document["rules"]:
        if rule["head_fits"]:
            lines.append(f"  {paint('[' + rule['rule'] + ']', 'grey')} would need {rule['fails']}")
    if len(lines) == 1:
        lines.append("  No rule could derive it.")
    return "\n".join(lines)


def fact_text(tuple_: list[Any]) -> str:
    """`edge("a", "b")`; `_` for any value."""
    from planner.cli.literals import quoted

    name, *columns = tuple_
    texts = ["_" if c is None else quoted(c) if isinstance(c, str) else str(c) for c in columns]
    return f"{name}({', '.join(texts)})"


def source_text(source: Any) -> str:
    """Where an input fact comes from, in a few words."""
    if not source:
        return ""
    if "file" in source:
        snippet = f": {source['snippet'].strip()}" if source.get("snippet") else ""
        return f"{source['file']}:{source.get('line', 1)}{snippet}"
    (kind, value), *_ = source.items()
    if kind == "native":
        return ""
    return f"{kind.replace('_', ' ')} {value}"
