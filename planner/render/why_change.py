"""The reason for a change in a few lines: the decision, the hops to its causes, and how to keep the object.

Reads the document of `why -json`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from planner.answers.explain.causes import TRIGGER, CauseStep
from planner.foundation.vocabulary.records import evolve
from planner.logic.programs.actions import actions, does, verb_of, words_for
from planner.render.alike import alike
from planner.render.cause_line import (
    INSIDE,
    REQUESTS,
    alike_name,
    difference_of,
    folded,
    gone_place,
    inside_text,
    is_each_value,
    name_of,
    place_of,
    remedy_of,
    root_text,
    words_of,
)
from planner.render.terminal import Paint, fold

MOST_LINES = 12
"""maximum number of lines of an answer with several causes"""
MOST_ALSO = 3
"""maximum number of other changing parts listed"""
CODE = re.compile(r" \((?:[a-z]+(?:_[a-z]+)+|create|update|read|delete|[a-z]+-then-[a-z]+)\)")
"""the code of a reason or an action, in parentheses"""
_DECISION = re.compile(r"the planned action of (.+?) is ([a-z]+(?:-[a-z]+)*)(?=[ ,:]|$)")
_WRITTEN = ("text", "unapplied")
"""kinds of causes that lie in an argument of the object itself"""


def in_words(text: str) -> str:
    """A decision with words for actions instead of codes."""

    def spoken(match: re.Match[str]) -> str:
        return f"{match[1]} {words_for(match[2]).is_planned}" if match[2] in actions() else match.group()

    return _DECISION.sub(spoken, text)


def change_text(document: dict[str, Any], paint: Paint, width: int) -> str:
    """The text of the answer about a change. There are texts for changes with certain causes or several possible ones,
    for tainted and unchanged objects, and for objects that are created or destroyed because of their own declaration.
    "" for other changes, whose proof is more informative."""
    _, _, action = document["goal"]
    document = _with_lines(document)
    if action == "no-op":
        lines = list(_unchanged(document))
    elif _is_followed(document) or _is_tainted(document):
        lines = [_headline(document)]
        for line in _hops(document) if _is_followed(document) else ():
            # the text about a value already has its name and place
            if not lines[-1].endswith((f" {line}", f": {line}")):
                lines.append(line if line.startswith("  ") else f"  <- {line}")
        also = list(_also(document))
        if not lines[0].endswith(_ONE_CAUSE):
            lines += [*_others(document, lines, MOST_LINES - len(also)), *(f"  also {part}" for part in also)]
        else:  # all changed parts first, then the chain
            first = 2 if len(lines) > 1 and not lines[1].startswith("  <- ") else 1
            lines[first:first] = [f"  {part}" for part in also]
        lines += _further_ways(document)
        lines += [f"  {remedy}" for root in _roots(document) if (remedy := remedy_of(cause_step(root)))]
    elif own := _own_reason(document):
        lines = [own]
    elif possible := _possible_causes(document):
        lines = [_decision_text(document), *possible]
    else:
        return ""
    return folded_text(_with_headline(lines), paint, width)


def _with_lines(document: dict[str, Any]) -> dict[str, Any]:
    """A copy of the document. If a string changed in several lines, each chain has only the lines that its root cause
    determines: the first of these lines is in the chain, the others are in `further_lines`. A string with too many
    changed lines is not treated in this way."""
    left: dict[str, list[dict[str, Any]]] = {}
    for line in document.get("lines", ()):
        left.setdefault(line["what"], []).append(line)
    left = {what: lines for what, lines in left.items() if 1 < len(lines) <= MOST_ALSO}
    if not left:
        return document

    def with_line(chain: list[dict[str, Any]]) -> list[dict[str, Any]]:
        steps = []
        for step in chain:
            lines = left.get(step["what"].removeprefix("the text of "), [])
            of_root = [line for line in lines if chain[0]["what"] in line.get("roots", (chain[0]["what"],))]
            if of_root and step.get("before"):
                lines.remove(of_root[0])
                step = {**step, "before": of_root[0]["before"], "value": of_root[0]["value"]}
            steps.append(step)
        return steps

    chains = [with_line(chain) for chain in (document.get("because", []), *document.get("other_causes", ()))]
    differences = document.get("differences", [])
    places = {step["what"]: step.get("source", {}) for step in (*differences, *(s for c in chains for s in c))}
    rest = [{**line, "source": places.get(line["what"], {})} for lines in left.values() for line in lines]
    kept = [part for part in differences if part["what"] not in left]
    others = {"other_causes": chains[1:]} if "other_causes" in document else {}
    return {**document, "because": chains[0], **others, "differences": kept, "further_lines": rest}


_OWN = {
    "create": "it is declared and does not exist yet",
    "gone": "its provider no longer finds it, so it was removed or changed outside planner",
    "delete_because_no_resource_config": "it is no longer declared",
    "delete_because_no_module": "its module instance is no longer declared",
}
"""descriptions of causes in the object itself, by kind"""


def _own_reason(document: dict[str, Any]) -> str:
    """The sentence about an object that is created or destroyed because of its own declaration. "" for other objects,
    and for a removed block, which the proof shows."""
    steps, (_, name, action) = document.get("because", ()), document["goal"]
    is_own = steps and document["because_is_certain"] and steps[0]["what"] == name and len(_roots(document)) == 1
    if not is_own or steps[0].get("kind") not in _OWN or action not in ("create", "delete"):
        return ""
    root = cause_step(steps[0])
    place = place_of(root.source)
    at = gone_place(root) if root.kind == "gone" else f" ({place})" if place not in ("", "state") else ""
    if at and action == "delete":
        return ""  # a removed block, which the proof shows
    return f"{name} {words_for(action).is_planned}: {_OWN[steps[0]['kind']]}{at}"


_INSTANCES = re.compile(r": (\S.*) has (\d+) instances? now and had (\d+)$")


_ONE_CAUSE = ", all for one cause"
_ONE_PART = re.compile(r"(.* is [a-z ]+: )(\S+|its value)(?: differs|( forces replacement))")
"""matches the headline of a change with a single differing part"""
_NAME = re.compile(r'(?:[^" ]|"(?:[^"\\]|\\.)*")+')
"""matches a name without values"""


def _with_headline(lines: list[str]) -> list[str]:
    """The lines. The headline and the first hop are combined if they have the same content."""
    head, hop = lines[0], lines[1].strip().removeprefix("<- ") if len(lines) > 1 else ""
    place = f" ({hop.rpartition(' (')[2]}"
    instances = _INSTANCES.search(head)
    for ending, said in ((" was removed", " removed"), (" is new", " added")):
        if head.endswith(ending) and hop == f"{head.rpartition(': ')[2].removesuffix(ending)}{said}{place}":
            return [f"{head.removesuffix(ending)} was{said}{place}", *lines[2:]]
    if instances is not None and hop == f"{instances[1]}.count {(count := f'{instances[3]} -> {instances[2]}')}{place}":
        return [f"{head[: instances.start()]}: count {count}{place}", *lines[2:]]
    match = _ONE_PART.fullmatch(head)
    is_own = len(lines) > 1 and not lines[1].startswith("  <- ") and (len(lines) == 2 or lines[2][:5] != lines[1][:5])
    if match is None or not is_own:
        return lines
    start, what, forces = match.groups()
    if what != "its value" and not hop.startswith(what):
        return lines
    text, bracket, place = hop.rpartition(" (")
    is_bare = bool(forces) or _NAME.fullmatch(text) is not None
    if forces:
        text = text.replace(" will be known after the apply", " (known after apply)")
    return [
        f"{start}{text}{forces or ' differs'}{bracket}{place}" if is_bare and place else f"{start}{hop}",
        *lines[2:],
    ]


def has_common_values(document: dict[str, Any]) -> bool:
    """Whether the only values in the answer are those of the root cause, which are equal for all instances."""
    hops = [cause_step(one) for one in document.get("because", ())]
    return not _is_followed(document) or (
        not document.get("differences") and difference_of(hops[-1]) in ("", difference_of(hops[0]))
    )


def _others(document: dict[str, Any], first: list[str], most: int) -> Iterator[str]:
    """The lines about the chains of further root causes, without hops that are also in the first chain. They are
    shortened to `most` lines."""
    _, name, action = document["goal"]
    others = document.get("other_causes", ())
    left = most - len(first)
    for number, steps in enumerate(others, 1):
        hops = list(_hops({**document, "because": steps})) if _is_followed(document) else []
        hops = [hop.strip() for hop in hops if f"  <- {hop}" not in first and hop not in first]
        root = words_of(cause_step(steps[0]), {name: action})
        if len(hops) > 1 and len(hops) <= left - (len(others) - number):
            yield f"  and {hops[0]}"
            yield from (f"  <- {hop}" for hop in hops[1:])
            left -= len(hops)
            continue
        if left <= 1 and number < len(others):
            yield f"  and because of {len(others) - number + 1} more: planner why -json {shlex.quote(name)}"
            return
        what = f" {hops[0].rpartition(' (')[0] or hops[0]}" if len(hops) > 1 else ""
        yield f"  and{what} because of {root}"
        left -= 1


def folded_text(lines: list[str], paint: Paint, width: int) -> str:
    """The lines as text, folded at the width, with the first line in bold."""
    head = [paint(part, "bold") for part in fold(lines[0], width, "     ")]
    return "\n".join([*head, *(part for line in lines[1:] for part in fold(line, width, "     "))])


def _is_followed(document: dict[str, Any]) -> bool:
    steps = document.get("because", ())
    _, name, action = document["goal"]
    return bool(steps) and document["because_is_certain"] and steps[0]["what"] != name and action != "read"


def _is_tainted(document: dict[str, Any]) -> bool:
    return any(
        root["what"] == document["goal"][1] and root.get("kind") == "replace_because_tainted"
        for root in _roots(document)
    )


def _roots(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The root causes if they are certain, otherwise none."""
    return document.get("root_causes", []) if document.get("because_is_certain") else []


def _possible_causes(document: dict[str, Any]) -> list[str]:
    """The possible causes of an update or a replacement, if there are several and not all could be checked."""
    roots, (_, name, action) = document.get("root_causes", ()), document["goal"]
    if len(roots) < 2 or document.get("because_is_certain", True) or verb_of(action) not in ("update", "replace"):
        return []
    lines = [f"  <- {words_of(cause_step(root), {name: action})}" for root in roots[:MOST_LINES]]
    more = [f"  {len(roots) - MOST_LINES} more (-full)"] if len(roots) > MOST_LINES else []
    return ["  Possible causes, not all of which could be checked:", *lines, *more]


# ---------------------------------------------------------------- the decision


def _decision_text(document: dict[str, Any]) -> str:
    return CODE.sub("", in_words(document["proofs"][document["root"]]["reason"]))


def _headline(document: dict[str, Any]) -> str:
    """The decision, with the number of differing parts or with the place of the trigger."""
    proofs, root = document["proofs"], document["proofs"][document["root"]]
    text = _decision_text(document)
    if root["rule"] == "plan/causes.triggered":
        below = (proofs[entry["proof"]] for entry in root["body"] if "proof" in entry)
        return text + next(_at(step) for step in below if step["tuple"][0] == "watches")
    head, differs, _ = text.partition(" differs")
    parts = _parts(document)
    if not differs or len(parts) < 2:
        return text
    start, _, what = head.rpartition(": ")
    whole = f"{document['goal'][1]}.{what}"
    is_within = what == "its value" or all(part.startswith((f"{whole}.", f"{whole}[")) for part in parts)
    common = _ONE_CAUSE if not document.get("other_causes") and _is_followed(document) else ""
    return f"{start}: {len(parts)} parts{f' of {what}' if is_within else ''} differ{common}"


def _parts(document: dict[str, Any]) -> list[str]:
    """The differing parts of an object, including parts that are known only after the apply."""
    name = document["goal"][1]
    traced = [step["what"] for step in document.get("because", ()) if step["what"].startswith((f"{name}.", f"{name}["))]
    parts = [part["what"] for part in document.get("differences", ())]
    ends = [way[-1] for way in document.get("ways", ())]
    unknown = [end["what"] for end in ends if end.get("is_unknown") and _is_in(end["what"], name)]
    more = dict.fromkeys([*traced[:1], *unknown]) if parts else ()
    return parts + [step for step in more if not any(part.startswith(step) for part in parts)]


def _also(document: dict[str, Any]) -> Iterator[str]:
    """Lines about the differing parts that no chain contains, and about the number of omitted parts."""
    chains = [document.get("because", ()), *document.get("other_causes", ())]
    name, shown = document["goal"][1], {step["what"] for chain in chains for step in chain}
    also = [cause_step(part) for part in document.get("differences", ()) if part["what"] not in shown]
    also += [cause_step(line) for line in document.get("further_lines", ())]
    for part in also[:MOST_ALSO]:
        yield f"{part.what[len(name) :].lstrip('.')}{words_of(part, {})[len(part.what) :]}"
    if len(also) > MOST_ALSO:
        yield f"{len(also) - MOST_ALSO} more parts (-full)"


# ---------------------------------------------------------------- hops


def _hops(document: dict[str, Any]) -> Iterator[str]:
    """The lines of the hops from a change to its cause. Hops of the object itself are indented."""
    _, name, action = document["goal"]
    rows = [step["tuple"] for step in document["proofs"].values()]
    known = {row[1]: row[2] for row in rows if row[0] == "explained"} | document.get("actions", {})
    unknown = {row[1] for row in rows if row[0] == "unknown"}
    unknown |= {step["what"] for step in document["because"] if step.get("is_unknown")}
    hops = [cause_step(one) for one in reversed(document["because"])]
    wholes = [after.what.startswith((f"{hop.what}.", f"{hop.what}[")) for hop, after in pairwise(hops)]
    kept = [hop for hop, is_whole in zip(hops, [*wholes, False], strict=True) if not is_whole]
    names = [name_of(hop) for hop in kept]
    kept = [
        hop for hop, own, after in zip(kept, names, [*names[1:], ""], strict=True) if own != after or hop is kept[-1]
    ]
    kept = [hop for hop in kept if not is_each_value(hop)]
    inner: CauseStep | None = None
    place = renewed = owner = ""
    shown = folded(list(_renewed_once(_with_renewals(kept, name, known))))
    is_alone = not document.get("other_causes") and len(_parts(document)) < 2
    if (
        is_alone
        and len(shown) > 1
        and difference_of(shown[0]) == difference_of(shown[-1])
        and shown[0].kind != "unapplied"
    ):
        shown[0] = evolve(shown[0], before="", value="")  # because these are the values of the root cause
    for number, step in enumerate(shown):
        if step.kind == INSIDE:
            inner = step
            continue
        what = name_of(step)
        words = root_text(step, place) if step.kind == "file" else words_of(step, {name: action})
        place = place_of(step.source)
        own = _is_in(what, name) and step.kind in ("", *_WRITTEN)
        if own and step.what in unknown and not difference_of(step):
            words = f"{what} will be known after the apply{words[len(what) :]}"
        text = what[len(name) :].lstrip(".")
        text = text if own else inside_text(step, inner)
        inner = None
        after = shown[number + 1] if number + 1 < len(shown) else None
        if step.kind == "renewed" and after is not None and after.what.startswith(f"{what}."):
            renewed, owner = words.rpartition(" (")[0], alike_name(step)
            continue
        if renewed:
            text = f"{renewed}: {text.removeprefix(f'{owner}.')}"
            renewed = ""
        yield f"{'  ' if own and not number else ''}{text}{words[len(alike_name(step)) :]}"


def _is_in(what: str, name: str) -> bool:
    return what.startswith((f"{name}.", f"{name}["))


def _further_ways(document: dict[str, Any]) -> Iterator[str]:
    """Lines about parts of a change that no chain contains, because they depend on the causes through other objects."""
    name = document["goal"][1]
    chains = [document.get("because", ()), *document.get("other_causes", ())]
    passed = {step["what"] for chain in chains for step in chain}
    lines: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    for way in document.get("ways", ()):
        first, last = cause_step(way[0]), cause_step(way[-1])
        if not any(step == first.what or _is_in(step, first.what) for step in passed):
            known = " (known after apply)" if way[-1].get("is_unknown") else ""
            place = f" ({place_of(last.source)})" if last.source else ""
            part = last.what[len(name) :].lstrip(".") or last.note
            parts, objects = lines.setdefault((re.sub(r"\[[^\]]*\]", "[]", part) + known, place), ([], []))
            parts.append(part)
            objects += [first.what, *first.also]
    for (shown, place), ways in [*lines.items()][:MOST_ALSO]:
        parts, objects = ([one.text for one in alike(names)] for names in ways)
        known = " (known after apply)" if shown.endswith(")") else ""
        yield f"  and {', '.join(parts)}{known}, through {' and '.join(objects[:MOST_ALSO])}{place}"
    if len(lines) > MOST_ALSO:
        yield f"  and {len(lines) - MOST_ALSO} more parts (planner why -json {shlex.quote(name)})"


def _with_renewals(hops: list[CauseStep], name: str, known: Mapping[str, str]) -> Iterator[CauseStep]:
    """The hops. A hop to a value that changes because its object is replaced becomes a hop that explains this
    replacement."""
    skips = False
    for hop, after in zip(hops, [*hops[1:], None], strict=True):
        owner, _, value = hop.what.rpartition(".")
        is_gone = after is not None and (after.what, after.kind) == (owner, "gone")
        is_renewed = owner != name and (does(known.get(owner, "no-op"), "replaces") or is_gone) and not hop.kind
        if skips or not is_renewed or difference_of(hop):
            if not skips:
                yield hop
            skips = False
            continue
        request = REQUESTS.get(after.kind, "") if after is not None and after.what == owner else ""
        note = f" ({after.note})" if request and after is not None and after.note else ""
        text = f"{request}{note}, so{'' if is_gone else ' it is replaced and'}" if request else "is replaced, so"
        source = after.source if is_gone and after is not None else hop.source
        if after is not None and after.note == TRIGGER:
            text, source = text.replace(",", f" ({TRIGGER}, {place_of(after.source)}),", 1), None
        is_are, its = ("are", "their") if hop.also else ("is", "its")
        note = f"{re.sub('^is ', f'{is_are} ', text)} {its} {value} {is_are} known after apply"
        also = tuple(other.rpartition(".")[0] for other in hop.also)
        yield evolve(hop, what=owner, kind="renewed", note=note, source=source, also=also)
        skips = bool(request)


def _renewed_once(hops: Iterable[CauseStep]) -> Iterator[CauseStep]:
    """The hops, in which successive hops about one replaced object are combined into the first, with the place of the
    last."""
    last: CauseStep | None = None
    for hop in hops:
        is_same = last is not None and hop.what == last.what and not difference_of(hop) and hop.kind in ("", "renewed")
        if last is not None and is_same:
            last = evolve(last, source=last.source and (hop.source or last.source))
            continue
        if last is not None:
            yield last
        last = hop if hop.kind == "renewed" else None
        if last is None:
            yield hop
    if last is not None:
        yield last


def cause_step(document: dict[str, Any]) -> CauseStep:
    """Decode a step of a chain from a document."""
    text, source = (
        {key: document.get(key, "") for key in ("what", "kind", "before", "value")},
        document.get("source", {}),
    )
    place = f"{source['file']}:{source['line']}" if "file" in source else source.get("command_line", "")
    place = place or ("state" if "state" in source else "")
    return CauseStep(
        **text,
        source=place,
        note=document.get("origin") or document.get("former_place", ""),
        has_elements=bool(document.get("elements")),
        has_shifted=bool(document.get("shifted")),
        also=tuple(document.get("also", ())),
    )


# ---------------------------------------------------------------- what does not change


def _unchanged(document: dict[str, Any]) -> Iterator[str]:
    """The reason why an object does not change: ignored differences, a trigger that does not fire, or no difference."""
    name, proofs = document["goal"][1], document["proofs"]
    rule, steps = proofs[document["root"]]["rule"], list(proofs.values())
    ignored = [step for step in steps if step["tuple"][0] == "ignored_difference"]
    if ignored:
        places = {_at(step) for step in ignored}
        paths = ", ".join(step["tuple"][2] for step in ignored)
        is_short = len(places) == 1
        what = f"has {paths}{places.pop()}" if is_short else "ignores the differences"
        yield f"{name} does not change: ignore_changes {what}"
        values = {step["tuple"][2]: step for step in steps if step["tuple"][0] == "ignored_values"}
        for step in ignored:
            path = step["tuple"][2]
            text = f"{path} differs from its configuration"
            if path in values:
                _, _, _, part, state, configured = values[path]["tuple"]
                text = f"{part} is {state} in the state and {configured} in the configuration{_at(values[path])}"
            yield f"  {text}{'' if is_short else f', ignored by ignore_changes{_at(step)}'}"
    elif rule == "plan/causes.untriggered":
        watches = next(step for step in steps if step["tuple"][0] == "watches")
        other = next(s for s in steps if s["tuple"][:2] == ["action", watches["tuple"][3]])
        _, object, action = other["tuple"]
        watched = watches["tuple"][2].removeprefix(f"{object}.")
        yield (
            f"{name} does not change: its replace_triggered_by{_at(watches)} has no effect, because the {watched} of "
            f"{object} stays the same, although {object} {words_for(action).is_planned}"
        )
    elif rule == "plan/causes.imported":
        blocks = sorted(_at(step) for step in steps if step["tuple"][0] == "import_declared")
        yield f"{name} is imported by the import block{blocks[0]}, and otherwise matches its declaration"
    elif rule == "plan/causes.unread":
        place = next((_at(step) for step in steps if step["tuple"][0] == "desired"), "")
        yield f"{name} does not change: according to the state, it matches its declaration{place}"
        yield "  -minimal-refresh reads only objects that are about to change"
    elif rule == "plan/causes.decision":
        place = next((_at(step) for step in steps if step["tuple"][0] == "desired"), "")
        yield f"{name} does not change: it matches its declaration{place}"
    else:
        yield CODE.sub("", in_words(proofs[document["root"]]["reason"]))


def _at(step: dict[str, Any]) -> str:
    """The place of a fact in parentheses; "" if it is not in a file."""
    source = step.get("source") or {}
    return f" ({source['file']}:{source['line']})" if "file" in source else ""
