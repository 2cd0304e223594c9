"""The text of a short answer of `why`: each edge of the chain with its reason, and with the line of a file that is its
source.

Reads the document of `why -json`. Complete proofs are for programs and `why -full`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

from planner.answers.explain.why import more_causes
from planner.logic.programs.actions import does, verb_of, words_for
from planner.render.alike import alike
from planner.render.cause_line import MOST_ROOTS, root_text
from planner.render.proof import fact_text, own_rule_text, proof_text, source_text
from planner.render.terminal import Paint, fold
from planner.render.value import quoted
from planner.render.why_change import CODE, cause_step, change_text, folded_text, has_common_values, in_words

CHAIN = "waits_for"
EDGE = "edge"
TOLD_BY_CHAIN = ("forced_create_before_destroy", "deferred_block", "deferred_vertex")
"""goals (predicates of the explained fact) that the printed chain explains completely"""


MOST_LINES = 12
"""maximum number of lines about an order or an unknown value, unless all are requested"""


MOST_OF_END = 3
"""maximum number of lines about the destruction of an object that has no cause outside of itself"""


def answer_text(
    proof: dict[str, Any], paint: Paint, width: int, full: bool = False, depth: int = 0, expand: str = ""
) -> str:
    """The text of an answer. If the answer is about several instances, there is a part for each group with the same
    answer. `full`: whether to print the proof, with facts. `depth`: the maximum number of levels (0: all). `expand`:
    the only step to print ("" for all steps). Raises KeyError for an unknown step."""
    text = _answers_text(proof, paint, width, full, depth, expand)
    notes = proof.get("notes", ()) if proof["goal"][0] == "explained" and not expand else ()
    return "\n".join([text, *(line for note in notes for line in fold(f"Note: {note}", width, ""))])


def _answers_text(proof: dict[str, Any], paint: Paint, width: int, full: bool, depth: int, expand: str) -> str:
    if "instances" not in proof:
        return _answer_text(proof, paint, width, full, depth, expand)
    parts = []
    for group in (proof, *proof.get("also", ())):
        names = ", ".join(one.text for one in alike(group["instances"]))
        number = len(group["instances"])
        first = group["instances"][0]
        several = f" ({number} instances; this is the answer for the first)" if number > 1 else ""
        longer = len(names) - len(first) + 1
        text = (
            _answer_text(group, paint, width and width - longer, full, depth, expand)
            if "proofs" in group
            else f"  planner why {first}"
        )
        head, _, rest = text.partition("\n")
        if f"{first} is " in head and number > 1:
            note = "" if has_common_values(group) else "  (values of the first)"
            parts.append("\n".join(filter(None, (head.replace(f"{first} is ", f"{names} are ", 1), note, rest))))
            continue
        parts.append(f"{paint(names, 'bold')}{several}:\n{text}")
    return "\n\n".join(parts)


def _answer_text(proof: dict[str, Any], paint: Paint, width: int, full: bool, depth: int, expand: str) -> str:
    kind = proof["goal"][0]
    if kind in VERDICTS and "rule" in proof:
        return verdict_text(proof, paint, full)
    chains = chains_text(proof, paint)
    if not full and not depth and not expand:
        if kind in (EDGE, CHAIN) and "proofs" in proof:
            return _shortened(why_text(proof, paint))
        if kind in TOLD_BY_CHAIN and chains:
            return chains
        if kind == "unknown" and "proofs" in proof:
            return _shortened(unknown_text(proof, paint, width))
        if kind == "explained" and (text := change_text(proof, paint, width)):
            known = more_causes(proof["goal"][1])
            rest = [chain for chain in proof.get("chains", ()) if chain["text"] != known]
            return "\n".join(filter(None, (text, chains_text({"chains": rest}, paint, width))))
    text = proof_text(proof, paint, full, depth, expand)
    if proof.get("nearest") and not full:
        return "\n".join(part for line in text.splitlines() for part in fold(line, width))
    if not full and not depth and not expand and kind == "explained":
        text = in_words(text)
        is_gone = all(does(proof["goal"][2], step) for step in ("ends", "destroys"))
        if is_gone and proof.get("because_is_certain"):
            text = "\n".join(CODE.sub("", text).splitlines()[:MOST_OF_END])
    return f"{text}\n{chains}" if chains and not expand else text


def _shortened(text: str) -> str:
    lines = text.splitlines()
    if len(lines) <= MOST_LINES:
        return text
    return "\n".join([*lines[: MOST_LINES - 1], f"... {len(lines) - MOST_LINES + 1} more lines (-full)"])


def unknown_text(document: dict[str, Any], paint: Paint, width: int) -> str:
    """The hops from an unknown value to the values that determine it, one per line."""
    proofs, at = document["proofs"], document["root"]
    own = [proofs[entry["proof"]] for entry in proofs[at].get("body", ()) if "proof" in entry]
    place = next((source_text(one.get("source")) for one in own if one["tuple"][0] == "unknown_value"), "")
    lines = [f"{document['goal'][1]} is not known before the apply{_in_brackets(place)}:"]
    goal = shown = str(document["goal"][1])
    while True:
        inner = [proofs[entry["proof"]] for entry in proofs[at].get("body", ()) if "proof" in entry]
        further = [
            e["proof"] for e in proofs[at]["body"] if "proof" in e and proofs[e["proof"]]["tuple"][0] == "unknown"
        ]
        sources = [one.get("source") or {} for one in inner if one.get("input")]
        places = [f"{source['file']}:{source['line']}" for source in sources if "file" in source]
        decided = next((one for one in inner if one["tuple"][0] == "explained"), None)
        if decided is not None:  # the object that contains the value changes
            _, name, action = decided["tuple"]
            if at != document["root"]:
                lines.pop()
            when = f"the object is {_ASSIGNED.get(action, 'created')}{f' ({places[-1]})' if places else ''}"
            lines.append(f"  <- {shown}: assigned by the provider when {when}")
            if action != "create":
                reason = CODE.sub("", in_words(decided["reason"]))
                lines.append(f"  <- {reason}")
                roots = [root for root in document.get("root_causes", ()) if root["what"] != name]
                lines += [f"  <- {root_text(cause_step(root))}" for root in roots[:MOST_ROOTS]]
                if decided["rule"].endswith("tainted"):
                    lines.append(f"  To keep it: planner untaint {shlex.quote(name)}")
                elif not roots:
                    lines.append(f"  To see its causes: planner why {document.get('options', '')}{shlex.quote(name)}")
        elif not further:
            lines.append(f"  {CODE.sub('', proofs[at]['reason'])}{f' ({places[-1]})' if places else ''}")
        if not further:
            return folded_text(lines, paint, width)
        shown = proofs[further[0]]["tuple"][1]
        at_place = f" ({places[-1]})" if places else ""
        if len(lines) == 1 and shown.startswith((f"{goal}.", f"{goal}[")):  # other parts of the value may be known
            lines = [f"{shown} is not known before the apply{at_place}:"]
        else:
            lines.append(f"  <- {shown}{at_place}")
        at = further[0]


def _in_brackets(place: str) -> str:
    """` (main.tf:9)`, after a name; "" without a place. `place`: from `source_text`."""
    at = place.partition(": ")[0]
    return f" ({at})" if at else ""


_ASSIGNED = {"update": "updated", "read": "read"}
"""{action on an object: verb} for the sentence about when the provider assigns an unknown value"""


def why_text(proof: dict[str, Any], paint: Paint) -> str:
    """The text about a chain of edges, each with reason and place; for other goals, about the decisive step and its
    places."""
    steps = list(_chain(proof))
    goal = proof["goal"]
    lines = list(proof.get("notes", ()))
    if goal[0] in (CHAIN, EDGE):
        through = f", through {len(steps) - 1} other{'s' if len(steps) > 2 else ''}" if len(steps) > 1 else ""
        lines.append(f"{paint(_spoken(goal[1]), 'bold')} waits for {paint(_spoken(goal[2]), 'bold')}{through}:")
    for name in steps:
        lines += _step(proof, name, paint) if len(steps) <= MOST_STEPS else _hop(proof, name, paint)
    return "\n".join(lines)


MOST_STEPS = 3
"""maximum number of edges that are explained with reasons; if there are more, only places are shown"""
_VERTEX = re.compile(r", whose vertex is .*$")


_EXPANDED = re.compile(r" \(expand(?:, (?:input|reference))?\)")


def _spoken(name: str) -> str:
    """The text, in which suffixes such as ` (expand)` are removed from the names of vertices."""
    return _EXPANDED.sub("", name)


def _hop(proof: dict[str, Any], name: str, paint: Paint) -> list[str]:
    """An edge on one line: the vertex at its end, and its place."""
    places = _places(proof["proofs"], _decisive(proof["proofs"], name))
    end = f" ({paint(places[0].partition(': ')[0], 'cyan')})" if places else ""
    return [f"  -> {_spoken(str(proof['proofs'][name]['tuple'][2]))}{end}"]


def chains_text(document: dict[str, Any], paint: Paint, width: int = 0) -> str:
    """The chains of decisions in a document, step by step; "" if there are none."""
    lines: list[str] = []
    for chain in document.get("chains", ()):
        if (single := _replaced_first(chain)) is not None:
            lines += fold(single, width)
            continue
        first = chain["steps"][0]
        if len(chain["steps"]) == 1 and not first["sources"]:
            lines.append(f"{chain['text']}: {first['text']}")
            continue
        lines.append(f"{chain['text']}:")
        for step in chain["steps"]:
            places = [place for place in map(source_text, step["sources"]) if place]
            lines.append(f"  {step['text']}" + (f": {paint(places[0], 'grey')}" if places else ""))
            lines += [f"    {paint(place, 'grey')}" for place in places[1:3]]
    return "\n".join(lines)


def _replaced_first(chain: dict[str, Any]) -> str | None:
    """The line about a chain for an object whose own block sets create_before_destroy; None for other chains."""
    if len(chain["steps"]) != 1 or not chain["steps"][0]["text"].endswith(" sets create_before_destroy"):
        return None
    place = next((f", {s['file']}:{s['line']}" for s in chain["steps"][0]["sources"] if "file" in s), "")
    return f"  new before old (create_before_destroy{place})"


def _chain(proof: dict[str, Any]) -> Iterator[str]:
    """The names of the proofs of the chain's edges, or of the root proof."""
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
    head = (
        f"  {_spoken(columns[0])} -> {_spoken(columns[1])}"
        if proofs[name]["tuple"][0] == EDGE
        else f"  {' '.join(map(str, columns))}"
    )
    reason = _spoken(_VERTEX.sub("", step.get("reason", "it is given")))
    lines = [head, f"    because {reason}"]
    for further in ordered[-1:]:  # the rule's text, name and place
        own = proofs[further]
        if "rule_at" in own:
            return [*lines, f"    {own.get('reason', '')} {paint('[' + own_rule_text(own) + ']', 'grey')}"]
        lines.append(f"    {own.get('reason', '')} {paint('[' + own.get('rule', '') + ']', 'grey')}")
    for place in _places(proofs, decisive):
        lines.append(f"    {paint(place, 'cyan')}")
    return lines


def _decisive(proofs: dict[str, Any], name: str) -> str:
    """Follow the steps down from `name`, as long as exactly one step below has the same columns, because such steps
    only repeat the relation. Returns the last of them."""
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
    """The steps from a mention down to the user's rule that derives it; empty for mentions in the configuration."""

    def below(at: str, predicate: str) -> list[str]:
        inner = (entry["proof"] for entry in proofs[at].get("body", ()) if "proof" in entry)
        return [p for p in inner if proofs[p]["tuple"][0] == predicate][:1]

    steps = [p for p in below(name, "mentions") if proofs[p]["tuple"][3] == "order_before"]
    for predicate in ("ordered", "order_before"):
        steps += below(steps[-1], predicate) if steps else []
    return steps


def _places(proofs: dict[str, Any], name: str) -> list[str]:
    """At most three sources of a step's facts. If some facts are mentions, only their sources are included."""
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


# fixes for people: a line for each set, which also shows whether the set was confirmed


def fixes_text(document: dict[str, Any], paint: Paint, width: int = 0) -> str:
    """The text about the sets of edits that would avoid a change, the smallest first, or about the reason why there are
    none."""
    parts = [_one(one, paint, width) for one in (document, *document.get("also", ()))]
    return "\n\n".join(parts)


def _one(document: dict[str, Any], paint: Paint, width: int) -> str:
    is_change = document["goal"][0] in ("action", "output_action")
    fixes = document["fixes"]
    if is_change:
        several = ", do one of these" if len(fixes) > 1 else ""
        head = f"{_goal(document['goal'])}. {_purpose(document['goal'])}{several}:"
    else:
        head = f"{_goal(document['goal'])}. To avoid this, do one of these:"
    lines = [*document.get("notes", ()), paint(_spoken(head), "bold")]
    if not fixes:
        lines[-1] = paint(_spoken(f"{_goal(document['goal'])}."), "bold")
        return "\n".join([*lines, document.get("stuck") or document.get("limit", "")])
    for number, fix in enumerate(fixes, 1):
        words = fix.get("note") or ("checked" if fix["checked"] else "not checked")
        note = paint(f"[{words}]", "grey")
        texts = [_instruction(place) if is_change else _fixes_place(place) for place in fix["places"]]
        texts[-1] += "" if is_change else f" {note}"
        lines.append(f"  {number}. {texts[0]}")
        lines += [f"     and {text}" for text in texts[1:]]
        lines += [paint(part, "grey") for part in fold(f"     [{words}]", width, " ")] if is_change else []
    return "\n".join([*lines, *filter(None, (document.get("limit"),))])


def _purpose(goal: list[Any]) -> str:
    """The purpose of the fixes for a change."""
    if does(goal[2], "ends") or does(goal[2], "replaces"):
        return "To keep it"
    return "To avoid that" if goal[2] == "create" else "To keep it unchanged"


def _instruction(place: dict[str, Any]) -> str:
    """The text about an edit to make, and its place."""
    source = place.get("source") or {}
    at = f"{source['file']}:{source['line']}" if "file" in source else str(source.get("command_line", ""))
    if at and place["kind"] == "file":
        at = f"read at {at}"
    return f"{place['text']}{f' ({at})' if at else ''}"


def _fixes_place(place: dict[str, Any]) -> str:
    at, text = source_text(place.get("source")), str(place["text"])
    is_told = not at or text.startswith(at) or place["kind"] in ("option", "state", "rule")
    return text if is_told else f"{text}: {at}"


def _goal(goal: list[Any]) -> str:
    name, *columns = goal
    if name in ("waits_for", "edge"):
        return f"{columns[0]} waits for {columns[1]}"
    if name == "unknown":
        return f"{columns[0]} is not known yet"
    if name in ("deny", "warn", "overridden"):
        verb = "warns of" if name == "warn" else "denies"
        return f"Policy {columns[0]} {verb} {columns[1] or 'the plan'}: {columns[2]}"
    if name in ("action", "output_action") and columns[1] == "no-op":
        return f"{columns[0]} does not change"
    if name in ("action", "output_action"):
        return f"{columns[0]} will be {words_for(columns[1]).is_planned.removeprefix('is ')}"
    return f"{fact_text(goal)} holds"


# explanations of findings for people: the rule, and the line with the wrong value


VERDICTS = ("deny", "warn", "undecided", "broken", "overridden", "waived", "info")
"""goals of the documents that this module prints"""
_SAID = {
    "deny": "Policy {code} denies {address}",
    "warn": "Policy {code} warns about {address}",
    "undecided": "Policy {code} is undecided for {address}",
    "broken": "Policy {code} cannot be decided for {address}",
    "overridden": "Policy {code} denies {address}, but the denial is overridden",
    "waived": "The verdict of policy {code} about {address} is waived",
    "info": "Policy {code} informs about {address}",
}


def verdict_text(document: dict[str, Any], paint: Paint, full: bool) -> str:
    """The text about a finding, and about the other findings that matched the question. `full`: whether to add the
    proof by the rules of the policy."""
    parts = [_finding(one, paint, full) for one in (document, *document.get("also", ()))]
    return "\n\n".join(parts)


def _finding(document: dict[str, Any], paint: Paint, full: bool) -> str:
    kind, code, address, message = document["goal"]
    sentence = _SAID[kind].format(code=code, address=address or "the plan")
    reason = "" if kind == "undecided" else f": {message.removeprefix('cannot be decided: ')}"
    lines = [paint(f"{sentence}{reason}", "bold")]
    if "overridden" in document:
        lines.append(f"  {kind}: {document['overridden']}")
    for culprit in document.get("culprits", ()):
        lines += _culprit(culprit, paint)
    for waiting in document.get("waits_for", ()):
        if waiting.get("why"):
            lines.append(f"  {waiting['what']} is not known yet:")
            lines += [f"    {line}" for line in proof_text(waiting["why"], paint).splitlines()]
        else:
            lines.append(f"  {waiting['what']} is not known yet{_at(waiting, paint)}")
    if kind == "undecided":
        lines.append(f"  it may become: {document['would']}")
    if document.get("by_cases"):
        lines.append("  for every possible value, one of these rules holds:")
        for one in document["by_cases"]:
            lines.append(f"    {paint('[' + one['name'] + ']', 'grey')}{_at(one, paint)}")
        return "\n".join(lines)
    rule = document["rule"]
    if rule.get("reason") and not full:
        lines.append(f"  because {rule['reason']} {paint('[' + rule['name'] + ']', 'grey')}{_rule_at(rule, paint)}")
    elif not full:
        lines.append(f"  by the rule {paint('[' + rule['name'] + ']', 'grey')}{_rule_at(rule, paint)}")
    if full and "proofs" in document:
        lines += [f"  {line}" for line in proof_text(document, paint, full=True).splitlines()]
    return "\n".join(lines)


def _culprit(culprit: dict[str, Any], paint: Paint) -> list[str]:
    what = culprit["what"]
    if "action" in culprit:
        action = verb_of(culprit["action"])
        return [f"  the planned action of {what} is {action} (reason: planner why {shlex.quote(what)})"]
    if culprit.get("is_missing"):
        text = "not there"
    else:
        text = _value(culprit["value"]) if "value" in culprit else "a sensitive value"
    if culprit.get("is_prior"):
        return [f"  {what} was {text} (state)"]
    lines = [f"  {what} is {text}{_at(culprit, paint)}"]
    for step in culprit.get("from", ()):
        origin = f" ({step['origin']})" if step.get("origin") else ""
        lines.append(f"    which is {step['what']}{origin}{_at(step, paint)}")
    return lines


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return quoted(value) if isinstance(value, str) else str(value)


def _at(entry: dict[str, Any], paint: Paint) -> str:
    place = source_text(entry.get("source"))
    return f": {paint(place, 'grey')}" if place else ""


def _rule_at(rule: dict[str, Any], paint: Paint) -> str:
    """The place of a rule, with the text of the rule, which may have several lines."""
    source = rule.get("source") or {}
    is_whole = source.get("snippet", ".").rstrip().endswith(".")
    return _at(rule if is_whole else {"source": {**source, "snippet": rule["text"]}}, paint)
