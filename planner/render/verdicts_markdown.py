"""Verdicts as Markdown, for the discussion of a change: the counts, a table, and what each denial depends on,
folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from planner.answers.policy.model import REFUSALS, Finding, Verdict
from planner.render.proof import proof_text
from planner.render.terminal import Paint, cell
from planner.render.verdicts import count_verdicts, judged

MOST = 60_000
"""characters: code hosts take about 65,000 for one comment"""
_LONGEST = 300
"""of one cell"""
_LONGEST_PROOF = 4_000


def markdown_of_several(judged: Iterable[tuple[str, Verdict | None]]) -> str:
    """The verdicts about several documents, each under its name; None: it could not be judged."""
    every = list(judged)
    parts = []
    for name, verdict in every:
        title = f"Policies: {name}"
        if verdict is None:
            parts.append(f"### {_text(title)}\n\n**It could not be judged.**")
        else:
            parts.append(markdown(verdict, title, MOST // len(every)))
    return "\n\n".join(parts)


def markdown(verdict: Verdict, title: str = "Policies", most: int = MOST) -> str:
    """The verdict on at most so many characters; what is left out is counted."""
    lines = [f"### {_text(title)}", "", f"**{_text(count_verdicts(verdict))}**", ""]
    if verdict.findings:
        lines += ["| verdict | policy | severity | address | message |", "| --- | --- | --- | --- | --- |"]
    size = sum(len(line) + 1 for line in lines)
    left_out = 0
    for finding in verdict.findings:
        row = _row(finding)
        if size + len(row) > most * 2 // 3:
            left_out += 1
            continue
        lines.append(row)
        size += len(row) + 1
    if left_out:
        lines += ["", f"{left_out} more: see `planner policy check`."]
    for line in (*map(_text, judged(verdict)), *_proofs(verdict)):
        if size + len(line) + 2 > most:
            break
        lines += ["", line]
        size += len(line) + 2
    return "\n".join(lines)


def _row(finding: Finding) -> str:
    info = finding.info
    code = f"[{_text(finding.code)}]({info.links[0]})" if info is not None and info.links else _text(finding.code)
    place = f" ({_text(str(finding.span))})" if finding.span is not None else ""
    message = _text(finding.message) + (f"; {_text(finding.reason)}" if finding.reason else "")
    kind = f"**{finding.kind}**" if finding.kind in REFUSALS else finding.kind
    severity = info.severity if info is not None else ""
    return f"| {kind} | {code} | {severity} | {_text(finding.address) or 'the plan'}{place} | {message} |"


def _proofs(verdict: Verdict) -> Iterator[str]:
    """The proofs of denials, each folded."""
    for finding in verdict.of(*REFUSALS):
        proof = proof_text(finding.proof, Paint(False), full=True)[:_LONGEST_PROOF]
        title = _html(f"{finding.code}: {finding.address or 'the plan'}")
        yield f"<details><summary>Why {title}</summary>\n\n<pre>{_html(proof)}</pre>\n</details>"


def _text(text: str) -> str:
    """Literal text for a cell: no markup, links, mentions or breaks of its own."""
    plain = cell(" ".join(text.split()))
    plain = plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]}..."
    return re.sub(r"([\\`*_{}\[\]<>()#|~@!])", r"\\\1", plain)


def _html(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")
    return "".join(c for c in escaped if c == "\n" or c.isprintable())
