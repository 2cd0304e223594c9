"""A proof for people: the conclusion first, below it what it rests on, down to lines of files.

The proof is the document that `why -json` prints (see the design of the proof format): sub-proofs by name, each with
its tuple, and either a rule with its reason and body, or the source of an input fact.
"""

from __future__ import annotations

from typing import Any

from planner.cli.terminal import Paint


def proof_text(proof: dict[str, Any], paint: Paint) -> str:
    """The proof as an indented tree; a sub-proof that was shown before is only named again. Iterative: proofs may be
    hundreds of steps high."""
    proofs: dict[str, Any] = proof["proofs"]
    lines: list[str] = []
    shown: set[str] = set()
    stack: list[tuple[int, Any]] = [(0, {"proof": proof["root"]})]
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
            lines.append(f"{lead}{fact}{paint(source_text(step.get('source')), 'grey')}")
            continue
        if name in shown:
            lines.append(f"{lead}{fact} {paint('(shown above)', 'grey')}")
            continue
        shown.add(name)
        reason = step.get("reason") or ""
        lines.append(f"{lead}{paint(fact, 'bold')}{': ' + reason if reason else ''} {paint(_rule(step), 'grey')}")
        stack += [(depth + 1, inner) for inner in reversed(step.get("body", ()))]
    return "\n".join(lines)


def fact_text(tuple_: list[Any]) -> str:
    """`edge("a", "b")`"""
    from planner.cli.render_diff import quoted

    name, *columns = tuple_
    return f"{name}({', '.join(quoted(c) if isinstance(c, str) else str(c) for c in columns)})"


def source_text(source: Any) -> str:
    """Where an input fact comes from, in a few words."""
    if not source:
        return ""
    if "file" in source:
        snippet = f": {source['snippet'].strip()}" if source.get("snippet") else ""
        return f"  {source['file']}:{source.get('line', 1)}{snippet}"
    (kind, value), *_ = source.items()
    return f"  from {kind.replace('_', ' ')}: {value}"


def _literal(part: dict[str, Any]) -> str:
    if "not" in part:
        return f"not {fact_text(part['not'])}"
    return str(part.get("test", part))


def _rule(step: dict[str, Any]) -> str:
    return f"[{step['rule']}]" if step.get("rule") else ""
