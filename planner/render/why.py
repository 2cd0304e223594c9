"""A reason in a few lines: each edge of the chain, the rule behind it, and the line of a file that it stands on.

Reads the document that `why -json` prints. The complete proof is for programs, and for `why -full`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.render.proof import own_rule_text, source_text
from planner.render.terminal import Paint

CHAIN = "waits_for"
EDGE = "edge"
FORCED = "forced_create_before_destroy"
"""of this goal the chain says all"""


def why_text(proof: dict[str, Any], paint: Paint) -> str:
    """The chain of edges, each with why and where; for other goals the decisive step and its places."""
    steps = list(_chain(proof))
    goal = proof["goal"]
    lines = list(proof.get("notes", ()))
    if goal[0] in (CHAIN, EDGE):
        through = f", through {len(steps) - 1} other{'s' if len(steps) > 2 else ''}" if len(steps) > 1 else ""
        lines.append(f"{paint(goal[1], 'bold')} waits for {paint(goal[2], 'bold')}{through}:")
    for name in steps:
        lines.append("")
        lines += _step(proof, name, paint)
    return "\n".join(lines)


def chains_text(document: dict[str, Any], paint: Paint) -> str:
    """What decided along the edges of a graph, step by step; empty when nothing did."""
    lines: list[str] = []
    for chain in document.get("chains", ()):
        lines.append(f"{chain['text']}:")
        for step in chain["steps"]:
            places = [place for place in map(source_text, step["sources"]) if place]
            lines.append(f"  {step['text']}" + (f": {paint(places[0], 'grey')}" if places else ""))
            lines += [f"    {paint(place, 'grey')}" for place in places[1:3]]
    return "\n".join(lines)


def _chain(proof: dict[str, Any]) -> Iterator[str]:
    """The proofs of the edges on the way, or the root itself."""
    proofs, at = proof["proofs"], proof["root"]
    while True:
        step = proofs[at]
        if step["tuple"][0] != CHAIN:
            yield at
            return
        parts = [entry["proof"] for entry in step["body"] if "proof" in entry]
        edges = [p for p in parts if proofs[p]["tuple"][0] == EDGE]
        further = [p for p in parts if proofs[p]["tuple"][0] == CHAIN]
        yield from edges
        if not further:
            return
        at = further[0]


def _step(proof: dict[str, Any], name: str, paint: Paint) -> list[str]:
    proofs = proof["proofs"]
    columns = proofs[name]["tuple"][1:]
    decisive = _decisive(proofs, name)
    ordered = _ordered(proofs, decisive)
    step = proofs[ordered[0] if ordered else decisive]
    rule = paint(f"[{step['rule']}]", "grey") if step.get("rule") else ""
    head = (
        f"  {columns[0]}\n    -> {columns[1]}"
        if proofs[name]["tuple"][0] == EDGE
        else f"  {' '.join(map(str, columns))}"
    )
    lines = [head, f"    because {step.get('reason', 'it is given')} {rule}".rstrip()]
    for further in ordered[-1:]:  # what the rule itself says, its name, and where it stands
        own = proofs[further]
        if "rule_at" in own:
            return [*lines, f"    {own.get('reason', '')} {paint('[' + own_rule_text(own) + ']', 'grey')}"]
        lines.append(f"    {own.get('reason', '')} {paint('[' + own.get('rule', '') + ']', 'grey')}")
    for place in _places(proofs, decisive):
        lines.append(f"    {paint(place, 'cyan')}")
    return lines


def _decisive(proofs: dict[str, Any], name: str) -> str:
    """The last step that is still about the same things: above it, steps only pass the relation on."""
    columns = proofs[name]["tuple"][1:]
    while True:
        body = proofs[name].get("body", ())
        further = [
            entry["proof"]
            for entry in body
            if "proof" in entry
            and proofs[entry["proof"]]["tuple"][1:] == columns
            and not proofs[entry["proof"]].get("input")
        ]
        if len(further) != 1:
            return name
        name = further[0]


def _ordered(proofs: dict[str, Any], name: str) -> list[str]:
    """The steps from a mention that a rule of the user's makes down to that rule; none for what somebody wrote."""

    def below(at: str, predicate: str) -> list[str]:
        inner = (entry["proof"] for entry in proofs[at].get("body", ()) if "proof" in entry)
        return [p for p in inner if proofs[p]["tuple"][0] == predicate][:1]

    steps = [p for p in below(name, "mentions") if proofs[p]["tuple"][3] == "order_before"]
    for predicate in ("ordered", "order_before"):
        steps += below(steps[-1], predicate) if steps else []
    return steps


def _places(proofs: dict[str, Any], name: str) -> list[str]:
    """Where the step's facts come from: mentions first; declarations only when nothing else is there."""
    mentions: list[str] = []
    others: list[str] = []
    seen: set[str] = set()
    stack = [name]
    while stack:
        at = stack.pop()
        if at in seen:
            continue
        seen.add(at)
        step = proofs[at]
        if step.get("input"):
            text = _place(step.get("source"))
            if text:
                (mentions if "reference" in step["tuple"][0] or "depends" in step["tuple"][0] else others).append(text)
        stack += [entry["proof"] for entry in reversed(step.get("body", ())) if "proof" in entry]
    return list(dict.fromkeys(mentions or others))[:3]


def _place(source: Any) -> str:
    if not source:
        return ""
    if "file" in source:
        return f"{source['file']}:{source['line']}: {source.get('snippet', '').strip()}"
    if "state" in source:
        return f"state: {source['state']}"
    return ""
