"""A proof for people: the conclusion, and indented below it its reasons, down to lines of files.

A proof is the document of `why -json` (format: planner.logic.datalog.explain.proof). The short form has reasons and
places, the full form has all facts, rules and conditions. Both forms are built without recursion, because proofs may be
hundreds of steps deep."""

from __future__ import annotations

from typing import Any

from planner.logic.datalog.explain.why_not import obstacles_text
from planner.logic.programs.actions import words_for
from planner.render.cause_line import root_text
from planner.render.terminal import Paint
from planner.render.value import quoted
from planner.render.why_change import cause_step

_FOLLOWED = ("changes", "explained", "unknown", "reads_staying", "ignored_up_to")
"""predicates whose proofs are followed below an explained action"""
LONGEST = 500
"""maximum number of steps of a proof in which redundant parts are searched for"""


MOST_JOINED = 2
"""maximum number of reasons in the line about the planned action"""


def proof_text(document: dict[str, Any], paint: Paint, full: bool = False, depth: int = 0, expand: str = "") -> str:
    """The text of a proof, or of the reasons why something does not hold. `depth`: the maximum number of levels to
    print (0: all). `expand`: the only step to print (p1, p2, ...), in full; "" for all steps. Raises KeyError for an
    unknown step."""
    if "proofs" not in document:
        return _obstacles(document, paint, full)
    if expand and expand not in document["proofs"]:
        raise KeyError(expand)
    start = expand or document["root"]
    return _full(document, paint, start, depth) if full or expand else _short(document, paint, start, depth)


# ---------------------------------------------------------------- the short form


class _ProofLine:
    """A line of the short form, and the lines below it. `places`: the sources of the line. `again`: whether the line
    repeats a line that was already printed. `about`: the predicate and the first column of the step's fact. `earlier`:
    lines below this one that belong to the same list, and are therefore printed before it on the same level."""

    __slots__ = ("about", "again", "below", "earlier", "name", "places", "reason")

    def __init__(self, name: str) -> None:
        self.name = name
        self.reason = ""
        self.places: list[str] = []
        self.below: list[_ProofLine] = []
        self.earlier: list[_ProofLine] = []
        self.about: list[Any] = []
        self.again = False


def _short(document: dict[str, Any], paint: Paint, start: str, depth_limit: int) -> str:
    """The text of a proof in short form: reasons, down to places in files, the command line or the state. A part that
    was already printed is only named. A reason without a place and with only one reason below it is replaced by that
    reason."""
    parts = _parts(document, start)
    root = parts[0]
    for part in reversed(parts):
        _settle(part, part is root)
    names = {part.name for part in parts if part.again}
    lines: list[str] = []
    stack = [(0, root)]
    while stack:
        depth, part = stack.pop()
        reason = paint(part.reason, "bold") if part is root else part.reason
        lead = "  " * depth
        mark = paint(f" ({part.name}{', above' if part.again else ''})", "grey") if part.name in names else ""
        if 0 < depth_limit <= depth and (part.below or len(part.places) > 1):
            hidden = _count(part)
            mark = paint(f" ... ({part.name}: {hidden} more below)", "grey")
            lines.append(f"{lead}{reason}{mark}")
            continue
        if len(part.places) == 1 and not part.below:
            lines.append(f"{lead}{reason}{mark}: {paint(part.places[0], 'grey')}")
            continue
        lines.append(f"{lead}{reason}{mark}")
        lines += [f"{lead}  {paint(place, 'grey')}" for place in part.places]
        stack += [(depth + 1, below) for below in reversed(part.below)]
    return "\n".join(lines)


def _settle(part: _ProofLine, is_root: bool) -> None:
    """Remove parts without a place, and steps that only repeat the part below. A step and the step below it with the
    same predicate and first column enumerate a list, so both are put on the same level."""
    kept: list[_ProofLine] = []
    for below in part.below:
        if below.about == part.about and len(below.about) > 1 and not is_root:
            part.earlier += [*below.earlier, below]
            continue
        kept += below.earlier
        if below.places or below.below or below.again:
            kept.append(below)
    part.below = kept
    had_places = bool(part.places)
    shown = {place for below in kept for place in below.places}
    part.places = [place for place in part.places if place not in shown]
    if len(kept) != 1 or had_places or kept[0].again:
        return
    only = kept[0]
    if is_root:
        if not only.below:
            part.below, part.places = [], only.places
            if only.about[:1] == ["action"]:
                part.reason = f"{part.reason}: {only.reason}"
    else:
        part.name, part.reason, part.below, part.places = only.name, only.reason, only.below, only.places


def _count(part: _ProofLine) -> int:
    total, stack = 0, [part]
    while stack:
        at = stack.pop()
        total += len(at.below)
        stack += at.below
    return total


def _parts(document: dict[str, Any], start: str) -> list[_ProofLine]:
    """The steps of a proof, parents first. A step is complete where it is first used; at further uses, only its name is
    shown."""
    proofs: dict[str, Any] = document["proofs"]
    parts: list[_ProofLine] = []
    seen: set[str] = set()
    telling = _Telling(proofs)
    root = _ProofLine(start)
    stack = [root]
    while stack:
        part = stack.pop()
        step = proofs[part.name]
        parts.append(part)
        if step.get("input"):
            part.reason = fact_text(step["tuple"])
            part.places = [place for place in [source_text(step.get("source"))] if place]
            continue
        part.about = step["tuple"][:2]
        part.reason = step["reason"] if "reason" in step else fact_text(step["tuple"])
        if "rule_at" in step:
            part.reason += f" [{own_rule_text(step)}]"
        if part.name in seen:
            part.again = True
            continue
        seen.add(part.name)
        inner = [entry["proof"] for entry in step.get("body", ()) if "proof" in entry]
        for place in (source_text(proofs[name].get("source")) for name in inner if proofs[name].get("input")):
            if place and place not in part.places:
                part.places.append(place)
        further = [name for name in inner if not proofs[name].get("input")]
        below = [_ProofLine(name) for name in telling(_causes(proofs, step, further))]
        part.below = below
        stack += reversed(below)
    return parts


def _causes(proofs: dict[str, Any], step: dict[str, Any], steps: list[str]) -> list[str]:
    """The steps to print below a step. Below an explained action, only proofs of followed predicates are included if
    there are any, because the sentence about the action already contains the decision."""
    if step["tuple"][0] != "explained":
        return steps
    return [name for name in steps if proofs[name]["tuple"][0] in _FOLLOWED] or steps


class _Telling:
    """Chooses the steps to show. A step is omitted if it has no place. It is also omitted if an earlier step, or a step
    with more places, has all of its places."""

    def __init__(self, proofs: dict[str, Any]) -> None:
        self.proofs = proofs
        self._places: dict[str, frozenset[str]] = {}

    def __call__(self, names: list[str]) -> list[str]:
        if len(names) < 2 or len(self.proofs) > LONGEST:
            return names
        places = [self._below(name) for name in names]
        kept = []
        for at, name in enumerate(names):
            others = [p for i, p in enumerate(places) if i != at and (i < at or len(p) > len(places[at]))]
            if places[at] and not any(places[at] <= other for other in others):
                kept.append(name)
        return kept

    def _below(self, name: str) -> frozenset[str]:
        known = self._places.get(name)
        if known is None:
            step = self.proofs[name]
            if step.get("input"):
                known = frozenset(place for place in [source_text(step.get("source"))] if place)
            else:
                inner = [self._below(entry["proof"]) for entry in step.get("body", ()) if "proof" in entry]
                known = frozenset().union(*inner)
            self._places[name] = known
        return known


# ---------------------------------------------------------------- the full form


def _full(document: dict[str, Any], paint: Paint, start: str, depth_limit: int) -> str:
    """An indented tree of facts. A proof that was already shown, or is too deep, is only named."""
    proofs: dict[str, Any] = document["proofs"]
    lines: list[str] = []
    shown: set[str] = set()
    stack: list[tuple[int, Any]] = [(0, {"proof": start})]
    while stack:
        depth, part = stack.pop()
        lead = "  " * depth
        if "proof" not in part:
            if not is_tautology(part):
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
            lines.append(f"{lead}{fact} {paint(f'({name}, shown above)', 'grey')}")
            continue
        if 0 < depth_limit <= depth:
            lines.append(f"{lead}{fact} {paint(f'... ({name})', 'grey')}")
            continue
        shown.add(name)
        reason = f": {step['reason']}" if step.get("reason") else ""
        named = own_rule_text(step) if "rule_at" in step else step.get("rule")
        rule = paint(f" [{named}]", "grey") if named else ""
        lines.append(f"{lead}{paint(fact, 'bold')}{reason}{rule}")
        stack += [(depth + 1, inner) for inner in reversed(step.get("body", ()))]
    return "\n".join(lines)


def is_tautology(part: dict[str, Any]) -> bool:
    """Whether a condition is trivially true: it only assigns a value to a variable, so both sides are equal."""
    one, _, other = str(part.get("test", "")).partition(" = ")
    return bool(one) and one == other


def _literal(part: dict[str, Any]) -> str:
    if "not" in part:
        return f"not {fact_text(part['not'])}"
    if "aggregate" in part:
        return f"{part['aggregate']} = {part['value']}"
    return str(part.get("test", part))


# ---------------------------------------------------------------- pieces


def _obstacles(document: dict[str, Any], paint: Paint, full: bool) -> str:
    goal = document["goal"]
    lines = list(document.get("notes", ()))
    if document.get("nearest") and not full:
        for number, near in enumerate(document["nearest"]):
            text, reasons = near["text"], near.get("lines", ())
            if near.get("kind") == "planned-instead" and 0 < len(reasons) <= MOST_JOINED:
                text = f"{text.removesuffix('.')}, not {words_for(goal[2]).done}: {' and '.join(reasons)}"
                reasons = ()
            lines.append(paint(text, "bold") if number == 0 else text)
            lines += [f"  {reason}" for reason in reasons]
        if any(near.get("kind") == "planned-instead" for near in document["nearest"]):
            roots = [root for root in document.get("root_causes", ()) if f"{goal[1]}." not in root["what"]]
            return "\n".join([*lines, *(f"  <- {root_text(cause_step(root))}" for root in roots)])
        return "\n".join([*lines, paint("To see all rules that were tried: -full", "grey")])
    text = obstacles_text(document["rules"], goal, 0 if full else 2)
    lines += [f"{paint(fact_text(goal), 'bold')} does not hold.", text or "  No rule could derive it."]
    return "\n".join(lines)


def own_rule_text(step: dict[str, Any]) -> str:
    """A user's rule as text: the name of the rule, if it has one, and its place."""
    at = step["rule_at"]
    place = f"{at['file']}:{at['line']}"
    return place if step["rule"].startswith(at["file"].removesuffix(".dl") + ".") else f"{step['rule']}, {place}"


def fact_text(tuple_: list[Any]) -> str:
    """A fact as text: `edge("a", "b")`; `_` represents a column with any value."""
    name, *columns = tuple_
    texts = ["_" if c is None else quoted(c) if isinstance(c, str) else str(c) for c in columns]
    return f"{name}({', '.join(texts)})"


def source_text(source: Any) -> str:
    """The source of an input fact in a few words; "" if the source has no place."""
    if not source:
        return ""
    if "file" in source:
        snippet = f": {source['snippet'].strip()}" if source.get("snippet") else ""
        return f"{source['file']}:{source.get('line', 1)}{snippet}"
    (kind, value), *_ = source.items()
    if kind == "native":
        return ""
    return f"{kind.replace('_', ' ')} {value}"
