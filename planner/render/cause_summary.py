"""The numbered causes of a plan, each with its consequences, the riskiest first:

[1] var.image "1.2" -> "1.3" (prod.tfvars:4)
      -> local.images (main.tf:12)
        -> module.web.aws_instance.a (web/main.tf:3, replaced)
        -> module.web.aws_instance.b (web/main.tf:9, 7 updated)
    causes 8 of 11 changes: 1 replacement, 7 updates

A change refers to its cause by number, so hops from a cause to its changes are printed only once. Changes are listed
only if no hop names them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from planner.answers.explain.cause_groups import RootCause, grouped
from planner.answers.explain.cause_paths import is_part
from planner.answers.explain.causes import UNRECORDED, Because, CauseStep
from planner.answers.explain.checked_roots import wholes
from planner.foundation.values.expression_text import HIDDEN
from planner.foundation.vocabulary.records import evolve
from planner.logic.programs.actions import actions, verb_of, words_for
from planner.render.alike import MOST_ALIKE, AlikeNames, alike, alike_moves
from planner.render.cause_hops import MODULES, hop_lines, is_beside, object_before
from planner.render.cause_line import (
    GONE,
    MOST_ROOTS,
    REQUESTS,
    because_lines,
    gone_place,
    is_key,
    name_of,
    own_lines,
    place_of,
    remedy_of,
    root_text,
    roots_sentence,
    with_former_value,
    words_of,
)
from planner.render.terminal import Paint, fold

MOST_LISTED = 20
"""maximum number of lines with objects below a cause, unless all objects are requested"""
MOST_THROUGH = 2
"""maximum number of objects between a cause and a change that are named in the change's line"""
MOST_HOPS = 12
"""maximum number of lines with hops below a cause"""
NO_CAUSES = (
    "No causes for {}: there is no record of earlier values. Apply once with planner, or compare with a commit: "
    "planner plan -since=main"
)
OUTPUT = "output."
"""prefix of names of outputs among changes"""
_THEMSELVES = {
    "create": "Declared, but not created yet",
    "delete_because_no_resource_config": "No longer declared",
    "delete_because_no_module": "Their module instance is no longer declared",
    "delete_because_no_move_target": "Moved to an address that is not declared",
    "replace_because_tainted": "Tainted",
    "replace_by_request": "Named by -replace",
    "everything": "-destroy",
    "delete": "To be destroyed",
    "forget": "To be forgotten",
    "left-state": "Applied before, but no longer in the state",
    "not-in-state": "Declared before, but not in the state",
    "gone": "Removed or changed outside planner",
    "read_because_config_unknown": "Read during the apply, because a part of the configuration is not known before",
    "read_because_dependency_pending": "Read during the apply, because dependencies change before",
    "read_because_check_nested": "Read during the apply, for a check",
}


def risks() -> dict[str, int]:
    """{action: position in lists}: actions that destroy objects are first, then those that forget, change and create
    objects."""
    order = sorted(actions(), key=lambda a: (words_for(a).risk, a))
    return {action: at for at, action in enumerate(order)}


_RENAMED = ("create", "delete_because_no_resource_config")
"""kinds of the two root causes of a renamed resource: under the new name, it is created; under the old one, it is
destroyed"""


class Causes:
    """The causes to print. `chains`: {change: cause}. `planned`: {name: action} of all changes. `how`: "line" or "full"
    (with all steps of the chains). `width`: the width at which lines are folded (0: lines are not folded). `moves`: a
    line for each moved object. `notes`: remarks on missing former values. `options`: the options of the command that
    made the plan. `moves_meant` returns the moves that would keep objects that look renamed."""

    def __init__(
        self,
        chains: Mapping[str, Because],
        planned: Mapping[str, str],
        how: str = "line",
        width: int = 0,
        moves: Sequence[str] = (),
        notes: Sequence[str] = (),
        options: str = "",
        moves_meant: Callable[[], Iterable[MoveMeant]] = tuple,
    ) -> None:
        self.options = options
        self.chains, self.planned, self.how, self.width, self.moves = chains, planned, how, width, moves
        self.notes = notes
        self.renames: Callable[[bool], str] = lambda is_listed: ""
        """returns the line about objects that look renamed, or ""; if its argument `is_listed` is true, without objects
        that the list of causes shows"""
        self.twins: Callable[[], Mapping[str, str]] = dict
        """{object: remark} for objects that resemble another object"""
        self.separate = grouped(chains, planned, risks())
        """the root causes; a removed and an added module are separate causes, even if the module looks renamed"""
        self.groups = _with_renames(self.separate, moves_meant)
        self.numbers: dict[tuple[str, str], int] = {}
        """{(name, kind) of a root: its number}"""
        for number, group in enumerate((group for group in self.groups if group.root.what), 1):
            for part in group.parts:
                self.numbers[part] = number
        self._introduced: set[int] = set()
        """the numbers of the causes that were already printed in full; changes printed later only refer to their
        numbers"""

        self.unclear = {
            name: planned[name]
            for name, because in chains.items()
            if notes and because.is_guess and len(because.roots) > MOST_ROOTS and name in planned
        }
        """{change: action} of changes that have too many possible causes to name, because former values are missing"""

    @cached_property
    def _hops(self) -> list[tuple[list[str], set[str]]]:
        """(lines of hops, names of changes in them) of each numbered cause."""
        return [_shown_hops(group, self.chains, self.planned) for group in self._with_number()]

    @cached_property
    def are_numbered(self) -> bool:
        """Whether changes refer to causes by number. They do if a cause has hops, or if all causes are printed before
        the plan."""
        return any(lines for lines, _ in self._hops)

    # ---- under a change

    def lines(self, name: str) -> list[str]:
        """The lines about causes below the headline of a change. Empty if its causes are unknown. Unless `how` is
        "full", also empty if the change is in `unclear`."""
        because = self.chains.get(name)
        if because is None:
            return []
        if self.how == "full":
            return because_lines(because, name, self.planned)
        if name in self.unclear:
            return []
        if because.is_itself(name):
            twin = self.twins().get(name) if because.roots[0].kind in _RENAMED else None
            lines = [twin] if twin else own_lines(because.roots[0])
            number = self.numbers.get((name, because.roots[0].kind), 0) if self.are_numbered else 0
            return [_with_mark(line, number) for line in lines] if number else lines
        if not self.are_numbered:
            words = [words_of(root, self.planned) for root in because.roots]
            return fold(roots_sentence(words, because.is_guess), self.width and self.width - 4)
        parts: dict[int, list[CauseStep]] = {}
        for root in because.roots:
            parts.setdefault(self.numbers.get((root.what, root.kind), 0), []).append(root)
        words = [self._reference(number, roots) for number, roots in parts.items()]
        through = [self._through(name, roots) for roots in parts.values()] if not because.is_guess else [""]
        if len({*through}) == 1:
            every = ("", "", "both ")[len(words)] if len(words) < 3 else "all "
            ending = f", {every}{through[0]}" if through[0] else ""
        else:
            ending, words = "", [f"{word}{of and f' {of}'}" for word, of in zip(words, through, strict=True)]
        return fold(roots_sentence(words, because.is_guess) + ending, self.width and self.width - 4)

    def _through(self, name: str, roots: Sequence[CauseStep]) -> str:
        """`through terraform_data.a`: the changed objects between the causes and the change; "" if there are none."""
        because = self.chains[name]
        wanted = {(root.what, root.kind) for root in roots}
        first, *_ = because.steps
        objects = [object_before(because.steps, name, self.planned)] if (first.what, first.kind) in wanted else []
        for way in because.ways:
            step = way.steps[0]
            if way.roots.isdisjoint(wanted):
                continue
            if step.what in self.planned and step.what not in (name, *(root.what for root in roots)):
                objects += [step.what, *step.also]
            elif not objects or not is_beside(way, because.ways, self.planned):
                objects.append("")
        names = [one.text for one in alike(one for one in objects if one)]
        if len(names) > MOST_THROUGH:
            names = [*names[: MOST_THROUGH - 1], f"{len(names) - MOST_THROUGH + 1} others"]
        directly = "directly and " if names and "" in objects else ""
        return f"{directly}through {' and '.join(names)}" if names else ""

    def _reference(self, number: int, roots: Sequence[CauseStep]) -> str:
        """The reference to a cause by its number: `[1] var.image "1.2" -> "1.3" (prod.tfvars:4)` when the cause is
        first named, later `[1] var.image`. For the number 0, the roots in words."""
        if not number:
            return ", ".join(words_of(root, self.planned) for root in roots)
        group = self._with_number()[number - 1]
        root = roots[0] if len(roots) == 1 and group.root.kind != "renewed" else group.root
        if number in self._introduced:
            return f"[{number}] {name_of(root)}"
        self._introduced.add(number)
        words = root_text(root, actions=self.planned) if group.is_certain else words_of(root, self.planned)
        return f"[{number}] {words}"

    def json(self, name: str) -> dict[str, Any]:
        """The causes of a change as JSON: `because` (steps from the root cause), `root_causes`, `because_is_certain`;
        {} if the causes are unknown."""
        because = self.chains.get(name)
        return {} if because is None else because.json

    # ---- once

    def headline(self, pending: str, invocations: str) -> str:
        """The headline of a plan: `Plan: 4 to add, 8 to change, 2 to destroy (2 replaced), 1 output to change. Actions:
        1 to invoke.`"""
        count_of_changes = ChangeCount.of(self.planned)
        replaced = count_of_changes.by_verb.get("replace", 0)
        also = f" ({replaced} replaced)" if replaced else ""
        also += f", {len(self.moves)} moved" if self.moves else ""
        if count_of_changes.outputs:
            also += f", {count_of_changes.outputs} output{'' if count_of_changes.outputs == 1 else 's'} to change"
        return f"Plan: {pending}{also}.{invocations}"

    def foot(self) -> list[str]:
        """The lines at the end of a plan: remarks on missing causes, then the numbered causes with their hops. The
        causes are omitted if they are printed with the changes."""
        unclear = fold(NO_CAUSES.format(ChangeCount.of(self.unclear).text), self.width, "") if self.unclear else []
        if self.how == "full" or not self.are_numbered:
            return [*self.note_lines(), *(unclear if self.how != "full" else ())]
        lines = [*self.note_lines(), *unclear, "Causes:"]
        for number, group in enumerate(self._with_number(), 1):
            hops = self._hop_lines(number)
            lines += [*fold(f"  [{number}] {_title(group, hops)}", self.width, "      "), *hops]
        return lines

    def hops(self, number: int) -> list[str]:
        """All hops between a cause and its changes, one per line, with complete names."""
        return hop_lines(self._with_number()[number - 1], self.chains, self.planned, is_whole=True)

    def note_lines(self) -> list[str]:
        """Lines about missing former values."""
        notes = [note for note in self.notes if not (note == UNRECORDED and self.unclear)]
        return [line for note in notes for line in fold(f"Note: {note}", self.width, "")]

    def effects(
        self, source: str, paint: Paint, everything: bool, whole: Sequence[RootCause], is_action: bool = False
    ) -> list[str]:
        """The changes that follow from a value or a file, with the root causes of a value that is not a root cause
        itself. For a module or an action, the result is the causes of its changes. `whole`: the root causes of all
        changes."""
        if is_action or MODULES.fullmatch(f"{source}."):
            return self.summary(paint, everything, self.groups, "" if is_action else source, whole)
        groups = [g for g in self.groups if any(is_part(what, source) for what, _ in g.parts)]
        if groups:
            return self.summary(paint, everything, groups)
        steps = (step for because in self.chains.values() for step in because.steps if is_part(step.what, source))
        title = words_of(evolve(next(steps), what=source), {})
        names = [
            name for name, because in self.chains.items() if any(is_part(step.what, source) for step in because.steps)
        ]
        changes = [(name, self.planned[name]) for name in names]
        roots = {root.what: root for root in (self.chains[name].steps[0] for name in names)}
        sentence = roots_sentence([words_of(root, self.planned) for root in roots.values()], False)
        single = _in_words(changes[0]) if len(changes) == 1 else ""
        share = ChangeCount.of(dict(changes)).share(ChangeCount.of(self.planned), "", single)
        return [
            *(paint(line, "bold") for line in fold(title, self.width)),
            *fold(f"    changes {sentence}", self.width),
            *fold(f"    causes {share}", self.width),
            *(() if single else self._object_lines(changes, everything)),
        ]

    def summary(
        self,
        paint: Paint,
        everything: bool = False,
        only: Sequence[RootCause] | None = None,
        module: str = "",
        whole: Sequence[RootCause] = (),
    ) -> list[str]:
        """The lines about all causes or, if `only` is set, about these causes, with their changes. `everything`:
        whether to list each object and hop. `module`: the module to which the changes belong, "" for all modules.
        `whole`: the root causes of all changes, if `only` contains only some of them."""
        lines: list[str] = []
        number = 0
        self._introduced.update(self.numbers.values() if only is None else ())
        total = ChangeCount.of(self.planned)
        alike_causes: dict[frozenset[tuple[str, str]], int] = {}
        """{set of changes: number of the first cause that has exactly these changes}"""
        for group in self.groups:
            is_unclear = group.root.what and not everything and all(name in self.unclear for name, _ in group.changes)
            if is_unclear or (only is not None and group not in only):
                number += bool(group.root.what)
                continue
            counted = ChangeCount.of(dict(group.changes))
            if group.root.what:
                number += 1
                mark = "" if only is not None and len(whole or self.groups) == 1 else f"[{number}] "
                hops = self._hop_lines(number, everything)
                title = fold(f"{mark}{_title(group, hops)}", self.width, "    ")
                lines += [*(paint(line, "bold") for line in title), *(line[2:] for line in hops)]
                verb = "causes" if group.is_certain else "may be a cause of"
                is_renamed = group.root.kind == "renewed" and len(group.changes) == len(group.parts)
                named = self._hops[number - 1][1] if not everything else ()
                named = {name for name, _ in group.changes} if is_renamed and not everything else named
                unnamed = [change for change in group.changes if change[0] not in named]
                single = _in_words(group.changes[0]) if len(group.changes) == 1 and unnamed else ""
                is_all = only is None and counted.objects == total.objects  # then the headline has the counts
                share = self._share_of(group, module, whole, single) if whole else counted.share(total, "", single)
                if is_all and not single and not is_renamed:
                    share = share.partition(": ")[0] + share[share.rfind("; and ") + 1 :] * ("; and " in share)
                changed = frozenset(group.changes)
                if (first := alike_causes.setdefault(changed, number)) != number and not everything and not single:
                    share, unnamed = f"the same changes as [{first}]", []
                else:
                    share += self._also_by(group) if only is None else ""
                lines += fold(f"    {verb} {share}", self.width)
                lines += self._object_lines(unnamed if not single else (), everything)
                remedy = remedy_of(group.root)
                lines += [*(fold(f"    {remedy}", self.width) if remedy else ()), ""]
            else:
                lines.append(f"{paint(title_of(group), 'bold')}: {counted.text}")
                lines += [*self._object_lines(group.changes, everything), ""]
        if self.notes and only is None:
            lines += [*self.note_lines(), ""]
        if self.unclear and not everything and only is None:
            lines += fold(NO_CAUSES.format(ChangeCount.of(self.unclear).text), self.width, "")
            lines += [*self._object_lines(self.unclear.items(), everything), ""]
        if self.moves and only is None:
            lines.append(f"{paint('Moved', 'bold')}: {len(self.moves)} object{'s' if len(self.moves) != 1 else ''}")
            moved = [AlikeNames(text, 1) for text in self.moves] if everything else alike_moves(self.moves)
            shown = moved if everything else moved[:MOST_LISTED]
            lines += [f"    {text}{f'  ({count})' if count > 1 else ''}" for text, count in shown]
            if len(shown) < len(moved):
                hidden = sum(count for _, count in moved[MOST_LISTED:])
                lines.append(f"    ... {hidden} more (planner why {self.options}moved -full)")
            lines.append("")
        listed = {name for group in self.groups for name, _ in group.changes}
        rest = {name: action for name, action in self.planned.items() if name not in listed}
        if rest and only is None:
            lines.append(f"{paint('No cause on record', 'bold')} for {ChangeCount.of(rest).text}")
            lines += self._object_lines(sorted(rest.items()), everything)
        return lines if not lines or lines[-1] else lines[:-1]

    def _share_of(self, group: RootCause, module: str, whole: Sequence[RootCause], only: str) -> str:
        """The number of a cause's changes that the answer contains, and the number of its other changes, in words."""
        some = ChangeCount.of({name: self.planned[name] for name in self.chains if name in self.planned})
        own = ChangeCount.of(dict(group.changes))
        text = own.share(some, f" in {module}" if module else " of this kind", only)
        objects = sum(ChangeCount.of(dict(one.changes)).objects for one in whole if one.parts & group.parts)
        return (
            text
            if objects <= own.objects
            else f"{text} (and {objects - own.objects} {'elsewhere' if module else 'more'})"
        )

    def _also_by(self, group: RootCause) -> str:
        """A remark about changes that the cause shares with other causes, ` (4 of them also by [2])`; "" if there are
        no such changes, if there are too many other causes, or if the cause is not certain."""
        by = dict[str, list[int]]()
        for number, other in enumerate(self._with_number(), 1):
            if other is not group and {*group.changes} != {*other.changes}:
                for name, _ in other.changes:
                    by.setdefault(name, []).append(number)
        shared = [name for name, _ in group.changes if name in by and not name.startswith(OUTPUT)]
        numbers = sorted({number for name in shared for number in by[name]})
        if not shared or len(numbers) > MOST_ROOTS or not group.is_certain:
            return ""
        some = "" if len(shared) == ChangeCount.of(dict(group.changes)).objects else f"{len(shared)} of them "
        return f" ({some}also by {', '.join(f'[{number}]' for number in numbers)})"

    def _with_number(self) -> list[RootCause]:
        return [group for group in self.groups if group.root.what]

    def overview_hops(self, number: int) -> Sequence[str]:
        """The hops of a numbered cause, one per line, each indented below the previous hop; only the nearest hops if
        there are too many for an overview."""
        hops, _ = self._hops[number - 1]
        return hops if len(hops) <= MOST_HOPS + 1 else _nearest(hops)

    def _hop_lines(self, number: int, everything: bool = False) -> list[str]:
        group = self._with_number()[number - 1]
        hops = hop_lines(group, self.chains, self.planned) if everything else self._hops[number - 1][0]
        shown = hops if everything else self.overview_hops(number)
        lines = [line for hop in shown for line in fold(f"        {hop}", self.width, "     ")]
        if len(shown) < len(hops):
            lines.append(f"        ... {len(hops) - len(shown)} more steps (planner why {self.options}-full)")
        return lines

    def _object_lines(self, changes: Iterable[tuple[str, str]], everything: bool) -> list[str]:
        """The lines about changed objects, one for each group of similar objects with the same action; outputs are
        last."""
        by_verb: dict[str, list[str]] = {}
        for name, action in changes:
            verb = "output" if name.startswith(OUTPUT) else verb_of(action).replace("delete", "destroy")
            by_verb.setdefault(verb, []).append(name.removeprefix(OUTPUT) if verb == "output" else name)
        if "output" in by_verb:
            by_verb["output"] = by_verb.pop("output")
        width = max(map(len, by_verb), default=0)
        entries: list[tuple[str, str, int]] = []
        for verb, names in by_verb.items():
            if everything:
                entries += [(verb, name, 1) for name in names]
            else:
                entries += [(verb, one.text, one.number) for one in alike(names)]
        if not everything and len(entries) > MOST_LISTED + 1:
            entries = [(verb, *one) for verb, names in by_verb.items() for one in alike(names, MOST_ALIKE)]
        shown = entries if everything or len(entries) <= MOST_LISTED + 1 else entries[:MOST_LISTED]
        lines: list[str] = []
        for verb, text, count in shown:
            more = f"  ({count})" if ", ... " in text or "[*]" in text else ""
            lines += fold(f"    {verb:<{width}}  {text}{more}", self.width, " " * (width + 4))
        if len(shown) < len(entries):
            hidden = sum(count for *_, count in entries[len(shown) :])
            lines.append(f"    ... {hidden} more (planner why {self.options}-full)")
        return lines


def _with_mark(line: str, number: int) -> str:
    """A line with its cause's number: `because [1] it was removed`, `[1] looks renamed`."""
    lead = "because " * line.startswith("because ")
    return f"{lead}[{number}] {line.removeprefix(lead)}"


def _in_words(change: tuple[str, str]) -> str:
    """A change in words: `update terraform_data.web`."""
    name, action = change
    verb = "change" if name.startswith(OUTPUT) else verb_of(action).replace("delete", "destroy")
    return f"{verb} {name}"


def _shown_hops(
    group: RootCause, chains: Mapping[str, Because], planned: Mapping[str, str]
) -> tuple[list[str], set[str]]:
    """The hops of a cause in an overview, and the names of the changes among them. Changes are included only if all
    lines fit. All chains to a change are shown if they fit, otherwise only the first chain."""
    hops = hop_lines(group, chains, planned, folds=True)
    if not hops and group.root.what not in planned:
        return hops, set()
    shown = hops, set[str]()
    for has_further in (False, True) if len(hops) <= MOST_HOPS + 1 else ():
        named = {group.root.what} if group.root.kind in REQUESTS else set[str]()
        ends = hop_lines(group, chains, planned, folds=True, named=named, has_further=has_further)
        if len(ends) > MOST_HOPS + 1:
            break
        shown = ends, named
    return shown


class MoveMeant(NamedTuple):
    """A move that would keep objects that look renamed. `old`, `new`: names of a module or resource. `source`: the
    place where the new name is declared. `carried`: (old name, new name) of each object that it would keep."""

    old: str
    new: str
    source: Any
    carried: tuple[tuple[str, str], ...]


_MOST_RENAMED = 5
"""maximum number of renames listed one by one"""


def _with_renames(
    groups: tuple[RootCause, ...], moves_meant: Callable[[], Iterable[MoveMeant]]
) -> tuple[RootCause, ...]:
    """The groups of changes by root cause. If a module or resource looks renamed, the groups of its removal and its
    addition are merged."""
    ends = ({g.root.kind: g for g in groups if not g.root.what}.get(kind) for kind in _RENAMED)
    gone, come = ({g.root.what: g for g in groups if g.root.kind == kind} for kind in ("no-call", "new-call"))
    is_searched = (gone and come) or all(ends)
    moves = list(moves_meant()) if is_searched else []
    for move in moves:
        if move.old in gone and move.new in come:
            removed, added = gone[move.old], come[move.new]
            root = evolve(added.root, what=move.old, kind="renewed", note=f"looks renamed to {move.new}")
            changes, parts = removed.changes + added.changes, removed.parts | added.parts
            whole = evolve(removed, root=root, changes=changes, parts=parts)
            groups = tuple(whole if group is removed else group for group in groups if group is not added)
    return _with_renamed_objects(groups, moves) if len(moves) <= _MOST_RENAMED else groups


def _with_renamed_objects(groups: tuple[RootCause, ...], moves: Iterable[MoveMeant]) -> tuple[RootCause, ...]:
    """The groups, with a merged group for the destruction of renamed objects and their creation under a new name."""
    own = {g.root.kind: dict(g.changes) for g in groups if not g.root.what}
    come, gone = (own.get(kind, {}) for kind in _RENAMED)
    renamed: list[RootCause] = []
    for move in moves:
        if not all(old in gone and new in come for old, new in move.carried):
            continue
        pairs = move.carried
        changes = [(old, gone.pop(old)) for old, _ in pairs] + [(new, come.pop(new)) for _, new in pairs]
        parts = frozenset(named for pair in pairs for named in zip(pair, reversed(_RENAMED), strict=True))
        root = CauseStep(move.old, "renewed", move.source, note=f"looks renamed to {move.new}")
        renamed.append(RootCause(root, tuple(changes), True, parts))
    left = [
        group if group.root.what else evolve(group, changes=tuple(own[group.root.kind].items())) for group in groups
    ]
    return (*renamed, *(group for group in left if group.changes)) if renamed else groups


def _nearest(hops: Sequence[str]) -> Sequence[str]:
    """The hops nearest to a cause, with as many levels as fit into MOST_HOPS lines. If not even the first level fits,
    the first MOST_HOPS hops."""
    depths = [len(hop) - len(hop.lstrip()) for hop in hops]
    fitting = [depth for depth in sorted(set(depths)) if sum(d <= depth for d in depths) <= MOST_HOPS]
    return (
        [hop for hop, depth in zip(hops, depths, strict=True) if depth <= fitting[-1]] if fitting else hops[:MOST_HOPS]
    )


def _title(group: RootCause, hops: Sequence[str]) -> str:
    """The root cause of a group in words. The place of the cause is omitted if the first hop has the same place."""
    place = place_of(group.root.source)
    return title_of(group, place if hops and f"({place}" in hops[0] else "")


def title_of(group: RootCause, place: str = "") -> str:
    """The root cause of a group in words. `place`: the place where a file is read; the title omits it, because the next
    line shows it."""
    root = group.root
    if not root.what:
        return _THEMSELVES.get(root.kind, root.kind)
    if root.kind == "variable":
        is_shown = not root.before and root.value not in ("", HIDDEN)
        value = f" = {root.value}" if is_shown else _changed_values(group)
        return with_former_value(root, words_of(root, {}).replace(root.what, root.what + value, 1))
    if root.kind == "gone":
        return f"{root.what} {GONE}, so it is created{gone_place(root)}"
    if root.kind in REQUESTS:
        return f"{root.what} {REQUESTS[root.kind]}{f': {root.note}' if root.note else ''}, so it is replaced"
    actions = dict(group.changes)
    words = root_text(root, place, actions) if group.is_certain else words_of(root, actions)
    if root.kind == "text":
        words = words.replace(name_of(root), f"{name_of(root)}{_changed_values(group)}", 1)
    return with_former_value(root, words)


def _changed_values(group: RootCause) -> str:
    """For an edit whose root cause is printed without values: the edited text if it is known, or `: 3 changed values`;
    otherwise "". A value that only contains a changed value is not counted."""
    if group.root.before or group.root.value:
        return ""
    names = {MODULES.sub("", name_of(evolve(group.root, what=what))) for what, _ in group.parts}
    several = len(names - {whole for name in names for whole in wholes(name) if whole != name})
    before, now = group.root.edited if not is_key(group.root) else ("", "")
    edited = f", {f'edited: {before} -> {now}' if before else f'added: {now}'}" if now else ""
    return edited or (f": {several} changed values" if several > 1 else "")


# ---------------------------------------------------------------- numbers


class ChangeCount:
    """The number of changed objects by action, and the number of changed outputs."""

    def __init__(self, objects: Mapping[str, int], outputs: int) -> None:
        self.by_verb, self.outputs = objects, outputs
        self.objects = sum(objects.values())

    @classmethod
    def of(cls, planned: Mapping[str, str]) -> ChangeCount:
        """The numbers of planned changes. `planned`: {name: action}."""
        numbers: dict[str, int] = {}
        outputs = 0
        for name, action in sorted(planned.items(), key=lambda item: words_for(item[1]).risk):
            if name.startswith(OUTPUT):
                outputs += 1
            else:
                numbers[verb_of(action)] = numbers.get(verb_of(action), 0) + 1
        return cls(numbers, outputs)

    @property
    def text(self) -> str:
        """The numbers in words: `2 replacements, 7 updates, 1 output`."""
        parts = [f"{n} {words_for(verb).noun[n != 1]}" for verb, n in self.by_verb.items()]
        return ", ".join([*parts, *([self._outputs] if self.outputs else [])])

    @property
    def _outputs(self) -> str:
        return f"{self.outputs} output{'s' if self.outputs != 1 else ''}"

    def share(self, total: ChangeCount, of: str = "", only: str = "") -> str:
        """The numbers as a share of `total`: `9 of 11 changes: 2 replacements, 7 updates; and 1 output`. `of`: text
        after the total number, such as ` in module.a`. `only`: the single change in words."""
        if not self.objects:
            return only or self._outputs
        nouns = ", ".join(f"{n} {words_for(verb).noun[n != 1]}" for verb, n in self.by_verb.items())
        also = f"; and {self._outputs}" if self.outputs else ""
        if self.objects != total.objects:
            part = f"{self.objects} of {total.objects} changes"
        else:
            part = f"all {self.objects} changes" if self.objects > 1 else "the only change"
        return f"{part}{of}: {only or f'{nouns}{also}'}"


def summary_json(groups: Sequence[RootCause], planned: Mapping[str, str]) -> dict[str, Any]:
    """The summary as JSON. `changes` is the number of changed objects and outputs together, `objects` and `outputs` are
    the separate numbers. `causes` is a list; each element has `root`, `certain`, and `changes` as a list."""
    total = ChangeCount.of(planned)
    return {
        "format_version": "1.0",
        "changes": len(planned),
        "objects": total.objects,
        "outputs": total.outputs,
        "causes": [
            {
                "root": group.root.json,
                "certain": group.is_certain,
                "changes": [{"address": name, "action": verb_of(action)} for name, action in group.changes],
            }
            for group in groups
        ],
    }
