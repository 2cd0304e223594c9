"""Facts about where planned values and actions come from: the predicates of rules/plan/values.dl and object.dl.

Facts are gathered from what is asked about on, through the expressions of the configuration; which of them explain
something is decided by rules/plan/unknowns.dl and causes.dl. Sensitive values never become facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from planner.config.model import Config, ResourceDecl
from planner.config.references import Ref, parse_reference
from planner.config.variables import RootVariable
from planner.datalog.engine.fact_base import FactBase, FactBuilder
from planner.evaluation.context import ModuleInstance
from planner.evaluation.watched import watched
from planner.explain.former_names import FormerNames
from planner.explain.known_values import KnownValues
from planner.explain.on_record import OnRecord
from planner.explain.origins import (
    Given,
    Path,
    differing,
    is_json,
    origins,
    path_step,
    reads_files,
    shows_text,
    within_json,
)
from planner.explain.places import ANY, Place, Places, open_parts, select
from planner.explain.repetition import KnownInstances, Repeated, repeated
from planner.explain.written_values import WrittenValues
from planner.facts.from_changes import declaration
from planner.facts.from_config import configuration_address
from planner.language.functions import lookup
from planner.language.functions.filesystem import located
from planner.model.plan import OutputChange, Plan, ResourceChange, change_name
from planner.model.sources import CommandLine, StateEntry, Unquoted
from planner.plan.decision_sources import decision_source, output_source
from planner.programs.actions import NO_OP, does
from planner.syntax.chains import Chain, chains
from planner.syntax.nodes import Call, GetAttr, GetIndex, Traversal
from planner.syntax.references import variables
from planner.values.convert import path_text
from planner.values.operations import same_value
from planner.values.paths import parts
from planner.values.short_text import short_text
from planner.values.value import Null, Set, Unknown, Value, is_wholly_known, unmark, unmark_deep
from planner.vocabulary.address import AddressError, InstanceKey, format_resource, join, key_order, parse_module
from planner.vocabulary.diagnostic import Failure
from planner.vocabulary.provider_address import parse_provider_configuration
from planner.vocabulary.span import Span


class Trace:
    """Gathers facts: `change` and `value` say what an answer is about, `build` gives everything that it may need."""

    def __init__(
        self,
        plan: Plan,
        config: Config,
        places: Places,
        variables: Mapping[str, RootVariable],
        record: KnownValues | None = None,
    ) -> None:
        self.on_record = OnRecord(record, FormerNames.of(plan.changes), places)
        self.plan, self.config, self.places, self.variables = plan, config, places, variables
        self.changes = {change_name(c): c for c in plan.changes}
        self._resources: dict[str, list[ResourceChange]] = {}
        for change in plan.changes:
            if not change.deposed:
                self._resources.setdefault(_without_keys(change), []).append(change)
        self._drift = {c.address: c for c in plan.drift}
        self._outputs = {f"output.{o.name}": o for o in plan.outputs}
        self._known = KnownInstances.of(plan.prior_state, plan.previous_state)
        self._facts = FactBuilder()
        self._written = WrittenValues()
        self._seen: set[Place] = set()
        self._explained: set[str] = set()
        self._waiting: list[Place] = []
        self._was: dict[str, Value] = {}
        """what stood, before the plan, where something merely copies a place"""

    def build(self) -> FactBase:
        """All facts about what was asked."""
        while self._waiting:
            self._visit(self._waiting.pop())
        return self._facts.build()

    # ---------------------------------------------------------------- actions

    def change(self, change: ResourceChange) -> None:
        """The facts of a decision, and what they are about."""
        name = change_name(change)
        if name in self._explained:
            return
        self._explained.add(name)
        for predicate, _, *columns in change.facts:
            source = decision_source(self.plan, self.config, change, predicate, columns)
            self._facts.add(predicate, name, *columns, source=source)
        drift = self._drift.get(name)
        if drift is not None and drift.after.__class__ is Null and change.before.__class__ is Null:
            self._facts.add("removed_outside", name, source=StateEntry(name))
        else:
            self._repetition(change, name)
        module = self.places.context.module(parse_module(change.module))
        key = format_resource("", change.mode, change.type, change.name)
        decl = module.config.resources.get(key) if module is not None else None
        if module is None or decl is None or change.deposed:
            self._call_gone(change, name)
            return
        found = {row[2]: (("attr", row[2]),) for row in change.facts if row[0] in ("differs", "config_unknown")}
        found.update((path_text(path), path) for path in change.replace_paths)
        if change.before.__class__ is not Null or change.mode == "data":
            for text, path in sorted(found.items()):
                self._attribute(Place(module, "resource", key, change.key, path), name, text)
        if change.action == NO_OP:
            self._arguments(change, name, Place(module, "resource", key, change.key))
        self._triggers(change, module, decl)
        for resource in sorted({row[2] for row in change.facts if row[0] in ("change_before", "dependency_pending")}):
            self._pending(name, resource, change.module)

    def _call_gone(self, change: ResourceChange, name: str) -> None:
        """The fact about an instance in a module that nothing calls any more."""
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
        """What says that the instance is there, or no longer: count, for_each or enabled, and what it was."""
        comes, goes = change.before.__class__ is Null, change.after.__class__ is Null
        if change.deposed or comes == goes or self.plan.mode == "destroy":
            return
        at = repeated(change, self.places.context, self._known)
        place = self._repeats(at, goes) if at is not None else None
        if place is not None:
            self._facts.add("repeats", name, str(place), place.repeated, source=self._source(place))

    def _repeats(self, at: Repeated, goes: bool) -> Place | None:
        """The place that says that an instance is there, or no longer, and what it was; None where it says the same as
        before, or where nothing tells whether there was such a block."""
        place, of = at.place, at.place.repeated
        if at.argument == "for_each":
            place = place.at((("index", at.key),), True)
        if place in self._seen:
            return place
        if not self.on_record.repeats_otherwise(at, place, goes):
            return None
        self._seen.add(place)
        text, source, value = str(place), self._source(place), self.places.value(place.whole)
        before: Value = None
        if at.argument == "count":
            before, (now, had) = len(at.before), at.counted()
            said = f"{of} has {now} now and had {had}"
        elif at.argument == "enabled":
            before, said = goes, f"enabled of {of} is {'false' if goes else 'true'} now, and was not"
        else:
            key = path_text((("index", at.key),))
            said = f"{of} has no instance {key} any more" if goes else f"{of} has an instance {key} now, and had not"
        self._facts.add("altered", text, said, source=source)
        self._mentions(place, unknown=False, before=before, after=value if before is not None else None)
        return place

    def output(self, change: OutputChange) -> None:
        """The facts of the decision about a root output, and what they are about."""
        name = f"output.{change.name}"
        for predicate, _, *columns in change.facts:
            self._facts.add(predicate, name, *columns, source=output_source(self.config, change.name, predicate))
        if ("output_differs", name, "value") in change.facts and change.before.__class__ is not Null:
            place = Place(self.places.context.root, "output", change.name)
            self._facts.add("output_place", name, str(place), source=self._source(place))
            self.value(place)

    def drift(self, change: ResourceChange) -> None:
        """The facts about what has happened to an object outside of any plan."""
        for predicate, _, *columns in change.facts:
            source = decision_source(self.plan, self.config, change, predicate, columns)
            self._facts.add(predicate, change.address, *columns, source=source)

    def _arguments(self, change: ResourceChange, name: str, place: Place) -> None:
        """What the arguments of an object that stays as it is refer to."""
        for (_, argument), _ in parts(unmark(change.after)[0]):
            at = place.at((("attr", argument),))
            if self.places.given(at) is not None:
                self._facts.add("attribute_place", str(at), name, str(argument), source=self._source(at))
                self._mentions(at, unknown=False)

    def _attribute(self, place: Place, instance: str, text: str) -> None:
        if self.places.given(place) is None and not self.places.in_blocks(place):
            if self.on_record.had_text(place):
                self._dropped(place, instance, text)
            return
        self._facts.add("attribute_place", str(place), instance, text, source=self._source(place))
        self.value(place)

    def _dropped(self, place: Place, instance: str, argument: str) -> None:
        """The facts about an argument that was given when the object was last applied, and is not any more."""
        text, source = str(place), self._source(place)
        words = f"the text of {text}"
        self._facts.add("attribute_place", text, instance, argument, source=source)
        self._facts.add("altered", text, f"{argument} of {instance} is not given any more", source=source)
        self._facts.add("own_text", text, words, source=source)
        self._facts.add("changed_since", words, source=source)

    def _triggers(self, change: ResourceChange, module: ModuleInstance, decl: ResourceDecl) -> None:
        for row in change.facts:
            if row[0] not in ("watched", "triggered"):
                continue
            scope = self.places.instance_scope(Place(module, "resource", decl.key, change.key))
            for expr in decl.lifecycle.replace_triggered_by:
                if expr.span.text != row[2]:
                    continue
                try:
                    ref = watched(expr, scope.repetition)
                except Failure:
                    continue
                for other in self._resources.get(join(str(module.address.config), ref.name), ()):
                    same = other.module == change.module and (ref.key is None or other.key == ref.key)
                    if same and does(other.action, "stirs"):
                        self._facts.add("watches", change_name(change), row[2], change_name(other), source=expr.span)
                        self.change(other)

    def _pending(self, name: str, resource: str, module: str) -> None:
        for other in self._resources.get(resource, ()):
            if other.action != "no-op":
                source = declaration(self.config, other) or StateEntry(other.address)
                self._facts.add("waits_on", name, resource, change_name(other), source=source)
                self.change(other)

    # ---------------------------------------------------------------- values

    def value(self, place: Place) -> list[tuple[Place, Value]]:
        """Ask about a place; the places that this means, with their values."""
        found: list[tuple[Place, Value]] = []
        there = self.places.found(place)
        nothing = place.fresh or self._goes(place)
        for at, value in there if there or not nothing else [(self.places.named(place), None)]:
            owner = self.places.owner(at)
            if owner is not None:
                found += self.value(owner)
                continue
            found.append((at, value))
            if at not in self._seen:
                self._seen.add(at)
                self._waiting.append(at)
        for gone in self._gone(place):
            found += self.value(gone)
        return found

    def _gone(self, place: Place) -> list[Place]:
        """Where a place is in all instances of a resource or module: the same in those that there are no more."""
        keys: set[InstanceKey] = set()
        if place.path[:1] == (ANY,) and place.kind == "resources":
            changes = self._resources.get(join(str(place.module.address.config), place.name), ())
            keys = {c.key for c in changes if c.module == place.module.text and c.after.__class__ is Null}
        elif place.path[:1] == (ANY,) and place.kind == "call":
            known = self._known.calls.get((place.module.text, place.name), set())
            keys = known - place.module.calls.get(place.name, {}).keys()
        return [place.at((("index", key), *place.path[1:])) for key in sorted(keys - {None}, key=key_order)]

    def _goes(self, place: Place) -> bool:
        """Whether a place is in an instance that there is no more after the plan."""
        if place.kind == "resources" and place.path and place.path[0] != ANY:
            place = Place(place.module, "resource", place.name, place.path[0][1])
        change = self.changes.get(place.root_text) if place.kind == "resource" else None
        return change is not None and change.after.__class__ is Null

    def _source(self, place: Place) -> Any:
        """What a fact about a place points at; for sensitive values only the declaration, whose line is not shown."""
        header = self.places.declaration(place)
        if header is not None and self.places.is_sensitive(place):
            return Unquoted.of(header)
        given = self.places.given(place)
        return given.span if given is not None else header

    def _visit(self, place: Place) -> None:
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
            for path in open_parts(value):
                for inner, _ in self.value(place.at((*place.path, *path))):
                    self._part(place, inner)
            self._altered_parts(place, value)

    def _altered_parts(self, place: Place, value: Value) -> None:
        """What differs besides what is not known: in arguments of an object that is changed or replaced."""
        change = self.changes.get(place.root_text) if place.kind == "resource" and place.path else None
        before = _at(change.before, place.path) if change is not None else None
        for path, fresh in differing(before, value) if before is not None else ():
            inner = place.at((*place.path, *path), fresh)
            if fresh or all(is_wholly_known(part) for _, part in self.places.found(inner)):
                for at, _ in self.value(inner):
                    self._part(place, at)

    def _part(self, place: Place, inner: Place) -> None:
        if inner != place:
            self._facts.add("value_part", str(place), str(inner), source=self._source(inner))

    # ---------------------------------------------------------------- what is not known

    def _unknown(self, place: Place) -> None:
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
        if place.kind == "resource":
            change = self.changes[place.root_text]
            self._facts.add("object_value", text, change.address, source=declaration(self.config, change))
            if not mentions_some:  # else the provider is none of the causes
                self.change(change)
                self._provider(place, change)

    def _provider(self, place: Place, change: ResourceChange) -> None:
        """The configuration of the instance's provider, where something in it is not known."""
        used = parse_provider_configuration(change.provider)
        module: ModuleInstance | None = place.module
        while module is not None and module.config.path != used.module:
            module = module.parent
        block = module.config.provider_block(used.source, used.alias) if module is not None else None
        if module is None or block is None:
            return
        configuration = Place(module, "provider", configuration_address("", used.source, used.alias))
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

    def _changed(self, place: Place, value: Value) -> None:
        text = str(place)
        if place.kind == "var" and place.module.parent is None:
            self._root_variable(place)
        elif place.kind == "resource":
            self._changed_object(place, value)
        elif place.kind == "output" and place.module.parent is None and self._is_recorded(place):
            output = self._outputs[place.root_text]
            self._altered(place, _at(output.before, place.path), value, output.sensitive)
        elif place.kind == "resources":
            for change in self._resources.get(join(str(place.module.address.config), place.name), ()):
                if change.module == place.module.text and change.action != "no-op":
                    for inner, _ in self.value(Place(place.module, "resource", place.name, change.key, place.path)):
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
            self._on_record(place, value, self._source(place))
            self._mentions(place, unknown=False, before=self._was.get(text), after=value)

    def _instances_that_change(self, place: Place) -> None:
        """Of all instances of a module those that are there only before the plan, or only after it."""
        if place.path and place.path[0] != ANY:
            return
        now = place.module.calls.get(place.name, {})
        before = self._known.calls.get((place.module.text, place.name), set())
        for key in sorted(before ^ now.keys(), key=key_order):
            inner = place.at((("index", key), *place.path[1:]))
            if key is not None and self._other_instances(inner):
                self._part(place, inner)

    def _other_instances(self, place: Place) -> bool:
        """Whether a place is in a module instance that is there only before the plan, or only after it: then it changes
        with what repeats the module."""
        key = place.path[0][1] if place.path and place.path[0] != ANY else None
        now = place.module.calls.get(place.name, {})
        before = self._known.calls.get((place.module.text, place.name), set())
        if key is None or (key in now) == (key in before):
            return False
        block = Place(place.module, "each_call", place.name)
        at = self._repeats(Repeated(block, key, frozenset(before), frozenset(now)), goes=key not in now)
        if at is None:
            return False
        self._facts.add("named_value", str(place), source=self._source(at))
        self._facts.add("refers_value", str(place), str(at), source=self._source(at))
        return True

    def _changed_object(self, place: Place, value: Value) -> None:
        change = self.changes.get(place.root_text)
        text = str(place)
        if place.module.config.resources[place.name].mode == "data" and (change is None or change.action == "no-op"):
            self._read_value(place, value)
            return
        if change is None:
            return
        source = self._source(place)
        if self._has_drifted(place) and (change.action == NO_OP or _stays(_at(change.before, place.path), value)):
            self._facts.add("drifted_value", text, change.address, source=StateEntry(change.address))
            return
        if change.action == NO_OP:
            return
        if change.before.__class__ is Null or change.after.__class__ is Null:
            self._facts.add("appears", text, change.address, source=source)
            self.change(change)
            return
        before = _at(change.before, place.path)
        if before is not None and same_value(unmark_deep(before)[0], unmark_deep(value)[0]):
            self._facts.add("value_stays", text, change.address, source=source)
            self.change(change)
            return
        if not place.path:
            for step, _ in parts(unmark(value)[0]):
                inner = place.at((step,))
                old, new = _at(change.before, inner.path), _at(value, inner.path)
                if old is None or new is None or not same_value(unmark_deep(old)[0], unmark_deep(new)[0]):
                    for at, _ in self.value(inner):
                        self._part(place, at)
            return
        if self._altered(place, before, value) and self._has_drifted(place):
            self._facts.add("drifted_value", text, change.address, source=StateEntry(change.address))

    def _has_drifted(self, place: Place) -> bool:
        """Whether somebody changed an object, which is still there, at this place."""
        drift = self._drift.get(place.root_text)
        if drift is None or drift.after.__class__ is Null or not place.path:
            return False
        old, new = _at(drift.before, place.path), _at(drift.after, place.path)
        return old is None or new is None or not same_value(unmark_deep(old)[0], unmark_deep(new)[0])

    def _read_value(self, place: Place, value: Value) -> None:
        """The facts about what a data source gave while planning: an argument as it is written, the rest as it was read
        with the arguments."""
        text, source = str(place), self._source(place)
        if place.path and self.places.given(place) is not None:
            self._facts.add("named_value", text, source=source)
            self._on_record(place, value, source)
            self._mentions(place, unknown=False, after=value)
            return
        shown = short_text(value, self.places.is_sensitive(place)) if value is not None else "nothing"
        self._facts.add("read_value", text, shown, source=source)
        self._on_record(place, value, source)
        whole = self.places.value(place.whole)
        for step, _ in parts(unmark(whole)[0]) if whole is not None else ():
            argument = place.at((step,))
            if self.places.given(argument) is not None:
                for at, _ in self.value(argument):
                    self._facts.add("refers_value", text, str(at), source=self._source(at))

    def _is_recorded(self, place: Place) -> bool:
        """Whether a root output has another value than the one that the state has of it."""
        output = self._outputs.get(place.root_text)
        return output is not None and output.before.__class__ is not Null and does(output.action, "makes")

    def _altered(self, place: Place, before: Value, value: Value, secret: bool = False) -> bool:
        """Facts about a place whose value was another before; whether they are about the place as a whole."""
        text, source = str(place), self._source(place)
        inside = differing(before, value) if before is not None and value is not None and not place.fresh else []
        if inside and inside != [((), False)]:
            for path, fresh in inside:
                for at, _ in self.value(place.at((*place.path, *path), fresh)):
                    self._part(place, at)
            return False
        hidden = secret or self.places.is_sensitive(place)
        texts = [short_text(v, hidden) if v is not None else "nothing" for v in (before, value)]
        self._facts.add("planned_change", text, *texts, source=source)
        self._facts.add("altered", text, f"{text} changes from {texts[0]} to {texts[1]}", source=source)
        self._mentions(place, unknown=False, before=before, after=value)
        return True

    def _root_variable(self, place: Place) -> None:
        given = self.variables.get(place.name)
        value = next((v for _, v in self.places.found(place)), None)
        decl = place.module.config.variables[place.name]
        hidden = decl.sensitive or self.places.is_sensitive(place)
        origin: str = given.origin if given is not None else "default"
        source: Any = decl.span
        if not hidden and decl.default_span is not None:
            source, _ = self._written.part(decl.default_span, place.path)
        if given is not None and given.span is not None and origin != "default":
            origin = given.span.filename
            source, is_written = self._written.part(given.span, place.path)
            if not is_written and value is not None:
                source, origin = decl.span, "default"  # of an attribute that is optional in the type
        if hidden:
            source = Unquoted.of(decl.span)
        if origin == "command line":
            source = CommandLine(f"-var={place.name}")
        text = short_text(value, hidden) if value is not None else "nothing"
        self._facts.add("root_variable", str(place), text, origin, source=source)
        self._on_record(place, value, source)

    # ---------------------------------------------------------------- what is on record

    def _on_record(self, place: Place, value: Value, source: Any) -> None:
        """Whether the value is what it was when it was last applied, where that is known."""
        status = self.on_record.value(place, value)
        if status == "same":
            self._facts.add("stayed", str(place), source=source)
        elif status == "other":
            self._facts.add("changed_since", str(place), source=source)

    # ---------------------------------------------------------------- mentions

    def _mentions(self, place: Place, unknown: bool, before: Value = None, after: Value = None) -> bool:
        """Facts about what the expressions at a place mention, with `unknown` only of what is not known; whether there
        is something of that kind. `before` and `after`: the values, where both are known."""
        status = self.on_record.text(place)
        found = self.places.origins(place, before if status != "other" else None, status == "same")
        if found is None:
            return self._in_blocks(place, unknown)
        alone = len(found) == 1
        if alone and before is not None and after is not None and is_json(found[0]):
            found, alone = within_json(found[0], before, after), False
        text, hidden = str(place), self.places.is_sensitive(place)
        some, rewritten = False, False
        own: list[Given] = []
        texts = set()
        waiting = [(given, alone) for given in reversed(found)]
        while waiting:
            given, direct = waiting.pop()
            mentioned, calls = chains(given.node)
            if not unknown:
                some |= self._files(text, given, calls)
            status = self.on_record.text(place, given.node)
            texts.add(status)
            if status == "other":
                own.append(given)
                rewritten = True
            elif status == "unknown" and not unknown and _has_text(given, mentioned):
                own += [] if direct and shows_text(given.node, before) else [given]
            for chain in mentioned:
                name = chain.base.root if isinstance(chain.base, Traversal) else chain.base.name
                if name in given.bound:
                    waiting += [(inner, False) for inner in _of_bound(given, chain, name)]
                    continue
                target = self.places.meant(chain, given, place)
                if target is None:
                    continue
                if chain.start == given.node.start and chain.end == given.node.end:
                    target = target.at(_joined(target.path, given.rest), given.fresh)
                    copies = direct and not unknown and len(mentioned) == 1
                else:
                    copies = False
                span = self._source(place) if hidden else Span(given.source, chain.start, chain.end)
                for meant, value in self.value(target):
                    if unknown and is_wholly_known(value):
                        self._facts.add("beside_unknown", text, str(meant), source=span)
                        continue
                    some = True
                    self._facts.add("refers_value", text, str(meant), source=span)
                    if copies:
                        self._facts.add("copies", text, str(meant), source=span)
                        self._was.setdefault(str(meant), before)
            for call in calls if unknown else ():
                function = None if "::" in call.name.removeprefix("core::") else lookup(call.name)
                if function is not None and function.impure:
                    some = True
                    span = self._source(place) if hidden else Span(given.source, call.start, call.end)
                    self._facts.add("impure", text, call.name, source=span)
        words = f"the text of {text}"
        for given in own if some or rewritten else ():
            span = self._source(place) if hidden else given.span
            self._facts.add("own_text", text, words, source=span)
            if rewritten:
                self._facts.add("changed_since", words, source=span)
        if not unknown and ((texts == {"same"} and not place.fresh) or self.on_record.text(place) == "same"):
            self._facts.add("same_text", text, source=self._source(place))
        return some

    def _files(self, text: str, given: Given, calls: Sequence[Call]) -> bool:
        """Facts about the files that an expression reads, where their names are known; whether there are any."""
        some = False
        for call in calls:
            if not reads_files((call.name,)) or not call.arguments:
                continue
            name = given.evaluate(call.arguments[0])
            if name.__class__ is not str:
                continue
            path = located(name, "")
            file, span = f"file {path}", Span(given.source, call.start, call.end)
            some = True
            self._facts.add("refers_value", text, file, source=span)
            self._facts.add("read_file", file, source=span)
            status = self.on_record.file(path)
            if status != "unknown":
                self._facts.add("stayed" if status == "same" else "changed_since", file, source=span)
        return some

    def _in_blocks(self, place: Place, unknown: bool) -> bool:
        some = False
        for node, source in self.places.in_blocks(place):
            scope = self.places.instance_scope(place)
            chain = Chain(node, (), node.start, node.end)
            target = self.places.meant(chain, Given(node, source, scope, ()), place)
            for meant, value in self.value(target) if target is not None else ():
                if not unknown or not is_wholly_known(value):
                    some = True
                    span = Span(source, node.start, node.end)
                    self._facts.add("refers_value", str(place), str(meant), source=span)
        return some


# ---------------------------------------------------------------- helpers


def _has_text(given: Given, mentioned: Sequence[Chain]) -> bool:
    """Whether an expression is more than a mention, or than what is made of the keys of a loop."""
    node, names = given.node, [c.base.root if isinstance(c.base, Traversal) else c.base.name for c in mentioned]
    if any(chain.start == node.start and chain.end == node.end for chain in mentioned):
        return False
    return not names or any(name not in given.bound or given.bound[name].given is not None for name in names)


def _joined(path: Path, rest: Path) -> Path:
    """A path and one into the value there; of every element, the rest says which."""
    if rest and ANY in path:
        at = path.index(ANY)
        return (*path[:at], rest[0], *path[at + 1 :], *rest[1:])
    return (*path, *rest)


def _of_bound(given: Given, chain: Chain, name: str) -> list[Given]:
    """Where the value is from that a chain takes from a name of a `for` expression."""
    bound = given.bound[name].given
    if bound is None:
        return []
    steps = list(chain.base.steps) if isinstance(chain.base, Traversal) else []
    steps += takewhile(lambda s: isinstance(s, (GetAttr, GetIndex)), chain.suffix)
    whole = chain.start == given.node.start and chain.end == given.node.end
    rest = (*bound.rest, *map(path_step, steps), *(given.rest if whole else ()))
    return origins(bound._replace(rest=rest, fresh=given.fresh and whole))


def _stays(before: Value, value: Value) -> bool:
    if before is None or value is None:
        return before is value
    return same_value(unmark_deep(before)[0], unmark_deep(value)[0])


def _at(value: Value, path: Path) -> Value:
    found = select(value, path) if value is not None else []
    return found[0][1] if found and len(found[0][0]) == len(path) else None


def _without_keys(change: ResourceChange) -> str:
    try:
        module = str(parse_module(change.module).config)
    except AddressError:
        module = change.module
    return format_resource(module, change.mode, change.type, change.name)
