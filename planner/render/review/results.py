"""The results of an apply in its review: the outcome of each change, and the words for outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from planner.engine.apply.outcomes import DONE, FAILED, KINDS, LEFT, LOST, NOT_REACHED, TAINTED, UNMET, Outcome
from planner.logic.model.plan import OutputChange
from planner.logic.programs.actions import NO_OP, does, steps, words_for
from planner.render.plan import output_diff
from planner.render.review.attributes import UNKNOWN, shortened, sides, without_label

_LISTS = {
    LOST: "destroyed, but not created again",
    LEFT: "created, but the former object still exists",
    TAINTED: "created, but tainted, so the next apply replaces it",
    FAILED: "failed",
    UNMET: "done, but a condition is false",
    NOT_REACHED: "not reached, so unchanged",
    DONE: "done",
}
"""{outcome: words for a list of objects}, the gravest first"""
_DESTROYED = (DONE, UNMET, LOST)
"""outcomes of changes that destroyed an object"""
_MOST = 300
"""maximum length of an error, in characters"""
_NEXT = "Correct the error, then apply again; planner plan shows what is left to do."
_AGAIN = " Until then, each apply replaces the tainted objects again."
_COUNTED = {"create": "added", "update": "changed"}
"""words for actions in titles, if these differ from the words in lists"""


def with_results(
    review: dict[str, Any],
    succeeded: bool,
    outcomes: Mapping[str, Outcome],
    hide: Callable[[str], str] = lambda text: text,
) -> dict[str, Any]:
    """The review of a plan, with the outcome of each change in the apply added. After a failure, decisions describe the
    failure. `outcomes`: {change: outcome}; empty if all changes were applied, or if no change was begun."""
    missing = Outcome(DONE if succeeded else NOT_REACHED)
    changes = []
    for one in review["changes"]:
        known = outcomes.get(one["address"], missing)
        result = {"outcome": known.kind, "error": without_label(hide(known.error))[:_MOST]}
        changes.append(one if one["is_drift"] or one["action"] == NO_OP else {**one, "result": result})
    if succeeded:
        return {**review, "changes": changes}
    results = [one for one in changes if "result" in one]
    tainted = any(one["result"]["outcome"] == TAINTED for one in results)
    notes = {"notes": [*review["notes"], _NEXT + _AGAIN * tainted]} if "notes" in review else {}
    title = {"title": _title(results)} if results and review.get("result") else {}
    return {**review, "changes": changes, "decisions": list(_decisions(review["decisions"], changes)), **notes, **title}


def _title(changes: Iterable[Mapping[str, Any]]) -> str:
    """The title of a failed apply: `Apply failed: 1 changed, 1 replaced but tainted, 2 not reached.`"""
    numbers = Counter((one["result"]["outcome"], _count_text(one)) for one in changes)
    kinds = {kind for kind, _ in numbers}
    parts = [] if kinds - {FAILED, NOT_REACHED} else ["nothing changed"]
    parts += [f"{numbers[key]:,} {key[1]}" for key in sorted(numbers, key=lambda key: (KINDS.index(key[0]), key[1]))]
    return f"Apply failed: {', '.join(parts)}."


def _count_text(change: Mapping[str, Any]) -> str:
    """The outcome of a change in the title: `replaced but tainted`."""
    outcome, first = change["result"]["outcome"], steps(change["action"])[0]
    verb = "create" if outcome == TAINTED and first == "create" else change["verb"]
    done = _COUNTED.get(verb, words_for(verb).done)
    texts = {DONE: done, UNMET: f"{done} with a failed condition", TAINTED: f"{done} but tainted"}
    short = {LOST: "destroyed and not created again", LEFT: "created while the former object still exists"}
    return {**texts, **short, FAILED: "failed", NOT_REACHED: "not reached"}[outcome]


def error_texts(diagnostics: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The texts of errors as they appear in the results of changes. Reports use these texts to show no error twice."""
    for one in diagnostics:
        detail = one["detail"].strip().partition("\n")[0]
        yield without_label(f"{one['summary']}: {detail}" if detail else one["summary"])[:_MOST]


def with_outputs(review: dict[str, Any], outputs: Iterable[OutputChange], hide: Callable[[str], str]) -> dict[str, Any]:
    """The review, in which the values of outputs that were unknown in the plan are replaced with their present values.
    `outputs`: the present values."""
    now = {}
    for one in outputs:
        before, after = map(hide, sides(output_diff(one)))
        now[one.name] = shortened(before, after)[1]
    return {
        **review,
        "outputs": [
            {**one, "after": now[one["name"]]} if UNKNOWN in one["after"] and one["name"] in now else one
            for one in review["outputs"]
        ],
    }


def _decisions(planned: list[dict[str, Any]], changes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The decisions after a failed apply: destroyed objects that held data, then objects by outcome, then verdicts."""
    results = {one["address"]: one["result"]["outcome"] for one in changes if "result" in one}
    destroyed = {one["address"] for one in changes if "result" in one and _is_destroyed(one)}
    for one in planned:
        if one["kind"].endswith("_stateful") and (objects := [name for name in one["objects"] if name in destroyed]):
            yield {**one, "objects": objects}
    for kind, text in _LISTS.items():
        objects = [name for name, outcome in results.items() if outcome == kind]
        again = [name for name in objects if kind == TAINTED and name in destroyed]
        for words, named in ((f"destroyed and {text}", again), (text, [name for name in objects if name not in again])):
            if named:
                yield {"kind": f"result_{kind}", "text": words, "objects": named}
    yield from (one for one in planned if one["kind"] in ("deny", "broken", "undecided", "warn"))


def _is_destroyed(change: Mapping[str, Any]) -> bool:
    outcome = change["result"]["outcome"]
    return outcome in _DESTROYED or (outcome == TAINTED and steps(change["action"])[0] == "delete")


def result_text(change: Mapping[str, Any]) -> str:
    """The outcome of a change: `not reached, so not updated`; "" if the outcome is as planned."""
    outcome = change["result"]["outcome"] if "result" in change else DONE
    done = words_for(change["verb"]).done
    if outcome == TAINTED:
        first = (
            "destroyed and " if does(change["action"], "replaces") and steps(change["action"])[0] == "delete" else ""
        )
        return f"{first}created, but tainted"
    texts = {
        UNMET: f"{done}, but a condition is false",
        FAILED: f"could not be {done}",
        NOT_REACHED: f"not reached, so not {done}",
    }
    return texts.get(outcome, "" if outcome == DONE else _LISTS[outcome])


def effects_title(document: Mapping[str, Any]) -> str:
    """The title of the section about effects: `effects` or, after a failed apply, `planned effects`."""
    is_failed = document["result"] is not None and not document["result"]["succeeded"]
    return "planned effects" if is_failed else "effects"
