"""Implements the forms of `why` that concern several objects: the effects of a value, file or module, and words that
select objects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from planner.answers.explain.cause_paths import is_part
from planner.answers.explain.causes import Because
from planner.foundation.values.value import Null, is_wholly_known
from planner.foundation.vocabulary.address import AddressError, ModuleAddress, parse_address
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import evolve, frozen
from planner.logic.model.graph import Graph
from planner.logic.model.plan import ResourceChange, change_name
from planner.logic.programs.actions import NO_OP, UNKNOWN, verb_of, verbs
from planner.operations.explanations import (
    DEFERRED,
    DRIFT,
    GRAPH_WORDS,
    MOVED,
    changed_actions,
    deferral_ground,
    explainer_of,
)
from planner.operations.graph import graph
from planner.operations.moves import moves
from planner.operations.options import OperationOptions
from planner.operations.plan import MadePlan
from planner.operations.plan_files import Unstored, open_or_make_plan
from planner.operations.verdicts import WORDS

FILE = "file"
"""the word of `why` for the effects of a file that functions read, as in `why file config/app.tpl`"""
_KEY = r'(?:\["(?:[^"\\]|\\.)*"\]|\[[0-9]+\])'
_VALUE = re.compile(rf"(?:module\.[\w-]+{_KEY}?\.)*(?:var|local)\.[\w-]")


def words_of_why() -> list[str]:
    """All words that may be the first argument of `why`."""
    return sorted({FILE, MOVED, DRIFT, UNKNOWN, *GRAPH_WORDS, *WORDS, *verbs()})


def check_word(words: tuple[str, ...]) -> None:
    """Raises Failure if the first argument of `why` looks like a misspelt word."""
    known = words_of_why()
    if not re.fullmatch(r"[a-z-]+", words[0]) or words[0] in known:
        return
    suggestion = did_you_mean(words[0], known)
    if suggestion:
        raise Failure(error("why.word", "Unknown word", f'"{words[0]}" is not a word of planner why.{suggestion}'))


# ---------------------------------------------------------------- effects


def source_of(words: tuple[str, ...]) -> str:
    """The value, file, module or action to whose effects the arguments of `why` refer; "" for other questions."""
    if len(words) == 2 and words[0] == FILE:
        return " ".join(words)
    if len(words) != 1:
        return ""
    if words[0] in verbs() and words[0] != NO_OP:
        return words[0]
    if _VALUE.match(words[0]):
        return words[0]
    try:
        return words[0] if isinstance(parse_address(words[0]), ModuleAddress) else ""
    except AddressError:
        return ""


def effects(made: MadePlan[Unstored], chains: Mapping[str, Because], source: str) -> dict[str, Because]:
    """{name of a change: causes} of the changes that a value, file or module causes; for a module, changes in the
    module are included. Raises Failure for a value or module that does not exist."""
    result = {
        name: because
        for name, because in chains.items()
        if (source.startswith("module.") and is_part(name, source))
        or any(is_part(step.what, source) for step in (*because.steps, *because.roots))
    }
    if not result and not _exists(made, source):
        explainer = explainer_of(made)
        detail = f'There is no planned value, file or module "{source}".{explainer.values_like(source)}'
        raise Failure(error("why.no_value", "Nothing to explain", detail))
    return result


def _exists(made: MadePlan[Unstored], source: str) -> bool:
    if source.startswith(f"{FILE} "):
        return True
    try:
        address = parse_address(source)
    except AddressError:
        address = None
    if isinstance(address, ModuleAddress):
        return made.loaded.config.root.descendant(address.path) is not None
    places = explainer_of(made).places
    place = places.read(source)
    return place is not None and bool(places.found(place))


# ---------------------------------------------------------------- lists


@frozen
class ListAnswer:
    """The objects that a word of `why` selects, as lines of text. `remark`: a sentence that is shown instead of the
    list; "" for none."""

    title: str
    names: tuple[str, ...]
    remark: str = ""

    def json(self, word: str) -> dict[str, Any]:
        """The list as a JSON document."""
        return {"format_version": "1.0", "goal": [word], "entries": list(self.names)}


def is_list(words: tuple[str, ...]) -> bool:
    """Whether the arguments of `why` are a single word that selects objects, such as `moved`."""
    return len(words) == 1 and words[0] in {MOVED, DRIFT, UNKNOWN, *GRAPH_WORDS}


def listing(options: OperationOptions, word: str, plan_file: str | None) -> tuple[ListAnswer | None, list[Diagnostic]]:
    """The objects that a word of `why` selects, and diagnostics. The objects are None if the plan or the graph cannot
    be made."""
    if word == DEFERRED:
        ground, problems = deferral_ground(options, plan_file)
        return (_of_graph(ground, word)[0] if ground is not None else None), problems
    if word in GRAPH_WORDS:
        answer = _of_graph(graph(options, "plan", plan_file, True), word)
        is_limited = plan_file is not None or options.limits.targets or options.limits.excludes
        if answer[0] is not None and word == "targeted" and not is_limited:
            return evolve(answer[0], remark="Neither -target nor -exclude is given: everything is planned."), answer[1]
        return answer
    opened = open_or_make_plan(options, plan_file)
    if opened.made is None:
        return None, list(opened.diagnostics)
    plan = opened.made.plan
    if word == MOVED:
        of = ListAnswer("Moved", tuple(move.text for move in moves(opened.made)))
    elif word == DRIFT:
        of = ListAnswer(
            "Changed outside planner", tuple(_drift_text(change) for change in plan.drift if _counts(change))
        )
    else:
        of = ListAnswer("Not known before the apply", tuple(_unknown(opened.made)))
    return of, list(opened.diagnostics)


def _of_graph(made_graph: Graph, word: str) -> tuple[ListAnswer | None, list[Diagnostic]]:
    if not made_graph.nodes:
        return None, list(made_graph.diagnostics)
    titles = {
        "targeted": "Within -target and -exclude",
        "excluded": "Left out because of -exclude",
        DEFERRED: "Left for a later plan",
    }
    rows = made_graph.database[GRAPH_WORDS[word]]
    names = sorted({re.sub(r" \(expand.*\)$", "", row[0]) for row in rows})
    return ListAnswer(titles.get(word, "Created before being destroyed because of other objects"), tuple(names)), []


def _counts(change: ResourceChange) -> bool:
    return change.action != NO_OP


def _drift_text(change: ResourceChange) -> str:
    if isinstance(change.after, Null):
        return f"{change.address} was removed"
    before = change.before if isinstance(change.before, dict) else {}
    after = change.after if isinstance(change.after, dict) else {}
    names = [name for name in after if before.get(name) != after[name]]
    return f"{change.address}: {', '.join(names)}" if names else change.address


def _unknown(made: MadePlan[Unstored]) -> Iterator[str]:
    for change in made.plan.changes:
        if change.action != NO_OP and isinstance(change.after, dict):
            names = [name for name, value in change.after.items() if not is_wholly_known(value)]
            if names:
                yield f"{change_name(change)}: {', '.join(names)}"
    for output in made.plan.outputs:
        if not is_wholly_known(output.after):
            yield f"output.{output.name}"


def with_action(made: MadePlan[Any], chains: Mapping[str, Because], verb: str) -> dict[str, Because]:
    """{name of a change: causes} of the changes whose action has the name `verb`."""
    actions = changed_actions(made)
    return {name: because for name, because in chains.items() if verb_of(actions[name]) == verb}
