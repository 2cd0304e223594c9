"""Facts about the sources of planned values and actions (rules/plan/values.dl and object.dl).

The collection begins at the subject of a question and follows the expressions of the configuration.
rules/plan/unknowns.dl and causes.dl decide which facts belong to an explanation. Sensitive values never become
facts."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from planner.answers.explain.changed_inputs import ChangedInput, covers
from planner.answers.explain.former_world import FormerWorld
from planner.answers.explain.origins import differing, part_at, path_step
from planner.answers.explain.places import ValueLocation, repetition
from planner.answers.explain.repetition import RepetitionLocation, repeated
from planner.answers.explain.value_trace import ValueTrace
from planner.engine.evaluation.context import ModuleInstance
from planner.engine.evaluation.scope import trigger_reference
from planner.engine.plan.decision_sources import decision_source, output_source
from planner.foundation.values.convert import path_text
from planner.foundation.values.expression_text import short_text, short_texts
from planner.foundation.values.json_codec import to_json
from planner.foundation.values.paths import parts
from planner.foundation.values.value import Null, is_wholly_known, type_of, unmark
from planner.foundation.vocabulary.address import InstanceKey, format_module, format_resource, join, parse_module
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.provider_address import DEFAULT_HOST, parse_provider_configuration
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Expr, ResourceDecl
from planner.logic.facts.from_state import declaration
from planner.logic.facts.managed import identity_text
from planner.logic.model.graph import StateEntry
from planner.logic.model.plan import OutputChange, ResourceChange, change_name
from planner.logic.programs.actions import NO_OP, does
from planner.world.state.taint_record import TaintOrigin


class Trace(ValueTrace):
    """Collects the facts for one question. `change`, `output` and `value` set the subject of the question: a change, an
    output or a value that is to be explained. `build` returns all facts that the answer may need."""

    taints: Mapping[str, TaintOrigin] = MappingProxyType({})
    """{address of an object: origin of its taint}"""
    locked: Mapping[str, tuple[str, Span]] = MappingProxyType({})
    """{source address: (current version, place)} of providers"""

    # ---------------------------------------------------------------- actions

    def change(self, change: ResourceChange) -> None:
        """Add the facts of the decision about an object, and make the object a subject."""
        name = change_name(change)
        if name in self._explained:
            return
        self._explained.add(name)
        for predicate, _, *columns in change.facts:
            source = decision_source(self.plan, self.config, change, predicate, columns)
            self._facts.add(predicate, name, *columns, source=source)
        self._provider_version(change, name)
        identity = change.before_identity
        if identity is not None and is_wholly_known(identity):
            text = identity_text(to_json(identity, type_of(identity)))
            self._facts.add("object_identity", name, text, source=StateEntry(name))
        if change.previous_address not in ("", change.address):
            self._facts.add("arrived_from", name, change.previous_address, source=StateEntry(change.previous_address))
        if name in self.taints:
            self._facts.add("tainted_by", name, self.taints[name].text, source=StateEntry(name))
        drift = self._drift.get(name)
        if drift is not None and drift.after.__class__ is Null and change.before.__class__ is Null:
            self._facts.add("removed_outside", name, source=declaration(self.config, change) or StateEntry(name))
        else:
            self._repetition(change, name)
        module = self.places.context.module(parse_module(change.module))
        key = format_resource("", change.mode, change.type, change.name)
        decl = module.config.resources.get(key) if module is not None else None
        if module is None or decl is None or change.deposed:
            self._call_gone(change, name)
            return
        is_created = does(change.action, "makes") and change.before.__class__ is Null
        is_made = is_created and name not in self._drift
        if self.former is not None and is_made:
            self._creation(self.former, ValueLocation(module, "resource", key, change.key), name)
        elif self.former is not None and is_created:
            self._besides(ValueLocation(module, "resource", key, change.key), name)
        elif is_made and self._has_applied():
            self._facts.add("uncompared_instance", name, source=decl.span)
        table = {row[2]: (("attr", row[2]),) for row in change.facts if row[0] in ("differs", "config_unknown")}
        table.update((path_text(path), path) for path in change.replace_paths)
        if change.before.__class__ is not Null or change.mode == "data":
            for text, path in sorted(table.items()):
                self._attribute(ValueLocation(module, "resource", key, change.key, path), name, text)
        # a new object has the configured values, even ignored ones
        kinds = {row[0] for row in change.facts}
        if "tainted" in kinds or ("ignored_difference" in kinds and does(change.action, "replaces")):
            self._other_arguments(change, ValueLocation(module, "resource", key, change.key))
        if change.action == NO_OP:
            self._ignored_values(change, name)
            self._arguments(change, name, ValueLocation(module, "resource", key, change.key))
        self._triggers(change, module, decl)
        self._pending(change, name, module, decl)

    def edits(self) -> Iterator[tuple[str, str, Any]]:
        """(name, kind, place) of each edited input (see `Interventions.edits`) that has no effect: it is a local value
        whose value is unchanged, or no checked value and no argument of a created object mentions it, directly or
        through other names. Empty if this cannot be determined."""
        known = self._trials()
        if known is None:
            return
        used = set(map(_with_real_path, known.mentioned))
        for name, change in self.changes.items():
            module = self.places.context.module(parse_module(change.module))
            if module is None or not does(change.action, "makes") or change.before.__class__ is not Null:
                continue
            key = format_resource("", change.mode, change.type, change.name)
            for at in self._argument_places(ValueLocation(module, "resource", key, change.key), name):
                units = known.inputs_of(at)
                if units is None:
                    return
                used.update(map(_with_real_path, units))
        for unit in known.edits():
            if not any(covers(_with_real_path(unit), one) for one in used) or self._has_same_value(unit):
                name, kind, source, _ = self.describe(unit)
                yield name, kind, source

    def _has_same_value(self, unit: ChangedInput) -> bool:
        """Whether an edited input is the expression of a local value whose value did not change."""
        modules = self.places.context.instances(unit.module) if unit.kind == "local" and self.former is not None else ()
        places = [ValueLocation(module, "local", unit.name) for module in modules]
        return bool(places) and all(
            self.former is not None and self.former.status(at, self.places.value(at)) == "same" for at in places
        )

    def _creation(self, former: FormerWorld, place: ValueLocation, name: str) -> None:
        """Add facts that explain the creation of an instance: its module call is new, or it was declared before and is
        missing in the state. In all other cases, add facts about two kinds of arguments: those that changed in addition
        to the instance's key, and those that differ from a destroyed object that may be this instance under its former
        name."""
        call = former.new_call(place.module)
        if call is not None:
            words = format_module((step, None) for step in call.path)
            self._facts.add("call_new", name, words, source=call.call.span if call.call is not None else None)
        elif (former.is_whole or self._has_applied() or self.plan.previous_state.outputs) and former.had(place):
            self._facts.add("lost_entry" if former.is_whole else "missing_entry", name, source=StateEntry(name))
            if name in former.destroyed:
                self._facts.add("left_uncreated", name, source=StateEntry(name))
            self._besides(place, name)
        elif (known := self._trials()) is not None and known.declared.are_all_new(place.module.config.path, place.name):
            for at in self._argument_places(place, name):
                if known.differs_besides(at):
                    self._facts.add("new_besides", name, str(at), source=self._source(at))
        elif (was := self._may_have_been(former, place, self.changes[name])) is not None:
            for at in self._argument_places(place, name):
                before, after = part_at(was.before, at.path), part_at(self.changes[name].after, at.path)
                if before is None or after is None or differing(before, after):
                    argument = str(at.path[0][1])
                    self._facts.add("differs_from_gone", name, argument, source=self._source(at))

    def _may_have_been(
        self, former: FormerWorld, place: ValueLocation, change: ResourceChange
    ) -> ResourceChange | None:
        """The planned destruction of an object that may be the former object of an instance of a new block. The object
        has the same type, key and module as the instance, and the object's block was removed, so the block may have
        been renamed. None if the instance's block is not new, or there is no such object."""
        if former.declaration(place.module, place.name) is not None:
            return None
        gone = (other for other in self.plan.changes if other.reason == "delete_because_no_resource_config")
        same = (other for other in gone if (other.type, other.module) == (change.type, change.module))
        return next((other for other in same if other.key == change.key), None)

    def _besides(self, place: ValueLocation, name: str) -> None:
        """Add facts about arguments that would change an instance if it still existed, and about arguments for which
        this cannot be determined."""
        for at in self._argument_places(place, name):
            inputs = self._inputs(at)
            if inputs:
                self._facts.add("differs_besides", name, str(at), source=self._source(at))
                self._check(at)
            elif inputs is None and self.checks_causes:
                self._facts.add("new_besides", name, str(at), source=self._source(at))

    def _argument_places(self, place: ValueLocation, name: str) -> Iterator[ValueLocation]:
        places = (place.at((step,)) for step, _ in parts(unmark(self.changes[name].after)[0]))
        return filter(self._is_configured, places)

    def _has_applied(self) -> bool:
        """Whether the state has managed objects."""
        state = self.plan.previous_state
        return any(resource.mode == "managed" and instance.current for resource, instance in state.instances())

    def _provider_version(self, change: ResourceChange, name: str) -> None:
        """If the version of the object's provider has changed since the last apply, add a fact about the change."""
        before = self.former.providers if self.former is not None and change.provider else {}
        source = parse_provider_configuration(change.provider).source if before else ""
        now = self.locked.get(source)
        if now is not None and before.get(source, now[0]) != now[0]:
            words = f"provider {source.removeprefix(f'{DEFAULT_HOST}/')}"
            self._facts.add("provider_changed", name, words, before[source], now[0], source=now[1])

    def _call_gone(self, change: ResourceChange, name: str) -> None:
        """If an instance is in a module that is no longer called, add a fact about the outermost module call around it
        that was removed."""
        config = self.config.root
        path = parse_module(change.module).path
        for number, step in enumerate(path, 1):
            inner = config.descendant((step,))
            if inner is None:
                call = ".".join(f"module.{called}" for called in path[:number])
                self._facts.add("call_gone", name, call, source=StateEntry(name))
                return
            config = inner

    def _repetition(self, change: ResourceChange, name: str) -> None:
        """For an instance that is created or destroyed because a repetition changed, add facts about the repetition and
        its former value."""
        comes, goes = change.before.__class__ is Null, change.after.__class__ is Null
        if change.deposed or comes == goes or self.plan.mode == "destroy":
            return
        at = repeated(change, self.places.context, self._known, self._former_keys)
        place = self._repeats(at, goes) if at is not None else None
        if place is not None:
            self._facts.add("repeats", name, str(place), place.repeated, source=self._source(place))
            if not goes and at is not None and at.place.kind == "each_call":
                self._inner_repetition(change, name, place)

    def _inner_repetition(self, change: ResourceChange, name: str, outer: ValueLocation) -> None:
        """Add facts about a resource's repetition in a new module instance, if the resource's key is new, too."""
        module = self.places.context.module(parse_module(change.module))
        key = format_resource("", change.mode, change.type, change.name)
        decl = module.config.resources.get(key) if module is not None else None
        if module is None or decl is None or repetition(decl)[1] is None or self.former is None:
            return
        inner = ValueLocation(module, "each", key, None, (("index", change.key),), True)
        beside = self._inputs(inner)
        if beside is not None and not beside <= (self._inputs(outer) or frozenset()):
            self._facts.add("repeats", name, str(inner), inner.repeated, source=self._source(inner))
            self._new_instance(inner, f"{inner.repeated}{path_text(inner.path)} is new")

    def _former_keys(self, at: RepetitionLocation) -> Collection[InstanceKey] | None:
        return self.former.instances(at) if self.former is not None else None

    def output(self, change: OutputChange) -> None:
        """Add the facts of the decision about a root output, and make the output a subject."""
        name = f"output.{change.name}"
        for predicate, _, *columns in change.facts:
            self._facts.add(predicate, name, *columns, source=output_source(self.config, change.name, predicate))
        if ("output_differs", name, "value") in change.facts and change.before.__class__ is not Null:
            place = ValueLocation(self.places.context.root, "output", change.name)
            self._facts.add("output_place", name, str(place), source=self._source(place))
            self.value(place)

    def drift(self, change: ResourceChange) -> None:
        """Add facts about an object that was changed or deleted outside planner; for an update, also about each part
        that differs."""
        for predicate, _, *columns in change.facts:
            source = decision_source(self.plan, self.config, change, predicate, columns)
            self._facts.add(predicate, change.address, *columns, source=source)
        if change.action != "update":
            return
        module = self.places.context.module(parse_module(change.module))
        key = format_resource("", change.mode, change.type, change.name)
        for path, _ in differing(change.before, change.after):
            at = ValueLocation(module, "resource", key, change.key, path) if module is not None else None
            name, hidden = path_text(path), at is None or self.places.is_sensitive(at)
            values = [part_at(value, path) for value in (change.before, change.after)]
            shown = [short_text(value, hidden) if value is not None else "nothing" for value in values]
            source = decision_source(self.plan, self.config, change, "drifted_path", [name])
            self._facts.add("drifted_path", change.address, name, *shown, source=source)

    def _arguments(self, change: ResourceChange, name: str, place: ValueLocation) -> None:
        """Add facts about the references in the arguments of an unchanged object."""
        for (_, argument), _ in parts(unmark(change.after)[0]):
            at = place.at((("attr", argument),))
            if self.places.given(at) is not None:
                self._facts.add("attribute_place", str(at), name, str(argument), source=self._source(at))
                self._mentions(at, unknown=False)

    def _ignored_values(self, change: ResourceChange, name: str) -> None:
        """Add facts about the ignored differences of an unchanged object, with current and configured values."""
        for row in change.facts:
            at = self.places.read(f"{name}.{row[2]}") if row[0] == "ignored_difference" else None
            given = self.places.given(at) if at is not None else None
            if at is None or given is None:
                continue
            configured = next((value for _, value in given.parts()), None)
            state = part_at(change.after, at.path)
            inside = differing(state, configured) if state is not None and configured is not None else []
            part = inside[0][0] if len(inside) == 1 else ()
            values = [part_at(value, part) for value in (state, configured)]
            shown = short_texts(values[0], values[1], self.places.is_sensitive(at.at((*at.path, *part))))
            words = row[2] + ("" if path_text(part).startswith("[") or not part else ".") + path_text(part)
            self._facts.add("ignored_values", name, row[2], words, *shown, source=given.span)

    def _other_arguments(self, change: ResourceChange, place: ValueLocation) -> None:
        """Add facts about the further differing arguments of a tainted object, or of a replaced object with ignored
        differences."""
        for step, value in parts(unmark(change.after)[0]):
            at, before = place.at((step,)), part_at(change.before, (step,))
            if before is None or not self._is_configured(at):
                continue
            if not is_wholly_known(value) or differing(before, value):
                self._facts.add("changed_argument", change_name(change), str(step[1]), source=self._source(at))
                self._attribute(at, change_name(change), str(step[1]))

    def _is_configured(self, place: ValueLocation) -> bool:
        """Whether the configuration sets the value at a place, with an argument or with nested blocks."""
        return self.places.given(place) is not None or self.places.is_in_blocks(place)

    def _attribute(self, place: ValueLocation, instance: str, text: str) -> None:
        if self.places.given(place) is None and not self.places.is_in_blocks(place):
            if self.former is not None and self.former.text(place) is not None:
                self._dropped(place, instance, text)
            return
        self._facts.add("attribute_place", str(place), instance, text, source=self._source(place))
        self.value(place)

    def _dropped(self, place: ValueLocation, instance: str, argument: str) -> None:
        """Add facts about an argument that was set at the last apply and is no longer set."""
        text, source = str(place), self._source(place)
        words = f"the text of {text}"
        self._facts.add("attribute_place", text, instance, argument, source=source)
        self._facts.add("altered", text, f"{argument} of {instance} is no longer set", source=source)
        self._facts.add("own_text", text, words, source=source)
        self._facts.add("changed_since", words, source=source)

    def _triggers(self, change: ResourceChange, module: ModuleInstance, decl: ResourceDecl) -> None:
        for row in change.facts:
            if row[0] not in ("watched", "triggered"):
                continue
            scope = self.places.instance_scope(ValueLocation(module, "resource", decl.key, change.key))
            for expr in decl.lifecycle.replace_triggered_by:
                if expr.span.text != row[2]:
                    continue
                try:
                    ref = trigger_reference(expr, scope.repetition)
                except Failure:
                    continue
                self._new_trigger(change, module, decl, expr)
                for other in self._resources.get(join(str(module.address.config), ref.name), ()):
                    same = other.module == change.module and (ref.key is None or other.key == ref.key)
                    if same and other.action == NO_OP and does(change.action, "replaces"):
                        self._newly_ignored(change, row[2], other)
                    if same and does(other.action, "stirs"):
                        name = change_name(change)
                        self._facts.add("watches", name, row[2], change_name(other), source=expr.span)
                        self.change(other)
                        place = ValueLocation(module, "resource", ref.name, other.key, tuple(map(path_step, ref.rest)))
                        for at, _ in self.value(place) if ref.rest else ():
                            self._facts.add("watches_value", name, row[2], str(at), source=expr.span)

    def _new_trigger(self, change: ResourceChange, module: ModuleInstance, decl: ResourceDecl, expr: Expr) -> None:
        """If an element of replace_triggered_by is new or edited, add a fact about this element."""
        if self.former is None or self.former.lacks(module):
            return
        was = self.former.declaration(module, decl.key)
        if was is None or any(
            self.former.is_same_text(module, expr.node, one.node) for one in was.lifecycle.replace_triggered_by
        ):
            return
        name = change_name(change)
        words = f"the text of {name}.replace_triggered_by"
        self._facts.add("new_trigger", name, words, expr.span.text, source=expr.span)

    def _newly_ignored(self, change: ResourceChange, trigger: str, other: ResourceChange) -> None:
        """If `other`, the object to which `trigger` refers, is unchanged only because its ignore_changes was edited,
        add facts about this edit."""
        name = other.address
        for row in other.facts if self.former is not None else ():
            place = self.places.read(f"{name}.{row[2]}") if row[0] == "ignored_difference" else None
            if place is not None and self.former is not None and not self.former.ignores(place):
                source = decision_source(self.plan, self.config, other, row[0], row[2:])
                words = f"the text of {name}.ignore_changes"
                self._facts.add("hidden_trigger", change_name(change), words, trigger, source=source)

    def _pending(self, change: ResourceChange, name: str, module: ModuleInstance, decl: ResourceDecl) -> None:
        """Add facts about the changes for which a data source waits; changes in other instances of the data source's
        own module are not included."""
        others: list[ResourceChange] = []
        for resource in sorted({row[2] for row in change.facts if row[0] in ("change_before", "dependency_pending")}):
            for other in self._resources.get(resource, ()):
                is_beside = other.module != change.module and parse_module(other.module).path == module.config.path
                if other.action == NO_OP or is_beside:
                    continue
                source = declaration(self.config, other) or StateEntry(other.address)
                self._facts.add("waits_on", name, resource, change_name(other), source=source)
                others.append(other)
                self.change(other)
        if others:
            shown = [change_name(other) for other in others[:MOST_NAMED]]
            more = [f"{len(others) - MOST_NAMED} more"] if len(others) > MOST_NAMED else []
            *first, last = [*shown, *more]
            before = f"{', '.join(first)} and {last} change" if first else f"{last} changes"
            whole = "".join(f"; {text}" for text in _waited_modules(module, decl, others))
            self._facts.add("awaited_changes", name, f"{before} first{whole}", source=decl.span)


def _with_real_path(unit: ChangedInput) -> ChangedInput:
    """The input, in which the name of a file is replaced by its real path, because a file may have several names."""
    return unit._replace(name=os.path.realpath(unit.name)) if unit.kind == "file" else unit


MOST_NAMED = 4
"""maximum number of awaited objects that a sentence names"""


def _waited_modules(module: ModuleInstance, decl: ResourceDecl, others: Iterable[ResourceChange]) -> Iterator[str]:
    """Clauses such as "it waits for all objects of module.a (depends_on)". There is a clause for each module that
    contains some of the objects `others` and that is named in depends_on of the data source or of a module call around
    it."""
    seen: set[str] = set()
    at: ModuleInstance | None = module
    references, who = decl.depends_on, "it"
    while at is not None:
        for reference in references:
            called = join(str(at.address.config), reference.span.text.partition("[")[0])
            inside = any(f"{other.resource_address}.".startswith(f"{called}.") for other in _without_keys(others))
            if reference.span.text.startswith("module.") and inside and called not in seen:
                seen.add(called)
                yield f"{who} waits for all objects of {called} (depends_on)"
        call = at.config.call
        references, who = (call.depends_on, str(at.address.config)) if call is not None else ((), "")
        at = at.parent


def _without_keys(changes: Iterable[ResourceChange]) -> Iterator[ResourceChange]:
    return (evolve(change, module=str(parse_module(change.module).config)) for change in changes)
