"""Groups the changes of a plan by root cause. An edit that changes several values counts as one cause."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from itertools import takewhile, zip_longest
from typing import Any

from planner.answers.explain.cause_paths import TEXT, is_part
from planner.answers.explain.causes import WRITTEN, Because, CauseStep
from planner.answers.explain.changed_inputs import ENTRY
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.span import Span
from planner.logic.programs.actions import does


@frozen
class RootCause:
    """A root cause and its changes. `changes`: (name, action), the riskiest first. If this cause alone would only
    update an object that other causes replace, the action is update. `is_certain`: whether the causes of all these
    changes are certain. `parts`: (name, kind) of all root causes that come from the same edit; empty for changes that
    are their own root cause, such as tainted objects."""

    root: CauseStep
    changes: tuple[tuple[str, str], ...]
    is_certain: bool = True
    parts: frozenset[tuple[str, str]] = frozenset()


def grouped(
    chains: Mapping[str, Because], actions: Mapping[str, str], risks: Mapping[str, int]
) -> tuple[RootCause, ...]:
    """The changes, grouped by root cause. Changes that are their own root cause are grouped by the kind of this cause.
    A change with several root causes is in several groups. `risks`: {action: rank}; the riskiest action has the lowest
    rank."""
    members: dict[Key, list[str]] = {}
    roots: dict[Key, dict[tuple[str, str], CauseStep]] = {}
    forced: set[tuple[Key, str]] = set()
    behind_others = {root.what for name, because in chains.items() for root in because.roots if root.what != name}
    crowded = _crowded(chains)
    for name, because in sorted(chains.items()):
        forcing = because.forcing()
        for root in because.roots:
            is_itself = root.what == name and not (root.kind in _TOGETHER and name in behind_others)
            whole = evolve(root, what="", source=None) if is_itself else root
            key = _key(whole, crowded)
            known = roots.setdefault(key, {})
            if not known.get((whole.what, whole.kind), whole).has_shifted or whole.has_shifted:
                known[whole.what, whole.kind] = whole
            listed = members.setdefault(key, [])
            if name not in listed[-1:]:
                listed.append(name)
            if not forcing or (root.what, root.kind) in forcing:
                forced.add((key, name))
    groups = []
    for key, names in members.items():
        done = {name: actions.get(name, "") if (key, name) in forced else "update" for name in names}
        listed = sorted(names, key=lambda name: (risks.get(done[name], len(risks)), name))
        is_certain = not any(chains[name].is_guess for name in names)
        root = _one_root(list(roots[key].values()))
        parts = frozenset(roots[key]) if root.what else frozenset()
        groups.append(RootCause(root, tuple((name, done[name]) for name in listed), is_certain, parts))
    return tuple(sorted(groups, key=lambda group: _rank(group, risks)))


def _one_root(parts: list[CauseStep]) -> CauseStep:
    """One root cause for several root causes that come from the same edit. Its place is that of the first of them. It
    has a former and a current value only if these are the same for all, or if the edit adds and removes keys."""
    known = [step for step in parts if step.before or step.value]
    parts = [step for step in known if all(is_part(one.what, step.what.removeprefix(TEXT)) for one in parts)] or parts
    first = min(parts, key=lambda step: _line(step) or ("", 0))
    inner = {(step.what.removeprefix(_whole(step.what)), step.before, step.value) for step in parts}
    if len(inner) == 1:
        return evolve(first, what=reduce(_in_common, (step.what for step in parts)))
    names = [step.what.removeprefix(TEXT) for step in parts]
    whole = reduce(_in_common, map(_whole, names))
    paths = [name.removeprefix(_whole(name)) for name in names]
    path = reduce(_path_in_common, paths)
    keys = _keys_of(parts, [own.removeprefix(path) for own in paths])
    lead = TEXT if all(step.what.startswith(TEXT) for step in parts) else ""
    if keys is not None:
        return evolve(first, what=f"{lead}{whole}{path}", before=keys[0], value=keys[1], has_elements=True)
    if not all(step.kind == "variable" for step in parts):
        path = ""
    edited = first.edited if all(step.edited == first.edited for step in parts) else ("", "")
    return evolve(first, what=f"{lead}{whole}{path}", before="", value="", edited=edited)


def _keys_of(parts: Collection[CauseStep], inner: Sequence[str]) -> tuple[str, str] | None:
    """(removed keys, added keys) of the map or object whose changed parts are `parts`. None if a part is not a whole
    key that was added or removed. `inner`: for each part, its path inside the map."""
    removed, added = dict[str, None](), dict[str, None]()
    for step, path in zip(parts, inner, strict=True):
        if step.has_elements and not path:
            continue  # this step is for all keys together; each key has a step, too
        key = _ONE_KEY.fullmatch(path)
        if key is None or "nothing" not in (step.before, step.value):
            return None
        (removed if step.value == "nothing" else added)[key[1] or f'"{key[2]}"'] = None
    return ", ".join(sorted(removed)) or "nothing", ", ".join(sorted(added)) or "nothing"


Key = tuple[Any, ...]
_TOGETHER = ("replace_because_tainted", "replace_by_request", "gone")
"""kinds of root causes that are themselves changes of objects; such an object is in the same group as the objects whose
changes it causes"""
_MOST_APART = 6
"""maximum number of changed lines of a variable's value that count as separate causes"""
_MOST_KEYS = 12
"""for a variable with more changed lines: maximum number of its keys that count as separate causes"""
KEY = re.compile(r'(\["(?:[^"\\]|\\.)*"\]|\[[0-9*]+\])')
_ONE_KEY = re.compile(r'\[("(?:[^"\\]|\\.)*")\]|\.([\w-]+)')
_STEP = re.compile(rf"{KEY.pattern}|\.?[^.[]+")
_PART = re.compile(
    rf"(?:the text of )?(?:module\.[\w-]+{KEY.pattern}?\.)*"
    rf"(?:(?:var|local)\.[\w-]+|(?:data\.)?[\w-]+\.[\w-]+{KEY.pattern}?\.[\w-]+)"
)
"""matches the name of the variable, local value or argument at the beginning of the name of a part of it"""


def _key(root: CauseStep, crowded: Mapping[str, bool]) -> Key:
    """The key of the group to which a root cause belongs. Changed parts of one variable or argument in one line are one
    edit, even if they belong to different instances. Other causes are grouped by name. `crowded`: the result of
    `_crowded`."""
    if root.kind == "variable" and (whole := _whole(root.what)) in crowded:
        return (_first_part(root.what) if crowded[whole] else whole, root.kind)
    if root.kind in WRITTEN and root.what:
        whole = _whole(root.what.removeprefix(TEXT))
        return (KEY.sub("[*]", whole), root.kind, _line(root) or root.what)
    if root.kind == ENTRY:  # in several former configurations, an entry may have several former values
        return (root.what, root.kind, root.before)
    return (root.what, root.kind)


def _crowded(chains: Mapping[str, Because]) -> dict[str, bool]:
    """{variable: whether the changed parts below each of its keys count as one edit}, for variables whose value has
    changed parts in many lines. If the value is False, too many keys have changed parts, and all changed parts of the
    variable count as one edit."""
    lines: dict[str, set[Any]] = {}
    keys: dict[str, set[str]] = {}
    for because in chains.values():
        for root in because.roots:
            if root.kind == "variable":
                whole = _whole(root.what)
                lines.setdefault(whole, set()).add(_line(root))
                keys.setdefault(whole, set()).add(_first_part(root.what))
    return {
        what: what not in keys[what] and len(keys[what]) <= _MOST_KEYS
        for what, known in lines.items()
        if len(known) > _MOST_APART
    }


def _first_part(what: str) -> str:
    """The name of the variable that contains a part, followed by the first key in the path to this part."""
    whole = _whole(what)
    step = _STEP.match(what, len(whole))
    return whole + (step.group() if step is not None else "")


def _line(root: CauseStep) -> tuple[str, int] | None:
    source = root.source
    return (source.filename, source.start_position.line) if isinstance(source, Span) else None


def _in_common(one: str, other: str) -> str:
    """A name for two names that differ only in instance keys, with `[*]` in place of different keys: `a[*].b`."""
    pairs = zip_longest(KEY.split(one), KEY.split(other), fillvalue="")
    return "".join(a if a == b else "[*]" for a, b in pairs)


def _path_in_common(one: str, other: str) -> str:
    """The name of the innermost value that contains two parts of a variable."""
    pairs = zip(*([step[0] for step in _STEP.finditer(name)] for name in (one, other)), strict=False)
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _whole(what: str) -> str:
    """The name of the variable, local value or argument that contains a part. Other names are returned unchanged."""
    whole = _PART.match(what)
    return whole.group() if whole else what


def _rank(group: RootCause, risks: Mapping[str, int]) -> tuple[int, int, int, int, str, str]:
    """The sort key of a group. Groups that destroy, replace or forget more objects come first; then groups that destroy
    more objects before their replacements exist."""
    ranks = [risks.get(action, len(risks)) for _, action in group.changes]
    objects = [action for name, action in group.changes if action and not name.startswith("output.")]
    dangerous = sum(does(action, "destroys") or does(action, "forgets") for action in objects)
    first = sum(does(action, "deletes") for action in objects)
    return -dangerous, -first, min(ranks), -len(group.changes), group.root.what, group.root.kind
