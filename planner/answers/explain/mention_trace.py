"""Adds facts about mentions in expressions (see planner.answers.explain.trace)."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from itertools import islice, takewhile
from typing import Any

from planner.answers.explain.causes import FORMER_LINE, CauseStep, origin_note
from planner.answers.explain.changed_inputs import (
    ENTRY,
    ChangedInput,
    ChangedInputs,
    changed_resource,
    describe,
    unit_of,
)
from planner.answers.explain.data_files import entry_span, value_of_file
from planner.answers.explain.edited_text import changed_lines, edited_texts, file_edit
from planner.answers.explain.former_world import FormerWorld, Status
from planner.answers.explain.interventions import Interventions
from planner.answers.explain.origins import (
    ANY,
    GivenExpression,
    Path,
    differing,
    gained_and_lost,
    has_shifted,
    is_json,
    origins,
    part_at,
    path_step,
    select,
    shows_text,
    uses_files,
    within_json,
)
from planner.answers.explain.places import LocationLookup, ValueLocation, place_name
from planner.answers.explain.repetition import KnownInstances, RepetitionLocation
from planner.engine.evaluation.context import ModuleInstance
from planner.foundation.support.disk import files_used
from planner.foundation.values.expression_text import HIDDEN, short_text, short_texts, whole_text
from planner.foundation.values.paths import part_by_key, parts
from planner.foundation.values.value import List, Map, Value, is_wholly_known, unmark
from planner.foundation.vocabulary.address import AddressError, format_module, format_resource, parse_module
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.model import Config, ModuleConfig
from planner.language.config.variables import RootVariable
from planner.language.functions import lookup
from planner.language.functions.file_names import locate
from planner.language.syntax.body import function_calls, variables
from planner.language.syntax.chains import Chain, chains
from planner.language.syntax.nodes import (
    Call,
    Expression,
    GetAttr,
    GetIndex,
    Literal,
    Object,
    Parens,
    Traversal,
    Tuple,
)
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.model.graph import CommandLine, Unquoted
from planner.logic.model.plan import Plan, ResourceChange, change_name
from planner.logic.programs.actions import NO_OP

_WITHOUT_VALUES = ("each", "each_call", "resources", "call", "provider")
"""kinds of places whose values are compared in parts"""


@frozen
class OtherSource:
    """A module whose source changed. `words`: the name of the changed argument `source`. `span`: the call with this
    argument. `directory`: the current directory of the module. `before`: the former directory; "" if it is not
    known."""

    words: str
    span: Span
    directory: str
    before: str

    def has(self, given: GivenExpression) -> bool:
        """Whether an expression is in a file in the module's directory."""
        return posixpath.dirname(given.source.filename) == posixpath.normpath(self.directory)


MOST_WHOLE = 4000
MOST_LINES = 500
"""maximum number of parts of a variable's value whose lines are recorded"""
"""maximum number of characters of an added or removed entry of a file; longer entries are shortened"""


class MentionTrace:
    def __init__(
        self,
        plan: Plan,
        config: Config,
        places: LocationLookup,
        variables: Mapping[str, RootVariable],
        former: FormerWorld | None = None,
    ) -> None:
        self.former = former
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
        self._seen: dict[ValueLocation, None] = {}
        self._sources: dict[ValueLocation, Any] = {}
        self._explained: set[str] = set()
        self._waiting: list[ValueLocation] = []
        self._by_name: dict[str, ValueLocation] = {}
        self._named = 0
        """the number of places in `_seen` that were added to `_by_name`"""
        self.checks_causes = True
        self.checks: dict[str, ChangedInputs | None] = {}
        """{place in a change: inputs that affect the value there, None if they cannot be determined}"""
        self.elements: dict[str, tuple[str, str]] = {}
        """{list or set in a change: (lost elements, gained elements)}, without secrets"""
        self._file_edits: dict[str, str] = {}
        self._texts_read: set[str] = set()
        """files of which the text is read, and not only a digest of it"""
        self._list_inputs: dict[ValueLocation, frozenset[ChangedInput]] = {}
        """{changed part of a value with lists: inputs that matter only to the whole value}"""
        self._interventions: Interventions | None = None
        self._was: dict[str, Value] = {}
        """{place whose value another place copies: its former value}"""

    def value(self, place: ValueLocation) -> list[tuple[ValueLocation, Value]]:
        """(place, value) for each place to which `place` leads."""
        raise NotImplementedError

    def _source(self, place: ValueLocation) -> Any:
        """The source location of facts about a place. It is computed only once."""
        if place not in self._sources:
            self._sources[place] = self._found_source(place)
        return self._sources[place]

    def _found_source(self, place: ValueLocation) -> Any:
        """The location of the expression or declaration of a place; None if there is none. The location of a sensitive
        value does not show the text of the line."""
        least = {"local": 0, "resource": 1}.get(place.kind, len(place.path))  # a resource's first step is the argument
        if len(place.path) > least and not self.places.found(place):  # a part that was removed
            return self._source(place.at(place.path[:-1]))
        given = self.places.given(place)
        span = given.span if given is not None else self.places.declaration(place)
        default = place.module.config.variables[place.name].default_span if place.kind == "var" else None
        if given is None and default is not None:
            span, _ = self._written.part(default, place.path)
        return Unquoted.of(span) if span is not None and self.places.is_sensitive(place) else span

    # ---------------------------------------------------------------- the former configuration

    def unit(self, leaf: str) -> ChangedInput | None:
        """The input that a root cause with the name `leaf` means; None if the name does not mean an input."""
        if leaf.startswith("file "):
            return ChangedInput("file", (), leaf.removeprefix("file "))
        name = leaf.removeprefix("the text of ")
        place = self._places().get(name)
        if place is not None and place.kind == "resource" and name == leaf:  # the cause is the object and not its text
            return ChangedInput("object", place.module.config.path, place.name)
        return unit_of(place) if place is not None else None

    def input_of(self, change: ResourceChange) -> ChangedInput:
        """The input of other values that represents the change of an instance."""
        known = self._interventions
        return known.declared.input_of(change) if known is not None else changed_resource(change)

    def describe(self, unit: ChangedInput) -> tuple[str, str, Any, str]:
        """(name, kind, place, origin as in `origin_note`) of the root cause that an input is. If the source of the
        module that contains the input changed, the change of the source is the root cause."""
        module = self.config.root.descendant(unit.module)
        former = self._interventions.former_module(unit.module) if self._interventions is not None else None
        if module is not None and former is not None and unit.kind not in ("variable", "file"):
            other = self._changed_source(module, former)
            if other is not None:
                return other.words, "text", other.span, ""
        if unit.kind == "variable" and unit.name in self.config.root.variables:
            name, kind, _ = describe(unit, self.config)
            source, origin = self._variable_source(self._root_place(unit))
            return name, kind, source, origin
        name, kind, source = describe(unit, self.config)
        note = ""
        if kind == ENTRY and self._file_texts(unit.name):
            was, now = (entry_span(unit.name, text, unit.path) for text in self._file_texts(unit.name))
            is_gone = self._sides_of(unit)[1] is None
            note = f"{FORMER_LINE}{was.start_position.line}" if is_gone and was is not None else ""
            source = now
        return name, kind, source, note

    def shown_values(self, unit: ChangedInput) -> tuple[str, str, bool]:
        """(former value, current value, whether these are the elements that a list lost and gained) of a part of a root
        variable or of an entry of a file. The values are texts without secrets; "" for other inputs and for unknown
        former values."""
        if unit.kind == "file" and unit.path and self._file_texts(unit.name):
            was, now = self._sides_of(unit)
            hidden = self._is_secret(unit.name)  # secret files have no entries of their own
            moved = gained_and_lost(was, now) if was is not None and now is not None and not hidden else None
            elements = element_texts(moved) if moved is not None else None
            if elements is None and (texts := _one_side(was, now, hidden)) is not None:
                return texts[0], texts[1], False
            return (*elements, True) if elements is not None else (*short_texts(was, now, hidden), False)
        if unit.kind != "variable" or self.former is None or unit.name not in self.config.root.variables:
            return "", "", False
        place = self._root_place(unit)
        hidden = self.config.root.variables[unit.name].sensitive or self.places.is_sensitive(place)
        now = next((value for _, value in self.places.found(place)), None)
        was, is_known = self.former.value(place)
        texts = _one_side(was, now, hidden) if is_known else None
        texts = texts or tuple(short_text(value, hidden) if value is not None else "nothing" for value in (was, now))
        return texts[0] if is_known else "", texts[1], False

    def with_former_line(self, root: CauseStep) -> CauseStep:
        """The root cause; a removed part of a root variable with its former line as note, if the line is known."""
        line = self.former.lines.get(root.what) if self.former is not None else None
        is_gone = root.kind == "variable" and root.value == "nothing" and not root.note
        return evolve(root, note=f"{FORMER_LINE}{line}") if is_gone and line is not None else root

    def list_of(self, name: str) -> CauseStep | None:
        """The list or set in a variable or local value that gained or lost elements, as a root cause without secrets.
        Its texts are the lost and the gained elements; "nothing" if there are none. For a map or object, the elements
        are its keys. If only one part of a list differs, this part is the root cause. None if there is no such list,
        set or part."""
        place = self._places().get(name) or self.places.read(name)
        if place is None or place.kind not in ("var", "local") or self.former is None:
            return None
        is_root = place.kind == "var" and place.module.parent is None
        for end in range(len(place.path) + 1):
            whole = place.at(place.path[:end])
            now = next((value for _, value in self.places.found(whole)), None)
            was, is_known = self.former.value(whole)
            is_own = end == len(place.path)
            moved = gained_and_lost(was, now, is_own) if is_known and was is not None and now is not None else None
            if moved is None or not any(moved):
                only = _only_difference(was, now) if is_own and is_known else None
                if only is None or self.places.is_sensitive(whole) or self.former.is_sensitive(whole):
                    continue
                at = whole.at((*whole.path, *only))
                source, origin = self._variable_source(at) if is_root else (self._source(at), "")
                before, after = (select(value, only)[0][1] for value in (was, now))
                note = origin_note(origin, source) if is_root else ""
                return CauseStep(str(at), "", source, *short_texts(before, after, False), note)
            texts = element_texts(moved)
            if texts is None or self.places.is_sensitive(whole):
                return None
            at = whole if moved[1] and not is_root else whole.at((*whole.path, *_step_to(now, moved[0])))
            source, origin = self._variable_source(at) if is_root else (self._source(at), "")
            note = origin_note(origin, source) if is_root else ""
            item = part_by_key(unmark(now)[0], place.path[end][1]) if not is_own else None
            is_kept = item is not None and not any(item is one for one in moved[0])
            shifted = is_kept and has_shifted(was, now)
            return CauseStep(str(whole), "", source, *texts, note, has_elements=True, has_shifted=shifted)
        return None

    def shown_local(self, name: str) -> tuple[str, str]:
        """(former value, current value) of a local value or of a variable of a called module, as texts without secrets;
        both are "" for other names and unknown values."""
        place = self.places.read(name)
        is_inner = place is not None and place.kind == "var" and place.module.parent is not None
        if place is None or not (place.kind == "local" or is_inner) or self.former is None:
            return "", ""
        now = next((value for _, value in self.places.found(place)), None)
        was, is_known = self.former.value(place)
        if not is_known or (now is not None and not is_wholly_known(now)):
            return "", ""
        hidden = self.places.is_sensitive(place)
        if was is not None and now is not None:
            return short_texts(was, now, hidden)
        around = next((value for _, value in self.places.found(place.at(place.path[:-1]))), None)
        if around is None or not is_wholly_known(around) or not place.path:
            return "", ""
        before, after = (short_text(value, hidden) if value is not None else "nothing" for value in (was, now))
        return before, after

    def text_edit(self, name: str) -> tuple[str, str]:
        """(former text, current text) of the changed part of an expression, or of its first changed line. The texts are
        shortened. The former text of a new part is "". Both texts are "" if they are unknown or sensitive."""
        place = self._places().get(name)
        if place is None or self.former is None or (whole := self.places.whole_text(place)) is None:
            return "", ""
        around, was = place.at(place.path[: len(place.path) - len(whole.rest)]), self.former.text(place)
        before, now = self.former.changed_part(place, whole.node)
        if was is None or self.places.is_sensitive(around) or self.former.is_sensitive(around):
            return "", ""
        if any("sensitive" in text for text in (whole.span.text, was.span.text)):
            return "", ""
        former = was.source.text[before.start : before.end] if before is not None else ""
        span = Span(whole.source, now.start, now.end)
        if before is None:
            return "", span.text if "\n" not in span.text and span.text.isprintable() else ""
        return edited_texts(former, span)

    def file_edit(self, path: str) -> str:
        """The changed keys or the first changed line of a file, as text; "" if the former content is unknown, or if the
        file may contain secrets."""
        if path not in self._file_edits:
            texts = self._file_texts(path) if not self._is_secret(path) else ()
            self._file_edits[path] = file_edit(path, texts[0], texts[1], path in self._texts_read) if texts else ""
        return self._file_edits[path]

    def _file_texts(self, path: str) -> tuple[str, ...]:
        """(former content, current content) of a file; empty if one of them is unknown."""
        return (self.former.file_texts(path) if self.former is not None else None) or ()

    def _sides_of(self, unit: ChangedInput) -> tuple[Value, Value]:
        """(former value, current value) of an entry of a file; None for a missing entry."""
        was, now = (part_at(value_of_file(unit.name, text), unit.path) for text in self._file_texts(unit.name))
        return was, now

    def _is_secret(self, path: str) -> bool:
        """Whether a file may contain secrets; True if this is not known."""
        known = self._trials()
        return known is None or known.secret_files.has(path)

    def _root_place(self, unit: ChangedInput) -> ValueLocation:
        return ValueLocation(self.places.context.root, "var", unit.name, path=unit.path)

    def _variable_source(self, place: ValueLocation) -> tuple[Any, str]:
        """(place where a root variable or a part of it is set, kind of this origin as in the relation
        `root_variable`)."""
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
                origin = "default"  # the optional attribute is not set there
        if hidden:
            is_set = given is not None and given.span is not None and origin != "default"
            source = Unquoted.of(source if is_set else decl.span)
        if origin == "command line":
            source = CommandLine(f"-var={place.name}")
        return source, origin

    def _places(self) -> dict[str, ValueLocation]:
        """{name: place} of all places that were added so far."""
        if self._named != len(self._seen):
            for place in islice(self._seen, self._named, None):
                self._by_name[str(place)] = place
            self._named = len(self._seen)
        return self._by_name

    def _check(self, place: ValueLocation) -> None:
        """If causes are checked, find by interventions the inputs that matter to the value at a place, and add facts
        about these inputs."""
        if self.former is None or not self.checks_causes:
            return
        units = self._inputs(place)
        if units is not None and place in self._list_inputs:
            units |= self._list_inputs[place]
        self.checks[str(place)] = units
        if units is not None:
            self._facts.add("tried", str(place), source=self._source(place))
        root = self.places.context.root
        for unit in units or ():
            if unit.kind == "variable":
                self.value(ValueLocation(root, "var", unit.name, None, unit.path))

    def _inputs(self, place: ValueLocation) -> ChangedInputs | None:
        """The inputs that matter to the value at a place; None if they cannot be determined."""
        known = self._trials()
        return known.matters(place) if known is not None else None

    def _trials(self) -> Interventions | None:
        """The interventions that check causes; None if there is no former configuration, or if causes are not
        checked."""
        if self.former is None or not self.checks_causes:
            return None
        if self._interventions is None:
            changes = (change for change in (*self.plan.changes, *self.plan.drift) if change.action != NO_OP)
            self._interventions = Interventions(self.former, self.places, self.variables, changes)
        return self._interventions

    def _compare(self, place: ValueLocation, value: Value, source: Any) -> None:
        """If a former configuration is known, add facts about the former value at a place and about whether the value
        changed."""
        if self.former is None or place.kind in _WITHOUT_VALUES:
            return
        status, text = self.former.status(place, value), str(place)
        if status == "same":
            self._facts.add("stayed", text, source=source)
        elif status == "unknown" and self.former.is_lost(place):
            self._facts.add("lost_value", text, source=source)
        elif status == "other":
            self._facts.add("changed_since", text, source=source)
            was, _ = self.former.value(place)
            if not self.places.is_sensitive(place):
                shown = short_text(was) if was is not None else "nothing"
                self._facts.add("recorded_value", text, shown, source=source)

    def _text_status(self, place: ValueLocation, node: Expression | None = None) -> Status:
        """Whether the expression `node` (None: the whole expression) at a place was edited. "same": the former
        expression at the place contains an equal expression. "other": the expression was edited or is new, so it does
        not show where the former value came from. "unknown": this cannot be determined."""
        whole = self.places.whole_text(place)
        if self.former is None or whole is None:
            return "unknown"
        return self.former.text_status(place, whole.node if node is None else node, whole.node)

    def _repeats_otherwise(self, at: RepetitionLocation) -> bool:
        """Whether an instance is created or destroyed because the repetition `at` changed."""
        keys = self.former.instances(at) if self.former is not None else None
        if keys is not None:
            return (at.key in keys) != (at.key in at.now)
        if self.former is not None and at.key in at.now and self.former.is_new(at.place):
            return False
        return bool(at.before)

    def _other_source(self, place: ValueLocation) -> OtherSource | None:
        """The changed source of a module that contains a place. If the source or version in several calls around the
        place changed, it belongs to the outermost of these calls. None if none changed."""
        if self.former is None:
            return None
        was = self.former.place(place)
        if was is not None:
            return self._changed_source(place.module.config, was.module.config)
        return self._lost_source(place.module) if self.former.lacks(place.module) else None

    def _lost_source(self, module: ModuleInstance) -> OtherSource | None:
        """The changed source of a module that is missing in the former configuration, as recorded. It belongs to the
        outermost call whose module is missing there. None if the source and version in this call did not change."""
        assert self.former is not None
        now, before = self.config.root, self.former.context.config.root
        path = module.config.path
        for name, former_name in zip(path, self.former.names.module(module.text).path, strict=False):
            call, former_call = now.calls.get(name), before.calls.get(former_name)
            if call is None or former_call is None:
                return None
            if former_name not in before.children:
                if (call.source, call.version) == (former_call.source, former_call.version):
                    return None
                words = f"the text of {format_module((part, None) for part in (*now.path, name))}.source"
                return OtherSource(words, call.shown_span, module.config.directory, "")
            now, before = now.children[name], before.children[former_name]
        return None

    def _changed_source(self, module: ModuleConfig, former: ModuleConfig) -> OtherSource | None:
        """The changed source of a module that the former configuration contains. It belongs to the outermost call whose
        source changed. None if there is no such call."""
        if self.former is None or former.directory == module.directory:
            return None
        now, before = self.config.root, self.former.context.config.root
        for name, former_name in zip(module.path, former.path, strict=False):
            call, former_call = now.calls.get(name), before.calls.get(former_name)
            if call is None or former_call is None or name not in now.children or former_name not in before.children:
                return None
            if call.source != former_call.source:
                words = f"the text of {format_module((part, None) for part in (*now.path, name))}.source"
                return OtherSource(words, call.shown_span, module.directory, former.directory)
            now, before = now.children[name], before.children[former_name]
        return None

    # ---------------------------------------------------------------- mentions

    def _mentions(self, place: ValueLocation, unknown: bool, before: Value = None, after: Value = None) -> bool:
        """Add facts about the mentions in the expression at a place, and about the files that the expression reads. If
        `unknown`, add facts about mentions of unknown values and about calls of impure functions instead. Returns
        whether there are any of these. `before`, `after`: the values at the place, if both are known."""
        status = self._text_status(place)
        found = self.places.origins(place, before if status != "other" else None, status == "same")
        if self.former is None and not unknown and not self._is_constant(place):
            self._facts.add("uncompared", str(place), source=self._source(place))
        if found is None:
            return self._in_blocks(place, unknown)
        alone = len(found) == 1
        if alone and before is not None and after is not None and is_json(found[0]):
            found, alone = within_json(found[0], before, after), False
        text, hidden = str(place), self.places.is_sensitive(place)
        some, rewritten = False, False
        other = self._other_source(place)
        own: list[GivenExpression] = []
        texts = set()
        waiting = [(given, alone) for given in reversed(found)]
        while waiting:
            given, direct = waiting.pop()
            mentioned, calls = chains(given.node)
            if not unknown:
                some |= self._files(text, given, calls, other if other is not None and other.has(given) else None)
            status = self._text_status(place, given.node)
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
                    target = target.at(_join_paths(target.path, given.rest), given.fresh)
                    copies = direct and not unknown and len(mentioned) == 1 and not given.key_only
                else:
                    copies = False
                span = self._source(place) if hidden else Span(given.source, chain.start, chain.end)
                for meant, value in self.value(target):
                    if unknown and is_wholly_known(value):
                        self._facts.add("beside_unknown", text, str(meant), source=span)
                        continue
                    some = True
                    self._facts.add("refers_value", text, str(meant), source=span)
                    if unknown and len(meant.path) < len(target.path):
                        self._facts.add("mentions_part", text, str(meant), str(target), source=span)
                    if copies:
                        self._facts.add("copies", text, str(meant), source=span)
                        self._was.setdefault(str(meant), before)
            for call in calls if unknown else ():
                function = None if "::" in call.name.removeprefix("core::") else lookup(call.name)
                if function is not None and function.impure:
                    some = True
                    span = self._source(place) if hidden else Span(given.source, call.start, call.end)
                    self._facts.add("impure", text, call.name, source=span)
        for given in own if some or rewritten or (other is not None and not other.before) else ():
            words, span = f"the text of {text}", self._source(place) if hidden else given.span
            if not hidden and "\n" in span.text:
                span = self._changed_lines(place, given)
            if other is not None and other.has(given):
                words, span = other.words, other.span
            self._facts.add("own_text", text, words, source=span)
            if rewritten:
                self._facts.add("changed_since", words, source=span)
        if not unknown and ((texts == {"same"} and not place.fresh) or self._text_status(place) == "same"):
            self._facts.add("same_text", text, source=self._source(place))
        return some

    def _changed_lines(self, place: ValueLocation, given: GivenExpression) -> Span:
        """The changed part of an expression of several lines, from its first to its last changed line; the whole
        expression if the part cannot be determined."""
        span, whole = given.span, self.places.whole_text(place)
        if self.former is None or whole is None or whole.source is not given.source:
            return span
        was, (before, now) = self.former.text(place), self.former.changed_part(place, whole.node)
        part = Span(span.source, now.start, now.end)
        if was is not None and before is not None and "\n" in part.text:
            part = changed_lines(was.source.text[before.start : before.end], part)
        return part if span.start <= part.start and part.end <= span.end else span

    def _is_constant(self, place: ValueLocation) -> bool:
        """Whether the expression at a place has no references and reads no files, so that only an edit can have changed
        the value."""
        whole = self.places.whole_text(place)
        return whole is not None and not variables(whole.node) and not any(map(uses_files, function_calls(whole.node)))

    def _files(
        self, text: str, given: GivenExpression, calls: Sequence[Call], other: OtherSource | None = None
    ) -> bool:
        """Add facts about the files that an expression reads or lists in the current or the former configuration.
        `text`: the name of the place of the expression. `other`: the change of the module's source; None if it did not
        change. Returns whether the expression uses files."""
        readers = [call for call in calls if uses_files(call) and call.arguments]
        if not readers:
            return False

        def evaluate() -> None:
            given.evaluate(given.node)
            for call in readers if given.bound else ():
                given.evaluate(call)

        with files_used() as used:
            evaluate()
        before = self.former.files_used(evaluate) if self.former is not None else used
        statuses: dict[str, Status] = dict.fromkeys(used.matched ^ before.matched, "other")
        names = {call: given.evaluate(call.arguments[0]) for call in readers}
        places = {locate(name, ""): call for call, name in names.items() if name.__class__ is str}
        named = places.keys() if used.matched == before.matched else set()
        for path in (used.read | before.read | named) - statuses.keys():
            statuses[path] = self.former.file_status(path) if self.former is not None else "unknown"
        for path, status in sorted(statuses.items()):
            if other is not None and self.former is not None and path.startswith(f"{other.directory}/"):
                if self.former.file_status(path, other.before + path.removeprefix(other.directory)) == "other":
                    self._facts.add("own_text", text, other.words, source=other.span)
                    self._facts.add("changed_since", other.words, source=other.span)
                continue
            call = places.get(path) or readers[0]
            file, span = f"file {path}", Span(given.source, call.start, call.end)
            self._facts.add("refers_value", text, file, source=span)
            self._facts.add("read_file", file, source=span)
            if call.name.removeprefix("core::") in ("file", "templatefile"):
                self._texts_read.add(path)
            if status != "unknown":
                self._facts.add("stayed" if status == "same" else "changed_since", file, source=span)
        return bool(statuses)

    def _in_blocks(self, place: ValueLocation, unknown: bool) -> bool:
        some = False
        for node, source in self.places.in_blocks(place):
            given = GivenExpression(node, source, self.places.instance_scope(place), ())
            target = self.places.meant(Chain(node, (), node.start, node.end), given, place)
            for meant, value in self.value(target) if target is not None else ():
                if not unknown or not is_wholly_known(value):
                    some = True
                    span = Span(source, node.start, node.end)
                    self._facts.add("refers_value", str(place), str(meant), source=span)
        for call, source in () if unknown else self.places.file_calls_in_blocks(place):
            given = GivenExpression(call, source, self.places.instance_scope(place), ())
            some |= self._files(str(place), given, [call])
        return some


# ---------------------------------------------------------------- helpers


def _has_text(given: GivenExpression, mentioned: Sequence[Chain]) -> bool:
    """Whether an expression is more than a single mention, and is not computed only from the keys of `for`
    expressions."""
    node, names = given.node, [c.base.root if isinstance(c.base, Traversal) else c.base.name for c in mentioned]
    if any(chain.start == node.start and chain.end == node.end for chain in mentioned):
        return False
    return not names or any(name not in given.bound or given.bound[name].given is not None for name in names)


def element_texts(moved: tuple[Sequence[Value], Sequence[Value]]) -> tuple[str, str] | None:
    """(lost elements, gained elements) as texts, "nothing" if there are none; None if some elements are sensitive.
    `moved`: the result of `gained_and_lost`."""
    gained, lost = (", ".join(map(short_text, items)) or "nothing" for items in moved)
    return None if HIDDEN in f"{gained}{lost}" else (lost, gained)


def _only_difference(before: Value, after: Value) -> Path | None:
    """The path of the only part in which two lists of equal length differ; None for other values."""
    before, after = unmark(before)[0], unmark(after)[0]
    if not all(value.__class__ in (tuple, List) for value in (before, after)):
        return None
    differences = differing(before, after)
    path, is_new = differences[0] if len(differences) == 1 else ((), False)
    return path if path and not is_new else None


def _one_side(was: Value | None, now: Value | None, hidden: bool) -> tuple[str, ...] | None:
    """The two values as whole texts if a value was added or removed; None if both exist, or if a text would be too
    long."""
    if was is not None and now is not None:
        return None
    texts = tuple("nothing" if one is None else whole_text(one, hidden) for one in (was, now))
    return texts if max(map(len, texts)) <= MOST_WHOLE else None


def _step_to(value: Value, gained: Sequence[Value]) -> Path:
    """The path of the first gained element, or of the part with the first gained key, in a value; () if nothing was
    gained."""
    value = unmark(value)[0]
    if not gained:
        return ()
    if value.__class__ in (dict, Map):
        return next(((step,) for step, _ in parts(value) if step[1] == gained[0]), ())
    items = value if value.__class__ is tuple else value.items
    return next(((("index", at),) for at, item in enumerate(items) if item is gained[0]), ())


def _join_paths(path: Path, rest: Path) -> Path:
    """A path with `rest` appended. If the path has the step ANY, the first step of `rest` replaces this step
    instead."""
    if rest and ANY in path:
        at = path.index(ANY)
        return (*path[:at], rest[0], *path[at + 1 :], *rest[1:])
    return (*path, *rest)


def _of_bound(given: GivenExpression, chain: Chain, name: str) -> list[GivenExpression]:
    """The expressions from which a reference to the variable `name` of a `for` expression reads its value; [] for a
    key."""
    bound = given.bound[name].given
    if bound is None:
        return []
    steps = list(chain.base.steps) if isinstance(chain.base, Traversal) else []
    steps += takewhile(lambda s: isinstance(s, (GetAttr, GetIndex)), chain.suffix)
    whole = chain.start == given.node.start and chain.end == given.node.end
    rest = (*bound.rest, *map(path_step, steps), *(given.rest if whole else ()))
    return origins(bound._replace(rest=rest, fresh=given.fresh and whole))


def _without_keys(change: ResourceChange) -> str:
    try:
        module = str(parse_module(change.module).config)
    except AddressError:
        module = change.module
    return format_resource(module, change.mode, change.type, change.name)


# Positions of the literal parts of a value that is set in a variables file or is the default of a variable


class WrittenValues:
    """Finds the positions of literal parts of values in a source text. Each text is parsed only once."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[str, int], Expression | None] = {}

    def part(self, whole: Span, path: Path) -> tuple[Span, bool]:
        """(span, whether the part at `path` may be in this span): the span of the part, or of the smallest literal
        found that contains the part. `whole`: the span of the whole value."""
        node, at = self._node(whole) if path else None, whole
        for _, key in path:
            while isinstance(node, Parens):
                node = node.expr
            if isinstance(node, Object) and all(isinstance(item.key, Literal) for item in node.items):
                given = [item.value for item in node.items if getattr(item.key, "value", None) == key]
                if not given:
                    return at, False
                node = given[-1]
            elif isinstance(node, Tuple) and key.__class__ is int and 0 <= key < len(node.items):
                node = node.items[key]
            else:
                return at, True
            at = Span(whole.source, whole.start + node.start, whole.start + node.end)
        return at, True

    def _node(self, whole: Span) -> Expression | None:
        key = (whole.filename, whole.start)
        if key not in self._nodes:
            self._nodes[key] = _parsed(whole)
        return self._nodes[key]


def part_lines(name: str, value: Value, whole: Span) -> dict[str, int]:
    """{name of a part: line of its key} for the parts of a value that is written as an object, without parts of lists;
    {} if there are more than MOST_LINES. `name`: the name of the value. `whole`: the place of the expression."""
    lines: dict[str, int] = {}

    def visit(node: Expression | None, path: Path, value: Value) -> None:
        while isinstance(node, Parens):
            node = node.expr
        if not isinstance(node, Object) or len(lines) > MOST_LINES:
            return
        items = {item.key.value: item for item in node.items if isinstance(item.key, Literal)}
        for step, part in parts(unmark(value)[0]):
            if (item := items.get(step[1])) is not None:
                lines[place_name(name, (*path, step))] = whole.source.line_number(whole.start + item.key.start)
                visit(item.value, (*path, step), part)

    visit(_parsed(whole), (), value)
    return lines if len(lines) <= MOST_LINES else {}


def _parsed(whole: Span) -> Expression | None:
    from planner.language.syntax.parse import parse_expression

    if whole.filename.endswith(".json"):
        return None
    node, problems = parse_expression(Source(whole.filename, whole.text))
    return None if problems else node
