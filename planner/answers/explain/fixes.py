"""Finds fixes that avoid an unknown value, a denial or a change. A fix is a smallest set of places to edit.

For unknown values and denials, the sets are found by repeated derivation (planner.logic.graph.fixes). For a change,
each set consists of root causes (rules/plan/because.dl): all certain causes together, or one of the candidates. Each
set is checked by planning again without its causes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from planner.answers.explain.causes import Because
from planner.answers.explain.causes import CauseStep as Root
from planner.answers.explain.changed_inputs import ENTRY
from planner.answers.explain.verdicts import Culprits
from planner.answers.explain.why import Explainer
from planner.answers.policy.model import Finding
from planner.answers.policy.planned_values import ValueRows
from planner.answers.policy.two_valued import Culprit, PlainProofs
from planner.foundation.values.expression_text import literal
from planner.foundation.vocabulary.address import quote, valid_identifier
from planner.foundation.vocabulary.records import evolve, frozen
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.explain.search import Proof, Prover
from planner.logic.datalog.language.values import Row, decode
from planner.logic.graph.fixes import Fixes, FixLocation, order, place_of, proofs_for, smallest_sets
from planner.logic.model.graph import source_json
from planner.logic.model.plan import change_name
from planner.logic.programs.actions import words_for
from planner.logic.programs.rule_programs import product_program

# ---------------------------------------------------------------- unknown values


def unknown_fixes(explainer: Explainer, text: str) -> Fixes:
    """Fixes after which a value is known while planning. They remove references, or apply objects first. Raises Failure
    if the value is already known or does not exist."""
    base, goals = explainer.unknown_facts(text)
    search = _Unknown(base, goals[0])
    stuck = "It does not depend on a reference or on an object that can be applied first."
    return Fixes.of(smallest_sets(search.proof_without, order, most_proofs=proofs_for(len(base))), stuck)


class _Unknown:
    """Determines whether a value is still unknown after some places are edited. It is unknown as long as one of its
    causes remains."""

    def __init__(self, base: FactBase, goal: str) -> None:
        self.base, self.goal = base, goal
        self.supports: dict[str, dict[tuple[str, Row], FixLocation | None]] = {}
        for value, whence in sorted(base.relation("refers_value")):
            self._add(
                value,
                "refers_value",
                (value, whence),
                place_of(base.source("refers_value", (value, whence)), _owner(value)),
            )
        for value, part in sorted(base.relation("value_part")):
            self._add(value, "value_part", (value, part), None)
        for name in ("impure", "left_out", "opened_later", "root_variable", "configured_by"):
            for row in sorted(base.relation(name)):
                self._add(
                    str(row[0]),
                    name,
                    row,
                    place_of(base.source(name, row), _owner(row[0])) if name == "impure" else None,
                )
        for value, instance in sorted(base.relation("object_value")):
            if not self.supports.get(value):
                text = f"{instance}: apply it first (planner apply '-target={instance}')"
                self._add(value, "object_value", (value, instance), FixLocation("first", instance, text))

    def _add(self, value: str, predicate: str, row: Row, place: FixLocation | None) -> None:
        self.supports.setdefault(value, {})[predicate, row] = place

    def proof_without(self, removed: frozenset[FixLocation]) -> Collection[FixLocation] | None:
        gone: dict[str, set[Row]] = {}
        for held in self.supports.values():
            for (predicate, row), place in held.items():
                if place in removed:
                    gone.setdefault(predicate, set()).add(row)
        unknown = {row[0] for row in self.base.relation("unknown_value")}
        while True:
            known = {value for value in unknown if self._is_known(value, unknown, gone)}
            if not known:
                break
            unknown -= known
        gone["unknown_value"] = {row for row in self.base.relation("unknown_value") if row[0] not in unknown}
        program = product_program("causes")
        database = evaluate(program, self.base.without(gone))
        if (self.goal,) not in database["unknown"]:
            return None
        proof = Prover(program, database).why("unknown", (self.goal,))
        return set(self._places(proof)) if proof is not None else None

    def _is_known(self, value: str, unknown: set[Any], gone: Mapping[str, set[Row]]) -> bool:
        """Whether all causes because of which a value was unknown are removed."""
        held = self.supports.get(value, {})
        was = [
            (p, row)
            for p, row in held
            if p not in ("refers_value", "value_part") or (row[1],) in self._unknown_at_first
        ]
        left = [
            (p, row)
            for p, row in was
            if row not in gone.get(p, ()) and (p not in ("refers_value", "value_part") or row[1] in unknown)
        ]
        return bool(was) and not left

    @property
    def _unknown_at_first(self) -> Collection[Row]:
        return self.base.relation("unknown_value")

    def _places(self, proof: Proof) -> Iterator[FixLocation]:
        waiting = [proof]
        while waiting:
            at = waiting.pop()
            if at.predicate == "explained":  # another command explains the cause of the action
                continue
            if at.rule is None and at.row:
                place = self.supports.get(str(at.row[0]), {}).get((at.predicate, at.row))
                if place is not None:
                    yield place
            waiting += [entry for entry in at.body if isinstance(entry, Proof)]


_OWNER = re.compile(r"(?:module\.[^.\[]+(?:\[[^\]]*\])?\.)*(?:data\.)?[^.\[]+\.[^.\[]+")


def _owner(value: Any) -> str:
    """The object that contains a value: `terraform_data.web` for `terraform_data.web[0].input.size`."""
    told = _OWNER.match(str(value))
    return told[0] if told else str(value)


# ---------------------------------------------------------------- denials


def denial_fixes(finding: Finding, plain: PlainProofs, explainer: Explainer) -> Fixes:
    """Fixes that avoid a finding of a policy. They change values, or set values that are missing."""
    search = _Denial(finding, plain, Culprits(plain, explainer))
    stuck = "It does not depend on a value of the plan."
    smallest = smallest_sets(search.proof_without, order, most_proofs=proofs_for(len(plain.facts)))
    fixes = Fixes.of(evolve(smallest, sets=tuple(map(search.with_former_values, smallest.sets))), stuck)
    actions = dict.fromkeys(place.key for places in smallest.sets for place in places if place.kind == "action")
    commands = ", ".join(f"planner why -fix {shlex.quote(address)}" for address in actions)
    further = f"The policy checks the action itself. For the edits that avoid it, run: {commands}" if actions else ""
    return evolve(fixes, limit=" ".join(filter(None, (fixes.limit, further))))


class _Denial:
    """Determines whether a policy still derives a finding with the same code and address (and any message) after some
    places are edited. Values that are edited count as absent. A value whose absence was a cause counts as present, with
    an arbitrary content."""

    def __init__(self, finding: Finding, plain: PlainProofs, culprits: Culprits) -> None:
        self.finding, self.plain, self.culprits = finding, plain, culprits
        self.predicate = "warn" if finding.origin == "warn" else "deny"
        self.of_place: dict[FixLocation, set[Culprit]] = {}

    def proof_without(self, removed: frozenset[FixLocation]) -> Collection[FixLocation] | None:
        changed = [culprit for place in removed for culprit in self.of_place[place]]
        proved = self.plain.proof_of(self.predicate, self.finding.code, self.finding.address, changed)
        if proved is None:
            return None
        places = set()
        culprits = [culprit for culprit in self.plain.culprits(*proved) if not culprit.is_prior]
        for culprit in [culprit for culprit in culprits if not culprit.is_action] or culprits:
            if culprit not in changed:
                place = self._place(culprit)
                self.of_place.setdefault(place, set()).add(culprit)
                places.add(place)
        return places

    def _place(self, culprit: Culprit) -> FixLocation:
        told = self.culprits.told(culprit)
        if culprit.is_action:
            (noun, _), address = words_for(culprit.value).noun, culprit.address
            text = f"avoid the {noun} of {address}"
            return FixLocation("action", address, text)
        steps = told.get("from") or []
        last = steps[-1] if steps else told
        source = last.get("source") or told.get("source")
        if culprit.is_missing:
            return FixLocation("missing", culprit.what, f"give {culprit.what} a value", source)
        name = last["what"]
        what = f"{name}, which {culprit.what} copies" if name != culprit.what else name
        return FixLocation("variable" if name.startswith("var.") else "value", name, f"another value of {what}", source)

    def with_former_values(self, places: tuple[FixLocation, ...]) -> tuple[FixLocation, ...]:
        """The places. If the values in the state would avoid the finding, they are added as the values to set."""
        culprits = {place: sorted(self.of_place[place], key=lambda c: c.what) for place in places}
        changed = [culprit for place in places for culprit in culprits[place]]
        if any(c.is_missing or c.is_action or c.is_secret for c in changed):
            return places
        former = {c: self._former(c.address).get((c.address, c.path)) for c in changed}
        if None in former.values() or any(len({former[c] for c in copies}) > 1 for copies in culprits.values()):
            return places
        rows = [(c.address, c.path, value) for c, value in former.items()]
        if self.plain.proof_of(self.predicate, self.finding.code, self.finding.address, changed, rows) is not None:
            return places
        return tuple(self._set_to(place, culprits[place], former[culprits[place][0]]) for place in places)

    def _set_to(self, place: FixLocation, copies: list[Culprit], value: Any) -> FixLocation:
        what = self.culprits.explainer.find(copies[0].address)
        known = dict(self.culprits.explainer.what_was(what)["former_value"])
        plain = decode(value)
        text = quote(plain) if isinstance(plain, str) else str(plain).lower()
        back = " back" if place.kind == "value" or literal(known.get(place.key, "")) == text else ""
        owners = [c.what for c in copies if c.what != place.key]
        copied = f" ({', '.join(owners)} cop{'y' if len(owners) > 1 else 'ies'} it)" if owners else ""
        return evolve(place, text=f"set {place.key}{back} to {text}{copied}")

    def _former(self, address: str) -> dict[tuple[str, str], Any]:
        """{(address, path): value} of an object in the state, as policies read it, without sensitive values."""
        rows = ValueRows(structure=False)
        for change in self.culprits.explainer.plan.changes:
            if change_name(change) == address:
                rows.add_object(address, change.before)
        return {row[:2]: row[2] for row in rows.values if row[:2] not in rows.hidden}


# ---------------------------------------------------------------- changes


@frozen
class Cause:
    """A root cause as a place to edit. `before`: the former value as an expression, or None if it is not known. For an
    option on the command line, `before` is True, because the option was not set before."""

    root: Root
    place: FixLocation
    before: str | bool | None = None


def causes_of(because: Because, relations: Mapping[str, Collection[Any]]) -> list[tuple[Cause, ...]]:
    """Sets of causes whose removal avoids the change. If the causes are certain, there is one set with all of them. If
    they include options and other causes, a set with only the options comes before it. If the causes are only
    candidates, each of them is a set of its own."""
    known = [*sorted(relations["planned_change"], reverse=True), *sorted(relations["former_value"], reverse=True)]
    before = {str(row[0]): str(row[1]) for row in known}
    causes = sorted((_cause(root, before) for root in because.roots), key=lambda cause: order(cause.place))
    unique = list({cause.place: cause for cause in causes}.values())
    if because.is_guess:
        return [(cause,) for cause in unique]
    options = tuple(cause for cause in unique if cause.place.kind == "option")
    return [options, tuple(unique)] if 0 < len(options) < len(unique) else [tuple(unique)]


_INSTRUCTIONS = {
    "file": "undo the edit of {what}",
    "drift": "undo the change that was made to {what} outside planner, or ignore it (-refresh=false)",
    "read": "undo the change of the file or object that {what} reads",
    "function": "replace the function whose result differs from call to call in {what}",
    "ephemeral": "do not use {what}, which is opened only during apply",
    "left-out": "plan without the -target or -exclude that leaves out {what}",
    "unignored": "add {what} to ignore_changes again",
    "no-call": "call {what} again",
    "new-call": "remove the call of {what}",
    "gone": "import {what} if it exists: planner import",
    "left-state": "import {what} if it exists: planner import",
    "not-in-state": "import {what} if it exists: planner import",
    "replace_by_request": "plan without -replace={what}",
    "replace_because_tainted": "untaint it: planner untaint '{what}'",
    "delete_because_no_resource_config": "declare {what} again",
    "delete_because_no_module": "call the module of {what} again",
    "create": "remove {what} from the configuration",
    "everything": "plan without -destroy",
}
"""{kind of a root cause: instruction to remove it}"""
_LAST_KEY = re.compile(r'(.+?)(?:\.([\w-]+)|\[("(?:[^"\\]|\\.)*"|[0-9]+)\])')


def _cause(root: Root, before: Mapping[str, str]) -> Cause:
    source = source_json(root.source) if root.source is not None else None
    what = root.what.removeprefix("the text of ").removeprefix("file ")
    if root.kind == "variable":
        text = _set_back(what, root.before or before.get(what, ""), root.value)
        return Cause(root, FixLocation("variable", what, text, source), before.get(what))
    text = _INSTRUCTIONS.get(root.kind, "undo the change of {what}").format(what=what)
    if root.kind in ("replace_by_request", "everything"):
        return Cause(root, FixLocation("option", text.removeprefix("plan without "), text), True)
    if root.kind == "text":
        known = before.get(what, "")
        text = _set_back(what, known, root.value) if known else f"undo the edit of {what}"
        return Cause(root, FixLocation("text", root.what, text, source), known or None)
    if root.kind == ENTRY:
        return Cause(root, FixLocation(ENTRY, root.what, _set_entry_back(root), source))
    return Cause(root, FixLocation("file" if root.kind == "file" else "object", root.what, text, source))


_OF_LINE = re.compile(r"line \d+")


def _set_entry_back(root: Root) -> str:
    name, _, file = root.what.partition(" in ")
    if not root.before or root.has_elements or " in " in file or _OF_LINE.match(root.before):
        return f"undo the edit of {root.what}"
    if "nothing" in (root.before, root.value):
        return f"remove {name} from {file}" if root.before == "nothing" else f"add {name} to {file} again"
    return f"set {root.what} back to {literal(root.before)}"


def _set_back(what: str, before: str, value: str) -> str:
    """The instruction to restore a former value."""
    last = _LAST_KEY.fullmatch(what) if what.count(".") > 1 or what.endswith("]") else None
    if last is not None and "nothing" in (before, value):
        key, whole = last[2] or last[3], last[1]
        key = key[1:-1] if valid_identifier(key[1:-1]) else key
        return (
            f"remove {key} from {whole}" if before == "nothing" else f"add {key} = {literal(before)} to {whole} again"
        )
    if before in ("", "nothing"):
        return f"set {what} back to its former value"
    return f"set {what} back to {literal(before)}"
