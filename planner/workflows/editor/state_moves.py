"""`split-state` and `merge-state` move blocks to another root module, and their objects to its state. Before anything
is written, both root modules are planned in memory with the edited files and the future states. The state to which
objects are added is written first, so that each object is always in at least one state."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from planner.engine.evaluation.schemas import Schemas
from planner.engine.walk.hooks import Hooks
from planner.foundation.support.disk import own_reads, view, working_in
from planner.foundation.values.expression_text import expression_text
from planner.foundation.values.value import unmark_deep
from planner.foundation.vocabulary.address import quote
from planner.foundation.vocabulary.diagnostic import Failure, error, has_errors
from planner.foundation.vocabulary.records import evolve
from planner.language.config.directory import ModuleRecord, is_module, read_manifest
from planner.language.config.load import load_tree
from planner.language.config.module_installer import ModuleRecorder
from planner.language.syntax.body import Attribute
from planner.language.syntax.format import format_text
from planner.operations.load import ConfigurationReading, begin, grown, load_values, new_schemas, read_configuration
from planner.operations.options import OperationOptions
from planner.operations.plan import MadePlan, plan_stored
from planner.operations.state_access import Stored, with_backend
from planner.operations.state_edit import entries
from planner.operations.state_mv import StateMove, state_of
from planner.workflows.batch import unit_setup
from planner.workflows.editor.extraction import check_directory
from planner.workflows.editor.key_edits import IMPOSSIBLE, refusal
from planner.workflows.editor.model import Model
from planner.workflows.editor.navigation import DeclaredObject, Edits, mentions
from planner.workflows.editor.pieces import (
    Changes,
    Piece,
    Use,
    cut_text,
    file_edit,
    holder_of,
    module_uses,
    native_body,
    piece_of,
    removal,
    source_edits,
    source_text,
    uses_in,
    whole_lines,
)
from planner.workflows.editor.refactoring import CHANGES, Refactoring, actions, differences_of, target_of, workspace_of
from planner.workflows.editor.state_links import READER, StateLinks, may_read, unlinked
from planner.workflows.editor.symbols import attributes_of
from planner.workflows.editor.texts import TextDocument, uri_of
from planner.workflows.editor.workspace import Workspace, kind_of
from planner.world.state.backend import Store
from planner.world.state.backends.local import LocalBackend, StateStore
from planner.world.state.encryption_seal import PLAIN
from planner.world.state.model import State
from planner.world.state.workspace import data_directory

_MOVED = ("resource", "data", "module", "locals", "output", "check")
_COPIED = ("variable", "locals", "data", "ephemeral", "provider")
"""types of blocks that are copied if blocks in both root modules need them"""
_LOCK = ".terraform.lock.hcl"


# ---------------------------------------------------------------- the two refactorings


def split_state(options: OperationOptions, addresses: Sequence[str], to: str) -> Refactoring:
    """Move blocks and their objects to another root module, in the directory `to`. Raises Failure."""
    workspace = workspace_of(options)
    targets = [target_of(workspace, options, address) for address in addresses]
    if any(module for _, module in targets):
        raise refusal("Only blocks of the root module can move to another root module.")
    source = os.path.abspath(options.directory)
    return _Transfer(options, workspace, source, os.path.abspath(to), [target.key for target, _ in targets]).result()


def merge_state(options: OperationOptions, directory: str) -> Refactoring:
    """Move all blocks and objects of another root module into this one. Raises Failure."""
    source, workspace = os.path.abspath(directory), workspace_of(options)
    check_directory(workspace, source)
    if not is_module(source):
        raise refusal(f"{os.path.relpath(source)} has no configuration files.")
    symbols = workspace.module(source).symbols
    keys = [key for key, places in symbols.items() if _block_type(places[0][1].block) in _MOVED]
    return _Transfer(options, workspace, source, os.path.abspath(options.directory), keys, whole=True).result()


def _block_type(kind: str) -> str:
    return "locals" if kind == "local" else kind


class _Transfer:
    def __init__(
        self,
        options: OperationOptions,
        workspace: Workspace,
        source: str,
        target: str,
        keys: Sequence[str],
        whole: bool = False,
    ) -> None:
        self.options, self.workspace, self.source, self.target, self.whole = options, workspace, source, target, whole
        self._check_places()
        self.symbols = workspace.module(source).symbols
        self.there = workspace.module(target).symbols
        self.moved: dict[str, Piece] = {}
        self.copied: dict[str, Piece] = {}
        for key in dict.fromkeys(keys):
            self._add(key)
        self.links = StateLinks(workspace, source, target)
        self._complete()
        if not any(key and not key.startswith(("local.", "output.", "check.")) for key in self.moved):
            raise refusal("Name at least one resource, data source or module call.")
        self._check_staying()
        self._check_names()
        self.objects = [key for key in self.moved if not key.startswith(("local.", "output.", "check."))]
        self.outputs = [key.partition(".")[2] for key in self.moved if key.startswith("output.")]
        self.values: dict[str, Any] = {}
        self.merged: set[tuple[str, str]] = set()
        """(directory, key) for each data source that is removed, because references to it are replaced with the
        expressions of the outputs that it read"""

    def _check_places(self) -> None:
        """Raises Failure if the directories cannot be two root modules."""
        if self.options.state_path is not None or self.options.state_out is not None:
            raise refusal("-state and -state-out cannot be used: this command changes the states of two directories.")
        if self.source == self.target:
            raise refusal("Both root modules are the same directory.")
        for one in (self.source, self.target):
            check_directory(self.workspace, one)
            if self.workspace.callers(one):
                raise refusal(f"{os.path.relpath(one)} is called as a module, and is not a root module.")

    # ---------------------------------------------------------------- blocks that move

    def _add(self, key: str) -> None:
        piece = piece_of(self.workspace, DeclaredObject(self.source, key))
        if piece.holder.type not in _MOVED:
            raise refusal(f"{key} cannot be moved alone: name resources, data sources, modules and outputs.")
        self.moved[key] = piece

    def _complete(self) -> None:
        """Add the declarations that the moved blocks need. Variables and provider blocks are copied. Local values and
        data sources move if only moved blocks use them; otherwise they are copied. Outputs and checks that refer only
        to moved objects move, too. Raises Failure."""
        done: set[str] = set()
        while True:
            pieces = {**self.moved, **self.copied}
            waiting = [piece for key, piece in pieces.items() if key not in done]
            if not waiting and not self._add_readers():
                return
            for piece in waiting:
                done.add(piece.key)
                for use in uses_in(piece):
                    if use.key in self.symbols and use.key not in pieces:
                        self._need(piece, use)
                for name in self._providers(piece):
                    if name in self.symbols and name not in pieces:
                        self.copied[name] = piece_of(self.workspace, DeclaredObject(self.source, name))

    def _need(self, piece: Piece, use: Use) -> None:
        key = use.key
        if key in self.moved or key in self.copied:
            return
        one = piece_of(self.workspace, DeclaredObject(self.source, key))
        if one.holder.type not in _COPIED:
            self._link(piece.path, use, self.target, f"{piece.key} refers to {key}, which is not moved.")
            return
        everywhere = mentions(self.workspace, DeclaredObject(self.source, key))
        is_own = all(holder_of(self.moved.values(), path, use.start) is not None for path, use in everywhere)
        if is_own and one.holder.type in ("locals", "data"):
            self.moved[key] = one
        else:
            self.copied[key] = one

    def _add_readers(self) -> bool:
        """Move one more output or check, if it refers only to moved objects. Returns whether there was one. Raises
        Failure."""
        for key, places in self.symbols.items():
            if places[0][1].block not in ("output", "check") or key in self.moved or places[0][0].endswith(".json"):
                continue
            piece = piece_of(self.workspace, DeclaredObject(self.source, key))
            kinds = {use.key for use in uses_in(piece) if use.ref.kind in ("resource", "module", "output")}
            if kinds and kinds <= {*self.moved}:
                self.moved[key] = piece
                return True
        return False

    def _link(self, path: str, use: Use, consumer: str, reason: str) -> None:
        """Add a link, so that the root module `consumer` reads the value of a reference from the state of the other
        root module. Raises Failure if this is not possible."""
        if kind_of(path) == "test":
            raise refusal(f"{reason} Remove the reference from the test first.")
        if self.whole or use.role != "value":
            where = f" in {use.role}" if use.role != "value" else ""
            raise refusal(f"{reason} A reference to another root module is not possible{where}: name both blocks.")
        self.links.add(path, use, consumer, reason)

    def _providers(self, piece: Piece) -> Iterator[str]:
        """The keys of the provider blocks that a resource or module call may use."""
        arguments = attributes_of(piece.holder.body) if not isinstance(piece.node, Attribute) else {}
        text = piece.holder.source.text
        if piece.holder.type in ("resource", "data", "ephemeral"):
            own = arguments.get("provider")
            name = source_text(text, own.expr) if own is not None else piece.holder.labels[0].value.partition("_")[0]
            yield f"provider.{name}"
        elif piece.holder.type == "module":
            passed = arguments.get("providers")
            if passed is not None:
                yield from (f"provider.{name}" for name in re.findall(r"=\s*([\w.-]+)", source_text(text, passed.expr)))
            else:
                yield from self._inherited(piece.key.partition(".")[2])

    def _inherited(self, call: str) -> Iterator[str]:
        """The keys of the provider blocks that a called module and the modules below it use if the call has no
        `providers`."""
        root, used = self._deep.root, self._used_below(call)
        yield from (
            f"provider.{one.name}"
            for one in root.providers.values()
            if not one.alias and root.provider_source(one.name) in used
        )

    def _used_below(self, call: str) -> set[str]:
        """The source addresses of the providers that a called module and the modules below it use."""
        used = set[str]()
        children = self._deep.root.children
        for module in children[call].walk() if call in children else ():
            names = (*module.required_providers, *(decl.provider_name for decl in module.resources.values()))
            used |= {module.provider_source(name) for name in names}
        return used

    @cached_property
    def _deep(self) -> Model:
        """The model of the source, including all modules that it calls."""
        return Model(self.workspace, self.source, is_deep=True)

    def _check_staying(self) -> None:
        """Add a link for each reference from a remaining block to a moved block. Raises Failure if the remaining block
        cannot read the value from the other state."""
        for path, use in module_uses(self.workspace, self.source, [] if self.whole else self.moved):
            if (
                use.key in self.moved
                and use.role != "history"
                and holder_of(self.moved.values(), path, use.node.start) is None
            ):
                if self.whole and kind_of(path) == "test":
                    continue
                what = use.block.type + "".join(f" {quote(label.value)}" for label in use.block.labels)
                reason = f"{os.path.relpath(path)} refers to {use.key} in {what}, which is not moved."
                self._link(path, use, self.source, reason)

    def _merge_readers(self, store: Store, other: Store) -> None:
        """For merge-state: remove the data sources with which one root module reads the state of the other, and replace
        the references to them. Raises Failure."""
        for directory, producer, read in ((self.source, self.target, other), (self.target, self.source, store)):
            path = os.path.realpath(read.path) if self.whole and isinstance(read, StateStore) else ""
            for key, edits in unlinked(self.workspace, directory, producer, path) if path else ():
                piece = piece_of(self.workspace, DeclaredObject(directory, key))
                self.merged.add((directory, key))
                self.moved.pop(key, None)
                if directory == self.target:
                    text = self.workspace.document(piece.path).text
                    edits.setdefault(piece.path, []).append(removal(text, piece.start, piece.end))
                for file, changes in edits.items():
                    self.links.changes.setdefault(file, []).extend(changes)

    def _check_readers(self, stores: Iterable[Store]) -> None:
        """Raises Failure if a data source that is not replaced may read one of the two states."""
        states = {os.path.realpath(one.path) for one in stores if isinstance(one, StateStore)}
        for directory in (self.source, self.target) if self.whole or self.there else ():
            for key in self.workspace.module(directory).symbols:
                is_reader = key.startswith(READER) and (directory, key) not in self.merged
                if is_reader and may_read(self.workspace, directory, key, states):
                    detail = f"{key} in {os.path.relpath(directory)} may read one of the two states."
                    raise refusal(f"{detail} Replace the references to it first.")

    def _check_names(self) -> None:
        """Raises Failure if the target declares the name of a moved block, or has a different declaration with the name
        of a copied block or local value. Provider blocks may differ."""
        for key, piece in {**self.moved, **self.copied}.items():
            if key in self.there:
                other = piece_of(self.workspace, DeclaredObject(self.target, key))
                texts = [source_text(p.holder.source.text, p.node) for p in (piece, other)]  # type: ignore[arg-type]
                if key in self.moved and piece.holder.type != "locals":
                    raise refusal(
                        f"{key} is declared in {os.path.relpath(self.target)}, too: rename one of them first."
                    )
                if piece.holder.type != "provider" and texts[0].split() != texts[1].split():
                    where = os.path.relpath(self.target)
                    raise refusal(f"{key} is defined differently in {where}: rename one of them first.")

    # ---------------------------------------------------------------- the texts

    def _cuts(self) -> Edits:
        edits: Edits = {}
        for piece in self.moved.values():
            text, (start, end) = self.workspace.document(piece.path).text, (piece.start, piece.end)
            if piece.key.startswith("local."):
                inside = attributes_of(piece.holder.body)
                if all(f"local.{name}" in self.moved for name in inside):
                    start, end = whole_lines(text, piece.holder.start, piece.holder.end)
            edits.setdefault(piece.path, []).append(removal(text, start, end))
        for path, changes in self.links.changes.items():
            edits.setdefault(path, []).extend(c for c in changes if holder_of(self.moved.values(), path, c[0]) is None)
        own = self.links.blocks(self.source)
        if own:
            path = next(iter(self.moved.values())).path
            end = len(self.workspace.document(path).text)
            last = next((one for one in edits[path] if one[1] == end), (end, end, ""))
            edits[path] = [one for one in edits[path] if one is not last]
            edits[path].append((last[0], end, last[2] + "\n" + "\n".join(own)))
        return edits

    def _text(self, before: MadePlan[Any]) -> str:
        """The content of the new file of the target, with the moved and copied blocks."""
        pieces = [p for key, p in {**self.moved, **self.copied}.items() if key not in self.there]
        pieces.sort(key=lambda piece: (piece.path, piece.start))
        order = ("provider", "variable", "", "output")
        groups: dict[str, list[str]] = {name: [] for name in order}
        locals_ = []
        for piece in pieces:
            text = self.workspace.document(piece.path).text
            if isinstance(piece.node, Attribute):
                start, end = whole_lines(text, piece.node.start, piece.node.end)
                if start <= piece.holder.start:
                    start, end = piece.node.start, piece.node.end
                line = cut_text(text, start, end, self._edits_of(piece))
                locals_.append(line.rstrip("\r\n") + "\n")
            else:
                block = cut_text(text, piece.start, piece.end, self._edits_of(piece)).rstrip("\r\n") + "\n"
                groups[piece.holder.type if piece.holder.type in groups else ""].append(block)
        parts = [*self._requirements(before, pieces), *groups["provider"], *groups["variable"]]
        if locals_:
            parts.append("".join(["locals {\n", *locals_, "}\n"]))
        return "\n".join([*parts, *groups[""], *groups["output"], *self.links.blocks(self.target)])

    def _edits_of(self, piece: Piece) -> Changes:
        """The edits inside the file of a block that is moved or copied: local sources, and references that read the
        other state."""
        text = self.workspace.document(piece.path).text
        sources = source_edits(self.workspace, self.source, piece.holder, text, self.target)
        return sources if self.links.consumer == self.source else [*sources, *self.links.changes.get(piece.path, [])]

    def _requirements(self, before: MadePlan[Any], pieces: Iterable[Piece]) -> Iterator[str]:
        """A `terraform` block with the provider requirements of the moved blocks; nothing if the target has a
        `terraform` block already."""
        if "terraform" in self.there:
            return
        root = before.loaded.config.root
        used = {name.split(".")[1] for piece in pieces for name in self._providers(piece)}
        calls = (piece.key.partition(".")[2] for piece in pieces if piece.holder.type == "module")
        below = {source for call in calls for source in self._used_below(call)}
        used |= {name for name, one in root.required_providers.items() if one.source in below}
        lines = []
        for name in sorted(used & {*root.required_providers}):
            one = root.required_providers[name]
            version = f"      version = {quote(one.version)}\n" if one.version else ""
            source = one.source.removeprefix("registry.opentofu.org/")
            lines.append(f"    {name} = {{\n      source = {quote(source)}\n{version}    }}\n")
        if lines:
            yield format_text(f"terraform {{\n  required_providers {{\n{''.join(lines)}  }}\n}}\n")

    def _values(self, before: MadePlan[Any]) -> str:
        """The content of a variables file with the values of copied variables, except values that are equal to the
        default. The values of sensitive and ephemeral variables are not written to the file, but stored in
        `self.values` for the plan."""
        lines = []
        for key in self.copied:
            kind, _, name = key.partition(".")
            decl = before.loaded.config.root.variables.get(name) if kind == "var" else None
            if decl is None or key in self.there:
                continue
            value = unmark_deep(before.variables[name].value)[0]
            if decl.default is not None and repr(unmark_deep(decl.default)[0]) == repr(value):
                continue
            if decl.sensitive or decl.ephemeral:
                self.values[name] = value
            else:
                lines.append(f"{name} = {expression_text(value)}\n")
        return format_text("".join(lines)) if lines else ""

    # ---------------------------------------------------------------- the check

    def result(self) -> Refactoring:
        """The edits and the move of objects. Raises Failure, for example if the plans of the two root modules would
        change."""
        made = not os.path.isdir(self.target)
        os.makedirs(self.target, exist_ok=True)  # providers need the directory as their working directory
        try:
            return self._outcome()
        finally:
            if made:
                with suppress(OSError):
                    os.removedirs(self.target)

    def _outcome(self) -> Refactoring:
        with (
            state_of(self.options, self.source) as (store, source),
            state_of(self.options, self.target) as (other, target),
        ):
            there = os.path.relpath(self.target)
            if store.seal is not PLAIN and other.seal is PLAIN:
                detail = f"The state of {os.path.relpath(self.source)} is encrypted, and that of {there} would not be"
                raise refusal(f"{detail}: write an encryption block there first.")
            self._merge_readers(store, other)
            self._check_readers((store, other))
            if self.links.producer:
                self.links.read_from(store if self.links.producer == self.source else other, self.options)
            is_local = isinstance(other, StateStore) and not isinstance(store, StateStore)
        source, is_new, target = source or State(), target is None, target or State()
        names = tuple(self.objects), tuple(self.outputs)
        move = StateMove(self.source, self.target, *names, is_new, timestamp=int(time.time()))
        both = {name for name in self.outputs if name in target.outputs}
        if both:
            raise refusal(f"Both states have an output {', '.join(sorted(both))}.")
        before = [self._plan_of(self.source, source)]
        before += [self._plan_of(self.target, target)] if self.there else []
        pending = [c.address for c in before[0].plan.changes if c.previous_address not in ("", c.address)]
        if pending:
            raise refusal(f"{pending[0]} gets its address from a moved block that is not applied yet: apply first.")
        if self.links.producer:
            self.links.look_for_secrets(before[0])
        texts, former = self._files(before[0])
        for path, text in texts.items():
            self.workspace.opened.put(uri_of(path), TextDocument(text or ""))
        try:
            move = self._with_outputs(move, source, target)
            left, given = move.parts(source, target)
            after = [self._plan_of(self.target, given, left)]
            after += [self._plan_of(self.source, left, given)] if not self.whole else []
        except Failure as failure:
            if failure.diagnostics[0].code == IMPOSSIBLE:
                raise
            why = refusal("With the edits, no plan can be made. Nothing was written.")
            raise Failure([*why.diagnostics, *failure.diagnostics]) from None
        sides = [[(made.plan, str) for made in plans] for plans in (before, after)]
        old, new = ({one for plan in side for one in actions(*plan).items()} for side in sides)
        copied = {f"checks of {key}" for key in self.copied}  # both root modules check the copied variable
        copied &= {name for name, _ in old & new}
        if details := [detail for name, detail in differences_of(*sides) if name not in copied]:
            raise Failure([error(CHANGES, "The plan would change", detail) for detail in details])
        secrets = tuple(f"var.{n} is sensitive: set TF_VAR_{n} in {os.path.relpath(self.target)}." for n in self.values)
        place = os.path.relpath(self.target)
        with working_in(self.target), view(self.workspace.overlay()):
            needs_init = unit_setup.is_new(read_configuration(evolve(self.options, directory=".", var_args=())))
        where = f"in {place} " if place != "." else ""
        init = (f"Run planner init {where}before the next plan.",) if needs_init else ()
        local = (f"The state of {there} is a local file, since no backend is configured there.",) if is_local else ()
        known = {str(address) for address, _, _ in entries(source)}
        state = f"the state of {place}" if place != "." else "this state"
        moved = [(str(one), state) for one, _, _ in entries(given) if str(one) in known]
        return Refactoring(texts, former, tuple(moved), states=move, notes=(*secrets, *local, *init))

    def _with_outputs(self, move: StateMove, source: State, target: State) -> StateMove:
        """The move, with the values of the new outputs, which the consumer reads from the producer's state. Raises
        Failure."""
        producer = self.links.producer
        if not producer:
            return move
        made = self._plan_of(producer, move.parts(source, target)[0 if producer == self.source else 1])
        return evolve(move, producer=producer, given=self.links.values(made.plan.outputs))

    def _files(self, before: MadePlan[Any]) -> tuple[dict[str, str | None], dict[str, str | None]]:
        """{path: new content} and {path: former content} of the edited files; None means that the file does not exist.
        Raises Failure."""
        texts: dict[str, str | None] = {}
        former: dict[str, str | None] = {}
        here = {path: one for path, one in self.links.changes.items() if os.path.dirname(path) == self.target}
        for path, edits in (here if self.whole else self._cuts()).items():
            former[path] = self.workspace.document(path).text
            texts[path] = file_edit(former[path] or "", edits)
        for path in self.workspace.module(self.source).files if self.whole else ():
            if kind_of(path) == "configuration":
                native_body(self.workspace, path)
                former[path], texts[path] = self.workspace.document(path).text, None
        name = os.path.basename(self.source if self.whole or self.there else self.target)
        values = self._values(before)
        base = self._free_file(name if self.there else "main", ".tf")
        own = {base: self._text(before)}
        if values:
            own[self._free_file(name, ".auto.tfvars")] = values
        lock = os.path.join(self.source, _LOCK)
        if not self.there and os.path.exists(lock) and not os.path.exists(os.path.join(self.target, _LOCK)):
            own[_LOCK] = self.workspace.document(lock).text
        for one, text in own.items():
            path = os.path.join(self.target, one)
            texts[path], former[path] = text, None
        return texts, former

    def _free_file(self, name: str, ending: str) -> str:
        number = 1
        while os.path.lexists(os.path.join(self.target, f"{name}{f'_{number}' if number > 1 else ''}{ending}")):
            number += 1
        return f"{name}{f'_{number}' if number > 1 else ''}{ending}"

    def _plan_of(self, directory: str, state: State, other: State | None = None) -> MadePlan[Any]:
        """The plan of the root module in `directory`, with this state and the edited files in memory. Raises
        Failure."""
        is_here = directory == os.path.abspath(self.options.directory)
        own = self.options if is_here else evolve(self.options, var_args=())
        if directory == self.target:
            own = evolve(own, inputs={**own.inputs, **self.values})
        paths = (
            own.var_args
            if not is_here
            else tuple((k, os.path.abspath(t) if k == "var-file" else t) for k, t in own.var_args)
        )
        with working_in(directory), view(self.workspace.overlay()), own_reads():
            coming = self.links.coming_states(directory, other) if other is not None else {}
            begun, problems = begin(evolve(own, directory=".", var_args=paths, coming_states=coming))
            recorder = ModuleRecorder(self._records(directory), ".", None)
            config, more = load_tree(".", variables=begun.given, workspace=begun.workspace, locate=recorder.locate)
            if has_errors(problems := [*problems, *more]):
                raise Failure(problems)
            loaded = ConfigurationReading(begun, config, (), tuple(problems)).loaded()
            schemas = self._schemas(loaded.config)
            try:
                opened_ = with_backend(evolve(loaded, schemas=schemas), LocalBackend())
                schemas.serve(state)
                variables, problems = load_values(loaded)
                if has_errors(problems):
                    raise Failure(problems)
                planned = plan_stored(grown(Stored, opened_, state=state), variables, Hooks())
            finally:
                schemas.close()
        if planned.complete is None:
            raise Failure([one for one in planned.diagnostics if one.is_error])
        return planned.complete

    def _records(self, directory: str) -> dict[str, ModuleRecord]:
        """The manifest entries of the modules that are installed in the two directories, with paths relative to
        `directory`."""
        result = {}
        for other in (self.source if directory == self.target else self.target, directory):
            for key, one in read_manifest(other, data_directory(os.environ))[0].items():
                place = os.path.relpath(os.path.join(other, one.directory), directory)
                result[key] = evolve(one, directory=one.directory if other == directory else place)
        return result

    def _schemas(self, config: Any) -> Schemas:
        """The provider schemas for a configuration. Each provider has the version that is installed in the source or,
        if it is not installed there, in the target."""
        places = [new_schemas(one, config) for one in (self.source, self.target)]

        def start(address: str) -> Any:
            try:
                return places[0].new_provider(address)
            except Failure as failure:
                with suppress(Failure):
                    return places[1].new_provider(address)
                raise failure

        return Schemas(start)


def from_record(entry: Mapping[str, Any], directory: str) -> StateMove:
    """The move of objects in an entry of the record of refactorings. Raises Failure if the entry is not valid."""
    try:
        paths = [entry[one] for one in ("source", "target", "producer")]
        source, target, producer = (os.path.normpath(os.path.join(directory, one)) if one else "" for one in paths)
        names = [tuple(map(str, entry[one])) for one in ("objects", "outputs")]
        given, timestamp = dict.fromkeys(entry["given"]), int(entry.get("timestamp", 0))
        return StateMove(source, target, names[0], names[1], bool(entry["is_new"]), producer, given, timestamp)
    except (KeyError, TypeError, AttributeError, ValueError):
        detail = "The record of refactorings is damaged: it does not list the moved objects. Delete the record."
        raise refusal(detail) from None
