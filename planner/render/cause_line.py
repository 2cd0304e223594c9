"""Causes in words: `var.image "v1" -> "v2" (prod.tfvars:2)`, and the hops from a cause to a change."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any

from planner.answers.explain.causes import FORMER_LINE, TRIGGER, Because, CauseStep
from planner.answers.explain.changed_inputs import ENTRY
from planner.foundation.values.expression_text import HIDDEN, LONGEST, common_ends, literal
from planner.foundation.vocabulary.address import MODULE_STEP, quote
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Span
from planner.logic.model.graph import CommandLine, StateEntry
from planner.logic.programs.actions import verb_of, words_for
from planner.render.alike import MOST_ALIKE, alike

MOST_ROOTS = 3
"""maximum number of roots in a sentence"""
MOST_WHOLE = 72
"""maximum length of `before -> value` if both values are shown in full"""
MOST_VALUES = 48
"""maximum number of characters shown of each differing part"""
MOST_AROUND = 16
"""number of unchanged characters that are shown on each side of a difference"""
_WORD = re.compile(r"[\w.]")
"""a pattern for the characters of words; a word next to a difference is not cut"""
_PIECES = re.compile(r"\w+|\W")
_LINE = re.compile(r"((?:line \d+|lines \d+ to \d+|at \S+)(?: \(and \d+ more\))?): ")
_ENDS = re.compile(r"[.\[]")
BACKSLASH = "\\"
_SEPARATOR = re.compile(r"[^\w.-]")
KINDS = {
    "drift": "changed outside planner",
    "as-before": "none of its inputs changed since the last apply",
    "left-state": "it was applied before, but is no longer in the state",
    "not-in-state": "it was declared before, but is not in the state",
    "unignored": "ignore_changes ignored it until now",
    "unapplied": "the configuration did not change: the state was changed outside planner",
    "gone": "removed or changed outside planner",
    "read": "as it was read",
    "entry": "edited",
    "function": "a function of the time of the apply",
    "ephemeral": "opened only when needed",
    "left-out": "left out of this plan",
    "replace_because_tainted": "tainted",
    "replace_by_request": "-replace",
    "delete_because_no_resource_config": "no longer declared",
    "delete_because_no_module": "its module instance is no longer declared",
    "delete_because_no_move_target": "moved to an address that is not declared",
}

_ASKED = ("replace_by_request", "no-call")
"""kinds of causes shown without a place"""
GONE = "was removed or changed outside planner"
REQUESTS = {"gone": GONE, "replace_because_tainted": "is tainted", "replace_by_request": "is named by -replace"}
"""kinds of causes that require a creation or replacement, with a description of each"""
_CALLS = {"no-call": " was removed", "new-call": " was added"}


def because_lines(because: Because, address: str, actions: Mapping[str, str]) -> list[str]:
    """The lines about a cause: all steps from the change back to its root cause, then the other root causes. For a
    change that is its own cause, the lines of `own_lines`. `actions`: {name: action} of all changes."""
    if because.is_itself(address):
        return own_lines(because.roots[0])
    root, *hops = because.steps
    steps = [root, *(hop for hop in hops if hop.kind or _name_and_place(hop) != _name_and_place(root))]
    lines = ["because:", *_without_repeats(f"  {words_of(step, actions)}" for step in reversed(steps))]
    others = because.roots[1:]
    if others:
        word = "any of these may also be the cause" if because.is_guess else "more causes"
        lines.append(f"  {word}: {', '.join(words_of(step, actions) for step in others)}")
    return lines


def _name_and_place(step: CauseStep) -> tuple[str, str]:
    return name_of(step), place_of(step.source)


def own_lines(root: CauseStep) -> list[str]:
    """The lines for a change that is its own cause: the object is tainted or no longer exists. Empty for other
    changes."""
    if root.kind == "replace_because_tainted" and root.note:
        return [f"because {root.note}"]
    return [f"because it {GONE}{gone_place(root)}"] if root.kind == "gone" else []


def gone_place(root: CauseStep) -> str:
    """` (filename "a.conf", main.tf:3)`: real name and place of an object that no longer exists; "" if unknown."""
    notes = ", ".join(filter(None, (root.note, place_of(root.source))))
    return f" ({notes})" if notes else ""


def root_lines(because: Because, address: str, actions: Mapping[str, str]) -> list[str]:
    """The lines about a cause: the roots and, if the chain is certain, its hops, one per line. For a change that is its
    own cause, the lines of `own_lines`."""
    if because.is_itself(address):
        return own_lines(because.roots[0])
    words = [words_of(step, actions) for step in because.roots]
    steps = [] if because.is_guess else hops_of(because.steps, address, actions)
    return [roots_sentence(words, because.is_guess), *(f"  -> {words_of(step, actions)}" for step in steps)]


def roots_sentence(words: Sequence[str], is_guess: bool) -> str:
    """The roots in a sentence: `because A, B and 2 more`, or `perhaps because A` if `is_guess`."""
    shown = words[: MOST_ROOTS if len(words) > MOST_ROOTS + 1 else len(words)]
    more = f" and {len(words) - len(shown)} more" if len(shown) < len(words) else ""
    lead = "because "
    if is_guess:
        lead = "because one of these may have changed: " if len(words) > 1 else "perhaps because "
    return f"{lead}{', '.join(shown)}{more}"


def hops_of(chain: Sequence[CauseStep], address: str, actions: Mapping[str, str]) -> list[CauseStep]:
    """The steps of a chain between its root and the change. Steps in the changed object are omitted, and so are steps
    whose value contains the previous or the next step. Steps in another changed object are replaced by this object."""
    root, steps = chain[0], list[CauseStep]()
    for step in chain[1:]:
        if step.kind or not (owner := owner_of(step, actions)):
            steps.append(step)
        elif owner not in (address, root.what):
            # several steps in one object become one step, with the name of the object and the line of the first step,
            # because this line uses the value
            last = steps.pop() if steps and steps[-1].what == owner else step
            also = tuple(name.removesuffix(step.what[len(owner) :]) for name in step.also)
            steps.append(evolve(last, what=owner, before="", value="", also=also))
    kept = [
        step
        for before, step, after in zip([None, *steps], steps, [*steps[1:], None], strict=False)
        if not _is_part(step, after) and not _is_part(step, before) and not is_each_value(step)
    ]
    return [step for before, step in zip([root, *kept], kept, strict=False) if name_of(step) != name_of(before)]


INSIDE = "inside"
"""the kind of a step that replaces several steps inside an installed module"""
_INSTALLED = ".terraform/modules/"
_MODULE_PATH = re.compile(rf"(?:{MODULE_STEP})+")


def folded(steps: Sequence[CauseStep], root: str = "") -> list[CauseStep]:
    """The steps of a chain. Successive steps inside an installed module are combined, because few users know the files
    of such modules. In any other module, only the first and the last of several successive values are kept, or only the
    last if the root is in that module."""
    result: list[CauseStep] = []
    for is_inside, group in groupby(steps, lambda step: place_of(step.source).startswith(_INSTALLED)):
        inner = list(group)
        modules = [step for step in inner if _module_path(step.what)]
        if not is_inside or len(inner) == 1 or not modules:
            result += _ends_in_modules(inner, root)
        else:
            outer = min(modules, key=lambda step: len(_module_path(step.what)))
            also = tuple(_module_path(name)[:-1] for name in outer.also)
            result.append(CauseStep(_module_path(outer.what)[:-1], INSIDE, also=also))
    return result


def _module_path(name: str) -> str:
    """The module path in a name, with a final dot; "" in the root module."""
    match = _MODULE_PATH.match(name)
    return match.group() if match is not None else ""


def _ends_in_modules(steps: Sequence[CauseStep], root: str) -> Iterator[CauseStep]:
    """The steps. Variables and local values are omitted if they are between two steps (or the root and a step) of the
    same module."""
    paths = [_module_path(name_of(step)) for step in steps]
    around = zip([_module_path(root), *paths], steps, paths, [*paths[1:], ""], strict=False)
    for before, step, path, after in around:
        is_value = name_of(step)[len(path) :].startswith(("local.", "var."))
        if not (path and is_value and before == path == after):
            yield step


def inside_text(step: CauseStep, *inside: CauseStep | None) -> str:
    """The name of a step that is next to steps inside an installed module; the name of the module if the step itself
    belongs to this module."""
    modules = [one for one in inside if one is not None and name_of(step).startswith(f"{one.what}.")]
    return alike_name(min(modules, key=lambda one: len(one.what))) if modules else alike_name(step)


def is_each_value(step: CauseStep) -> bool:
    """Whether a step is an element of a for_each value; such a step only passes on a part of the next step's value."""
    key = _NEW_KEY.fullmatch(step.what)
    return key is not None and not step.kind and bool(key[3])


def _without_repeats(words: Iterable[str]) -> list[str]:
    """The words without successive duplicates. Duplicates occur, for example, because an expression and its object have
    the same description."""
    return [said for said, _ in groupby(words)]


def owner_of(step: CauseStep, actions: Mapping[str, str]) -> str:
    """The changed object that is the step or contains it; "" if there is no such object."""
    for end in _ENDS.finditer(f"{step.what}."):
        if step.what[: end.start()] in actions:
            return step.what[: end.start()]
    return ""


def _is_part(step: CauseStep, beside: CauseStep | None) -> bool:
    """Whether a step is a whole value, and the adjacent step is a part of this value."""
    return beside is not None and not step.kind and beside.what.startswith((f"{step.what}.", f"{step.what}["))


def words_of(step: CauseStep, actions: Mapping[str, str], with_place: bool = True) -> str:
    """A step in words, with values, kind and place. `actions`: {name: action} of all changes."""
    if step.kind == "renewed":
        place = f" ({place_of(step.source)})" if with_place and step.source else ""
        return f"{alike_name(step)} {step.note}{place}"
    if _is_shown_unapplied(step):
        place = f" ({place_of(step.source)})" if with_place else ""
        return (
            f"{step.what} is {step.before} in the state and {step.value} in the configuration{place}: the state was "
            "changed outside planner"
        )
    what = alike_name(step) + difference_of(step)
    hidden = "sensitive, " if step.value == HIDDEN and step.before in ("", HIDDEN) else ""
    if step.kind == "variable":
        return f"{what} ({hidden}{origin_of(step)})" if with_place else what
    what += _CALLS.get(step.kind, "")
    key = _NEW_KEY.fullmatch(step.what)
    what += presence(step, actions)
    action = actions.get(step.what, "")
    verb = KINDS.get(step.kind, words_for(action).done if action else "")
    if step.kind == ENTRY and step.before:  # the values show the edit
        verb = ""
    if step.kind == "replace_because_tainted":
        return f"{what} is tainted{': ' if step.note else ''}{step.note}"
    place = place_of(step.source) if with_place and step.kind not in _ASKED else ""
    place = f"read at {place}" if place and step.kind == "file" else f"{hidden}{place}"
    place = ", ".join(filter(None, (place, step.note))) if step.kind == ENTRY and with_place else place
    trigger = step.note if step.note == TRIGGER else ""
    notes = ", ".join(filter(None, ("for_each" if key is not None and not key[3] else trigger, place, verb)))
    return f"{what} ({notes})" if notes else what


def remedy_of(root: CauseStep) -> str:
    """Advice on how to keep an object that is tainted or was renamed, or a value that was edited in the state. "" for
    other causes, such as edited files."""
    if root.kind == "replace_because_tainted":
        return f"To keep it: planner untaint {shlex.quote(root.what)}"
    if root.kind == "renewed":
        kept = "objects" if _MODULE_PATH.fullmatch(f"{root.what}.") else "object"
        return f"To keep the {kept}: planner suggest -write (adds a moved block)"
    if _is_shown_unapplied(root):
        return f"The apply sets it to {root.value} again. To keep {root.before}, write it at {place_of(root.source)}."
    return ""


def _is_shown_unapplied(step: CauseStep) -> bool:
    """Whether a step is a value that was edited in the state, if both the edited and the configured value are short
    enough to show."""
    return step.kind == "unapplied" and step.before != step.value and len(step.before + step.value) <= MOST_VALUES


def root_text(root: CauseStep, place: str = "", actions: Mapping[str, str] = {}) -> str:
    """A certain root cause, in words. `place`: the place where a file is read, if the text is to omit it. `actions`:
    {name: action} of the changes."""
    words = words_of(root, actions)
    if root.kind != "file":
        return words
    return words.removesuffix(f" (read at {place})").replace(
        name_of(root), f"{name_of(root)} was edited{root.edited[1]}", 1
    )


def alike_name(step: CauseStep) -> str:
    """A step's name, combined with the same step in other instances: `module.web["a", "b"].url`."""
    return ", ".join(one.text for one in alike([step.what, *step.also], MOST_ALIKE)) if step.also else name_of(step)


def name_of(step: CauseStep) -> str:
    """A step's name. The name of an expression is the name of the value that it defines; the name of a for_each key is
    the address of its instance."""
    key = _NEW_KEY.fullmatch(step.what)
    if key is not None and not step.kind:
        return f"each.value{key[3]} of {_instance_of(key)}" if key[3] else _instance_of(key)
    return step.what.removeprefix("the text of ").removeprefix("file ") if step.kind in ("text", "file") else step.what


_NEW_KEY = re.compile(r'(.+)\.for_each(\["(?:[^"\\]|\\.)*"\]|\.[\w-]+)(.*)')


def is_key(step: CauseStep) -> bool:
    """Whether a step is a for_each key or a part of its value."""
    return _NEW_KEY.fullmatch(step.what) is not None


def _instance_of(key: re.Match[str]) -> str:
    return f"{key[1]}{key[2] if key[2][0] == '[' else f'[{quote(key[2][1:])}]'}"


def presence(step: CauseStep, actions: Mapping[str, str]) -> str:
    """` added` for a for_each key whose instance is created, ` removed` if it is destroyed; "" if both, or neither."""
    key = _NEW_KEY.fullmatch(step.what.removeprefix("the text of "))
    if key is None or key[3]:
        return ""
    verbs = _verbs_within(actions).get(_instance_of(key), ())
    return {"create": " added", "delete": " removed"}.get(next(iter(verbs)), "") if len(verbs) == 1 else ""


_LAST: list[tuple[Mapping[str, str], dict[str, set[str]]]] = []
"""the most recent argument of `_verbs_within`, and the result for it"""


def _verbs_within(actions: Mapping[str, str]) -> Mapping[str, Collection[str]]:
    """{address of an object or module: verbs of the changes in it}. The result is computed only once for each plan,
    because it is needed for each step of each chain. `actions`: {name: action} of all changes."""
    if not _LAST or _LAST[0][0] is not actions:
        verbs: dict[str, set[str]] = {}
        for name, action in actions.items():
            ends = (end.start() for end in re.finditer(r"\.|$", name))
            for end in ends:
                verbs.setdefault(name[:end], set()).add(verb_of(action))
        _LAST[:] = [(actions, verbs)]
    return _LAST[0][1]


def difference_of(step: CauseStep) -> str:
    """The change of a value, as text after its name: ` "v1" -> "v2"`, ` added: "v2"` or ` removed, was "v1"`. For
    lists, the text contains the added and removed elements; for strings of several lines, the line that differs. "" if
    a value is unknown, or if both values look equal because they are sensitive."""
    if step.before == step.value:  # sensitive values
        return ""
    if step.kind == "text" and step.edited[1] and " more): " in step.before:  # other edits may have changed these lines
        return f", {f'edited: {step.edited[0]} -> ' if step.edited[0] else 'added: '}{step.edited[1]}"
    if step.has_elements:
        return f": {elements_text(step.before, step.value)}{SHIFTED if step.has_shifted else ''}"
    line, own = _LINE.match(step.before), _LINE.match(step.value)
    if step.value == "nothing" and line is not None:
        return f", {line[1]} removed: {step.before[line.end() :]}"
    if step.before == "nothing" and own is not None:
        return f", {own[1]} added: {step.value[own.end() :]}"
    if step.before and step.value == "nothing":
        return f" removed{'' if _is_long(step.before) else f', was {_as_written(step.before)}'}"
    if step.before == "nothing":
        return " added" if _is_cut(step.value) else f" added: {_as_written(step.value)}"
    if not step.before or not step.value:
        return ""
    if line is None or own is None:
        return f" {difference(_as_written(step.before), _as_written(step.value))}"
    return f", {line.group()}{difference(step.before[line.end() :], step.value[own.end() :])}"


def with_former_value(step: CauseStep, words: str) -> str:
    """The step in words, with the former value of a removed object or list; only overviews show this value."""
    name = f"{name_of(step)} removed"
    is_hidden = step.value == "nothing" and _is_long(step.before) and not _is_cut(step.before)
    return words.replace(name, f"{name}, was {_as_written(step.before)}", 1) if is_hidden else words


def _is_long(text: str) -> bool:
    return text.startswith(("{", "["))


def _is_cut(text: str) -> bool:
    """Whether a text shows only the beginning of an object or list, or is too long for a line."""
    return _is_long(text) and (text.endswith("...") or len(text) > LONGEST)


SHIFTED = "; later elements moved"


def elements_text(lost: str, gained: str) -> str:
    """The elements that a list gained and lost: `added "d", "e"; removed "a"`. Long lists are shortened."""
    sides = (("added", gained), ("removed", lost))
    written = ((word, literal(f"[{text}]")[1:-1]) for word, text in sides if text not in ("", "nothing"))
    return "; ".join(f"{word} {_shortened(text)}" for word, text in written)


def _as_written(text: str) -> str:
    """A value for display: objects and lists in the configuration's syntax."""
    return literal(text) if _is_long(text) else text


def difference(before: str, value: str) -> str:
    """Two values with an arrow; long values are reduced to the part that differs: `"...image=web:[1.4 -> 1.5]..."`."""
    whole = f"{before} -> {value}"
    if len(whole) <= MOST_WHOLE:
        return whole
    begin, end = common_ends(before, value)
    outer = [(text[begin : begin + 1], text[len(text) - end - 1 : len(text) - end]) for text in (before, value)]
    while begin and any(_WORD.match(first) for first, _ in outer) and _WORD.match(before[begin - 1]):
        begin -= 1
    while end and any(_WORD.match(last) for _, last in outer) and _WORD.match(before[len(before) - end]):
        end -= 1
    ends, several = [end, end], 1
    if len(before) + len(value) - 2 * (begin + end) > MOST_VALUES:
        *ends, several = _ends_of_first(before[begin : len(before) - end], value[begin : len(value) - end], end)
    old, new = (_shortened(text[begin : len(text) - at]) for text, at in zip((before, value), ends, strict=True))
    end = ends[0]
    head, tail = before[:begin], before[len(before) - end :]
    if len(head) > MOST_AROUND:
        quoted = '"' if head.startswith('"') else ""
        near = head[-MOST_AROUND:]
        start = next((m.end() for m in _SEPARATOR.finditer(near[:-1])), 0)
        head = f"{quoted}...{near[start + near[:start].endswith(BACKSLASH) :]}"
    if len(tail) > MOST_AROUND:
        near = tail.removesuffix("...")[:MOST_AROUND].rstrip(".")
        tail = f"{near}...{tail[-1] if tail.endswith(chr(34)) else ''}"
    more = f", the first of {several} differences" if several > 1 else ""
    if head == tail == '"':  # all of the string differs
        return f'"{old}" -> "{new}"{more}'
    return f"{head}[{old} -> {new}]{tail}{more}" if head or tail else f"{old} -> {new}"


def _ends_of_first(before: str, value: str, end: int) -> tuple[int, int, int]:
    """Returns (number of characters after the first difference in `before`, the same number for `value`, number of
    differences). The common end of the strings was removed from them; its length `end` is added. Differences that are
    close to each other count as one."""
    old, new = _PIECES.findall(before), _PIECES.findall(value)
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    apart = [
        (start, other)
        for start, other, size in blocks
        if start + other and len("".join(old[start : start + size])) >= MOST_AROUND
    ]
    if not apart:
        return end, end, 1
    start, other = apart[0]
    return end + len("".join(old[start:])), end + len("".join(new[other:])), len(apart) + 1


def _shortened(text: str) -> str:
    return f"{text[:MOST_VALUES]}..." if len(text) > MOST_VALUES + 3 else text


def origin_of(step: CauseStep) -> str:
    """The source of a variable's value."""
    source = step.source
    place = place_of(source)
    parts = (place, step.note) if step.note.startswith(FORMER_LINE) else (step.note, place)
    return ", ".join(filter(None, parts))


def place_of(source: Any) -> str:
    """The place of a cause as text: a line of a file, an option, `state`, or "". A string is returned unchanged."""
    if source.__class__ is str:
        return str(source)
    if isinstance(source, Span):
        return f"{source.filename}:{source.line}"
    if isinstance(source, CommandLine):
        return source.argument
    return "state" if isinstance(source, StateEntry) else ""
