"""Facts about the sources of planned values, place by place (see planner.answers.explain.trace)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.answers.explain.changed_inputs import covers
from planner.answers.explain.mention_trace import MentionTrace, element_texts
from planner.answers.explain.origins import (
    ANY,
    differing,
    gained_and_lost,
    part_at,
    select,
)
from planner.answers.explain.places import ValueLocation, open_parts
from planner.answers.explain.repetition import RepetitionLocation
from planner.engine.evaluation.context import ModuleInstance
from planner.foundation.values.convert import path_text
from planner.foundation.values.expression_text import short_text, short_texts, text_differences
from planner.foundation.values.operations import same_value
from planner.foundation.values.paths import parts
from planner.foundation.values.value import Null, Set, Unknown, Value, is_wholly_known, unmark, unmark_deep
from planner.foundation.vocabulary.address import InstanceKey, join, key_order
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.foundation.vocabulary.span import Span
from planner.language.config.references import Ref, parse_reference
from planner.language.syntax.body import variables
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.facts.from_config import configuration_address
from planner.logic.facts.from_state import declaration
from planner.logic.model.graph import StateEntry
from planner.logic.model.plan import ResourceChange
from planner.logic.programs.actions import NO_OP, does

_NAMING = ("filename", "path", "name", "id")
"""attributes by which people recognise objects, the best first"""


class ValueTrace(MentionTrace):
    """Collects facts about values. `value` sets the subject of a question: a value that is to be explained. `build`
    returns all facts that the answer may need."""

    def build(self) -> FactBase:
        while self._waiting:
            self._visit(self._waiting.pop())
        return self._facts.build()

    def change(self, change: ResourceChange) -> None:
        """Add the facts of the decision about an object, and make the object a subject."""
        raise NotImplementedError

    # ---------------------------------------------------------------- values

    def value(self, place: ValueLocation) -> list[tuple[ValueLocation, Value]]:
        """Make the value at a place a subject. Returns (place, value) for each place to which `place` leads."""
        results: list[tuple[ValueLocation, Value]] = []
        there = self.places.found(place)
        nothing = place.fresh or self._goes(place)
        for at, value in there if there or not nothing else [(self.places.named(place), None)]:
            owner = self.places.owner(at)
            if owner is not None:
                results += self.value(owner)
                continue
            results.append((at, value))
            if at not in self._seen:
                self._seen[at] = None
                self._waiting.append(at)
        for gone in self._gone(place):
            results += self.value(gone)
        return results

    def mentioned(self, place: ValueLocation) -> None:
        """Add facts about everything to which the expression of a known value refers, whether it changed or not."""
        for at, value in self.places.found(place):
            if value is not None and is_wholly_known(value):
                self._mentions(at, unknown=False, after=value)

    def _gone(self, place: ValueLocation) -> list[ValueLocation]:
        """For a place in all instances of a resource or module, the corresponding places in its removed instances;
        empty for any other place."""
        keys: set[InstanceKey] = set()
        if place.path[:1] == (ANY,) and place.kind == "resources":
            changes = self._resources.get(join(str(place.module.address.config), place.name), ())
            keys = {c.key for c in changes if c.module == place.module.text and c.after.__class__ is Null}
        elif place.path[:1] == (ANY,) and place.kind == "call":
            known = self._known.calls.get((place.module.text, place.name), set())
            keys = known - place.module.calls.get(place.name, {}).keys()
        return [place.at((("index", key), *place.path[1:])) for key in sorted(keys - {None}, key=key_order)]

    def _goes(self, place: ValueLocation) -> bool:
        """Whether a place is in an instance that the plan destroys."""
        if place.kind == "resources" and place.path and place.path[0] != ANY:
            place = ValueLocation(place.module, "resource", place.name, place.path[0][1])
        change = self.changes.get(place.root_text) if place.kind == "resource" else None
        return change is not None and change.after.__class__ is Null

    def _visit(self, place: ValueLocation) -> None:
        there = self.places.found(place)
        for _, value in there if there or not (place.fresh or self._goes(place)) else [(place, None)]:
            if value is None or is_wholly_known(value):
                self._changed(place, value)
                continue
            self._facts.add("unknown_value", str(place), source=self._source(place))
            plain = unmark(value)[0]
            if plain.__class__ is Unknown or plain.__class__ is Set:
                self._unknown(place)
                continue
            change = self.changes.get(place.root_text) if place.kind == "resource" and place.path else None
            before = part_at(change.before, place.path) if change is not None else None
            if before is not None and any(part_at(before, path) is None for path in open_parts(value)):
                self._state_differs(place, before)  # an unknown part is new, so the value differs as a whole
            for path in open_parts(value):
                for inner, _ in self.value(place.at((*place.path, *path))):
                    self._part(place, inner)
            self._altered_parts(place, value)

    def _altered_parts(self, place: ValueLocation, value: Value) -> None:
        """Add facts about known differences in an argument of an object that is changed or replaced, or in an
        output."""
        change = self.changes.get(place.root_text) if place.kind == "resource" and place.path else None
        before = part_at(change.before, place.path) if change is not None else None
        if place.kind == "output" and place.module.parent is None and self._is_recorded(place):
            before = part_at(self._outputs[place.root_text].before, place.path)
        for path, fresh in differing(before, value) if before is not None else ():
            inner = place.at((*place.path, *path), fresh)
            if fresh or all(is_wholly_known(part) for _, part in self.places.found(inner)):
                for at, _ in self.value(inner):
                    self._part(place, at)

    def _part(self, place: ValueLocation, inner: ValueLocation) -> None:
        if inner != place:
            self._facts.add("value_part", str(place), str(inner), source=self._source(inner))

    # ---------------------------------------------------------------- what is not known

    def _unknown(self, place: ValueLocation) -> None:
        text = str(place)
        if place.kind == "var" and place.module.parent is None:
            self._root_variable(place)
            return
        if place.kind in ("resource", "resources"):
            decl = place.module.config.resources[place.name]
            if decl.mode == "ephemeral":
                self._facts.add("opened_later", text, place.root_text, source=decl.span)
                return
            if place.root_text not in self.changes:
                self._facts.add("left_out", text, join(place.module.text, place.name), source=decl.span)
                return
        mentions_some = self._mentions(place, unknown=True)
        if mentions_some and (place.kind == "resource" or place.root_text in self._outputs):
            self._check(place)
        if self.former is None and place.kind == "resource" and mentions_some and self._is_made_before(place):
            self._facts.add("uncompared", text, source=self._source(place))  # the reference itself may be new
        if mentions_some and place.kind == "resource" and place.path:
            change = self.changes[place.root_text]
            self._state_differs(place, part_at(change.before, place.path))
            if self._has_drifted(place):
                self._drifted(place, change)
        if place.kind == "resource":
            change = self.changes[place.root_text]
            self._facts.add("object_value", text, change.address, source=declaration(self.config, change))
            self._attribute_of(place, change)
            if not mentions_some:  # if the expression mentions an unknown value, the provider is not a cause
                self.change(change)
                self._provider(place, change)

    def _is_made_before(self, place: ValueLocation) -> bool:
        change = self.changes.get(place.root_text)
        return change is not None and change.before.__class__ is not Null

    def _attribute_of(self, place: ValueLocation, change: ResourceChange) -> None:
        if place.path:
            attribute = str(place.path[0][1])
            self._facts.add("attribute_of", str(place), change.address, attribute, source=self._source(place))

    def _provider(self, place: ValueLocation, change: ResourceChange) -> None:
        """If the configuration of the instance's provider refers to unknown values, add facts about these
        references."""
        used = parse_provider_configuration(change.provider)
        module: ModuleInstance | None = place.module
        while module is not None and module.config.path != used.module:
            module = module.parent
        block = module.config.provider_block(used.source, used.alias) if module is not None else None
        if module is None or block is None:
            return
        configuration = ValueLocation(module, "provider", configuration_address("", used.source, used.alias))
        for node in variables(block.body):
            ref = parse_reference(node)
            target = self.places.of_reference(ref, module, None) if isinstance(ref, Ref) else None
            for meant, value in self.value(target) if target is not None else ():
                if not is_wholly_known(value):
                    span = Span(block.span.source, node.start, node.end)
                    self._facts.add("configured_by", change.address, str(configuration), source=block.span)
                    self._facts.add("unknown_value", str(configuration), source=block.span)
                    self._facts.add("refers_value", str(configuration), str(meant), source=span)

    # ---------------------------------------------------------------- what changes

    def _changed(self, place: ValueLocation, value: Value) -> None:
        text = str(place)
        if place.kind == "var" and place.module.parent is None:
            self._root_variable(place)
        elif place.kind == "resource":
            self._changed_object(place, value)
        elif place.kind == "output" and place.module.parent is None and self._is_recorded(place):
            output = self._outputs[place.root_text]
            self._altered(place, part_at(output.before, place.path), value, output.sensitive)
        elif place.kind == "resources":
            for change in self._resources.get(join(str(place.module.address.config), place.name), ()):
                if change.module == place.module.text and change.action != "no-op":
                    for inner, _ in self.value(
                        ValueLocation(place.module, "resource", place.name, change.key, place.path)
                    ):
                        self._part(place, inner)
                    if change.after.__class__ is Null:
                        self._facts.add("appears", text, change.address, source=declaration(self.config, change))
                        self.change(change)
        elif place.kind == "call" and self._other_instances(place):
            pass
        elif place.kind == "call":
            self._instances_that_change(place)
            for path, _ in select(value, place.path[len(place.path) :]):
                for step, _ in parts(unmark(value)[0]):
                    for inner, _ in self.value(place.at((*place.path, *path, step))):
                        self._part(place, inner)
        else:
            self._facts.add("named_value", text, source=self._source(place))
            self._compare(place, value, self._source(place))
            self._mentions(place, unknown=False, before=self._was.get(text), after=value)

    def _instances_that_change(self, place: ValueLocation) -> None:
        """Add facts about the instances of a module that exist only before or only after the plan."""
        if place.path and place.path[0] != ANY:
            return
        now = place.module.calls.get(place.name, {})
        before = self._known.calls.get((place.module.text, place.name), set())
        for key in sorted(before ^ now.keys(), key=key_order):
            inner = place.at((("index", key), *place.path[1:]))
            if key is not None and self._other_instances(inner):
                self._part(place, inner)

    def _other_instances(self, place: ValueLocation) -> bool:
        """Whether a place is in a module instance that exists only before or only after the plan. Then the value at the
        place changes with the module's repetition, and facts about this change are added."""
        key = place.path[0][1] if place.path and place.path[0] != ANY else None
        now = place.module.calls.get(place.name, {})
        before = self._known.calls.get((place.module.text, place.name), set())
        if key is None or (key in now) == (key in before):
            return False
        block = ValueLocation(place.module, "each_call", place.name)
        at = self._repeats(RepetitionLocation(block, key, before, now), goes=key not in now)
        if at is None:
            return False
        self._facts.add("named_value", str(place), source=self._source(at))
        self._facts.add("refers_value", str(place), str(at), source=self._source(at))
        return True

    def _changed_object(self, place: ValueLocation, value: Value) -> None:
        change = self.changes.get(place.root_text)
        text = str(place)
        if place.module.config.resources[place.name].mode == "data" and (change is None or change.action == "no-op"):
            self._read_value(place, value)
            return
        if change is None:
            return
        source = self._source(place)
        if self._has_drifted(place) and (change.action == NO_OP or _stays(part_at(change.before, place.path), value)):
            self._drifted(place, change)
            return
        if change.action == NO_OP:
            return
        if change.before.__class__ is Null or change.after.__class__ is Null:
            self._facts.add("appears", text, change.address, source=source)
            self._attribute_of(place, change)
            self.change(change)
            return
        before = part_at(change.before, place.path)
        if before is not None and same_value(unmark_deep(before)[0], unmark_deep(value)[0]):
            self._facts.add("value_stays", text, change.address, source=source)
            self.change(change)
            return
        if not place.path:
            for step, _ in parts(unmark(value)[0]):
                inner = place.at((step,))
                old, new = part_at(change.before, inner.path), part_at(value, inner.path)
                if old is None or new is None or not same_value(unmark_deep(old)[0], unmark_deep(new)[0]):
                    for at, _ in self.value(inner):
                        self._part(place, at)
            return
        if self._altered(place, before, value) and self._has_drifted(place):
            self._drifted(place, change)

    def real_name(self, address: str) -> str:
        """The attribute by which people recognise an object that was changed or deleted outside planner, with its value
        before the change; "" if there is no such attribute, or if it is sensitive."""
        drift, place = self._drift.get(address), self.places.read(address)
        for name in _NAMING if drift is not None and place is not None else ():
            value = part_at(drift.before, (("attr", name),)) if drift is not None else None
            inside = place.at((("attr", name),)) if place is not None else None
            if value.__class__ is str and inside is not None and not self.places.is_sensitive(inside):
                return f"{name} {short_text(value)}"
        return ""

    def differing_lines(self, name: str, roots: Sequence[str]) -> list[dict[str, Any]]:
        """The differing lines of a string, or the differing parts of a JSON string, each with `what` (the given name),
        `before` and `value`. [] for other values and for sensitive values. If undoing each of the root causes `roots`
        separately shows the causes of all lines, each line also has `roots`, its own causes."""
        place = self._places().get(name)
        change = self.changes.get(place.root_text) if place is not None else None
        if place is None or change is None or self.places.is_sensitive(place):
            return []
        before, now = part_at(change.before, place.path), part_at(change.after, place.path)
        lines = text_differences(before, now)
        of_line: dict[str, list[str]] = {value: [] for _, value in lines}
        known, units = self._trials(), [self.unit(root) for root in roots]
        for root, unit in zip(roots, units, strict=True):
            was = unmark(known.value_without(place, unit))[0] if known is not None and unit is not None else None
            taken_back = {value for _, value in text_differences(was, now)}
            if was.__class__ is not str or not taken_back or not taken_back <= of_line.keys():
                of_line = {}  # without this root, different lines would differ
            for value in taken_back & of_line.keys():
                of_line[value].append(root)
        is_known = bool(of_line) and all(of_line.values())
        return [
            {"what": name, "before": before, "value": value, **({"roots": of_line[value]} if is_known else {})}
            for before, value in lines
        ]

    def _drifted(self, place: ValueLocation, change: ResourceChange) -> None:
        """Add facts about the change outside planner of the value at a place."""
        text, source = str(place), StateEntry(change.address)
        self._facts.add("drifted_value", text, change.address, source=source)
        drift, hidden = self._drift[place.root_text], self.places.is_sensitive(place)
        values = (part_at(value, place.path) for value in (drift.before, drift.after))
        shown = [short_text(value, hidden) if value is not None else "nothing" for value in values]
        self._facts.add("drifted_from", text, *shown, source=source)

    def _has_drifted(self, place: ValueLocation) -> bool:
        """Whether the value at this place in an existing object was changed outside planner."""
        drift = self._drift.get(place.root_text)
        if drift is None or drift.after.__class__ is Null or not place.path:
            return False
        old, new = part_at(drift.before, place.path), part_at(drift.after, place.path)
        if old is None or new is None:
            return old is not new
        return not same_value(unmark_deep(old)[0], unmark_deep(new)[0])

    def _read_value(self, place: ValueLocation, value: Value) -> None:
        """Add facts about a value of a data source that was read while planning. Arguments come from the configuration.
        All other values were read with these arguments."""
        text, source = str(place), self._source(place)
        if place.path and self.places.given(place) is not None:
            self._facts.add("named_value", text, source=source)
            self._compare(place, value, source)
            self._mentions(place, unknown=False, after=value)
            return
        shown = short_text(value, self.places.is_sensitive(place)) if value is not None else "nothing"
        self._facts.add("read_value", text, shown, source=source)
        self._compare(place, value, source)
        whole = self.places.value(place.whole)
        for step, _ in parts(unmark(whole)[0]) if whole is not None else ():
            argument = place.at((step,))
            if self.places.given(argument) is not None:
                for at, _ in self.value(argument):
                    self._facts.add("refers_value", text, str(at), source=self._source(at))

    def _is_recorded(self, place: ValueLocation) -> bool:
        """Whether the state contains a value of a root output and the plan changes this value."""
        output = self._outputs.get(place.root_text)
        return output is not None and output.before.__class__ is not Null and does(output.action, "makes")

    def _altered(self, place: ValueLocation, before: Value, value: Value, secret: bool = False) -> bool:
        """Add facts about a place whose value changed. Returns whether these facts are about the whole value at the
        place."""
        text, source = str(place), self._source(place)
        inside = differing(before, value) if before is not None and value is not None and not place.fresh else []
        if inside and inside != [((), False)]:
            of_parts = []
            for path, fresh in inside:
                for at, _ in self.value(place.at((*place.path, *path), fresh)):
                    self._part(place, at)
                    of_parts.append(at)
            if any(step[1].__class__ is int for path, _ in inside for step in path):
                self._add_inputs_of_lists(place, of_parts)
            return False
        hidden = secret or self.places.is_sensitive(place)
        texts = short_texts(before, value, hidden)
        self._facts.add("planned_change", text, *texts, source=source)
        moved = gained_and_lost(before, value) if before is not None and value is not None and not hidden else None
        elements = element_texts(moved) if moved is not None and any(moved) else None
        if elements is not None:
            self.elements[text] = elements
        self._facts.add("altered", text, f"{text} changes from {texts[0]} to {texts[1]}", source=source)
        self._state_differs(place, before)
        self._mentions(place, unknown=False, before=before, after=value)
        self._check(place)
        return True

    def _add_inputs_of_lists(self, place: ValueLocation, of_parts: Sequence[ValueLocation]) -> None:
        """Assign the inputs that matter to the whole value, but to none of its changed parts, to the first changed
        part. An input can add or remove elements of a list although, for each index separately, the element would be
        the same without this input."""
        whole = self._inputs(place)
        known = [one for part in of_parts for one in self._inputs(part) or ()]
        rest = frozenset(one for one in whole or () if not any(covers(one, other) for other in known))
        if rest and of_parts:
            self._list_inputs[of_parts[0]] = rest

    def _state_differs(self, place: ValueLocation, before: Value) -> None:
        """If the former configuration does not explain a value in the state, add facts about this."""
        text, source = str(place), self._source(place)
        if self.former is not None and self.former.ignores(place):
            self._facts.add("ignored_before", text, source=source)
        status = self.former.is_applied(place, self._state_value(place, before)) if self.former is not None else "same"
        if self.former is None or status == "same":
            return
        change = self.changes.get(place.root_text)
        entry = self.former.entry(change.previous_address or change.address) if change is not None else "unknown"
        if status == "unknown":
            if entry == "other" or not self.former.has_entries:
                known = "edited_entry" if entry == "other" else "unchecked_entry"
                self._facts.add(known, text, source=StateEntry(place.root_text))
            return
        self._facts.add("unapplied", text, source=source)
        if entry != "unknown":
            known = "edited_value" if entry == "other" else "left_by_apply"
            self._facts.add(known, text, source=StateEntry(place.root_text))

    def _state_value(self, place: ValueLocation, before: Value) -> Value:
        """For a place in an object, the value before the refresh; None if it is unknown. For any other place, and
        without a former configuration, the result is `before`."""
        if place.kind != "resource" or self.former is None:
            return before
        was, is_known = self.former.value(place)
        return was if is_known else None

    def _root_variable(self, place: ValueLocation) -> None:
        value = next((v for _, v in self.places.found(place)), None)
        hidden = place.module.config.variables[place.name].sensitive or self.places.is_sensitive(place)
        source, origin = self._variable_source(place)
        text = short_text(value, hidden) if value is not None else "nothing"
        self._facts.add("root_variable", str(place), text, origin, source=source)
        self._compare(place, value, source)

    def _repeats(self, at: RepetitionLocation, goes: bool) -> ValueLocation | None:
        """The place of the repetition that determines whether an instance exists. Facts about the former value of the
        repetition are added. None if the result of the repetition is unchanged, or if it is unknown whether the block
        existed. `goes`: whether the instance is destroyed."""
        place, of = at.place, at.place.repeated
        if at.argument == "for_each":
            place = place.at((("index", at.key),), True)
        if place in self._seen:
            return place
        if not self._repeats_otherwise(at):
            return None
        value = self.places.value(place.whole)
        before: Value = None
        if at.argument == "count":
            before, (now, had) = len(at.before), at.counted()
            said = f"{of} has {now} now and had {had}"
            if None not in {*at.before, *at.now}:  # otherwise the block had no count
                self._facts.add("planned_change", str(place), had, str(len(at.now)), source=self._source(place))
        elif at.argument == "enabled":
            before, said = goes, f"enabled of {of} is {'false' if goes else 'true'} now, but was not before"
        elif at.key is None:
            said = f"{of} has a for_each now, but had none before"
        else:
            key = path_text((("index", at.key),))
            said = f"{of}{key} was removed" if goes else f"{of}{key} is new"
        self._new_instance(place, said, before, value if before is not None else None)
        return place

    def _new_instance(self, place: ValueLocation, said: str, before: Value = None, value: Value = None) -> None:
        """Add facts about a repetition that creates or destroys an instance, with a sentence about its change.
        `before`, `value`: the former and the current value of the argument; None if unknown."""
        self._seen[place] = None
        self._facts.add("altered", str(place), said, source=self._source(place))
        self._check(place)
        self._mentions(place, unknown=False, before=before, after=value)


# ---------------------------------------------------------------- helpers


def _stays(before: Value, value: Value) -> bool:
    if before is None or value is None:
        return before is value
    return same_value(unmark_deep(before)[0], unmark_deep(value)[0])
