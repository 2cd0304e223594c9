"""Links two root modules when blocks move from one to the other. Afterwards, one of them reads outputs of the other
from its state."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from planner.engine.plan.options import ComingState
from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import is_wholly_known, type_of, unmark_deep
from planner.foundation.vocabulary.address import quote
from planner.foundation.vocabulary.records import evolve
from planner.language.config.model import Expr
from planner.language.syntax.format import format_text
from planner.language.syntax.nodes import GetAttr
from planner.logic.model.plan import OutputChange
from planner.operations.explanations import explainer_of
from planner.operations.load import selected_workspace
from planner.operations.options import OperationOptions
from planner.operations.plan import MadePlan
from planner.workflows.editor.key_edits import refusal
from planner.workflows.editor.model import Model
from planner.workflows.editor.navigation import DeclaredObject, Edits
from planner.workflows.editor.pieces import (
    REFERENCE,
    Changes,
    Use,
    free_name,
    module_uses,
    piece_of,
    plain_name,
    relative_source,
    source_text,
)
from planner.workflows.editor.symbols import attributes_of, literal
from planner.workflows.editor.workspace import Workspace
from planner.world.state.backend import DEFAULT_WORKSPACE, Store, state_identity
from planner.world.state.backends.local import StateStore
from planner.world.state.encryption_seal import PLAIN
from planner.world.state.model import OutputState, State

READER = "data.terraform_remote_state."
"""prefix of the addresses of data sources that read a state"""


class StateLinks:
    """The outputs of one root module (the producer) that the other root module (the consumer) reads after blocks have
    moved from `source` to `target`."""

    def __init__(self, workspace: Workspace, source: str, target: str) -> None:
        self.workspace, self.source, self.target = workspace, source, target
        self.symbols, self.there = workspace.module(source).symbols, workspace.module(target).symbols
        self.consumer = ""
        """directory of the root module that reads outputs of the other; "" if neither does"""
        self._reason = ""
        self._secrets = frozenset[str]()
        """outputs with sensitive values"""
        self._path = ""
        """path of the producer's state, relative to the consumer"""
        self.changes: dict[str, Changes] = {}
        """{file of the source: edits of references}"""
        self._outputs: dict[tuple[str, str], tuple[str, str]] = {}
        """{(object, attribute): (name of the output, source of its value)}"""

    def add(self, path: str, use: Use, consumer: str, reason: str) -> None:
        """Add an output and an edit, so that the root module `consumer` reads the value of a reference from the state
        of the other root module. `reason`: why, for messages. Raises Failure."""
        if self.consumer not in ("", consumer):
            detail = "The two root modules would read each other's states: name more blocks, or fewer."
            raise refusal(f"{self._reason} {reason} {detail}")
        self.consumer, self._reason = consumer, self._reason or reason
        steps = use.base + (1 if use.attribute else 0)
        source = self.workspace.document(path).text[use.node.start : use.end(steps)]
        of = (use.key, use.attribute)
        if of not in self._outputs:
            taken = [key[7:] for key in (*self.symbols, *self.there) if key.startswith("output.")]
            taken += [name for name, _ in self._outputs.values()]
            self._outputs[of] = free_name(plain_name(use, not use.attribute), taken), source
        text = f"{READER}{self._reader}.outputs.{self._outputs[of][0]}"
        self.changes.setdefault(path, []).append((use.node.start, use.end(steps), text))

    @property
    def producer(self) -> str:
        """The directory of the root module whose outputs the other root module reads; "" if there is none."""
        return {self.source: self.target, self.target: self.source}.get(self.consumer, "")

    @property
    def _reader(self) -> str:
        """The name of the data source that reads the other state."""
        known = self.symbols if self.consumer == self.source else {**self.there, **self.symbols}
        return free_name(os.path.basename(self.producer), (key.removeprefix(READER) for key in known))

    def blocks(self, directory: str) -> list[str]:
        """The new blocks for the root module in a directory: outputs for the producer, and the data source that reads
        them for the consumer."""
        if directory == self.producer:
            lines = {name: "sensitive = true\n" if name in self._secrets else "" for name, _ in self._outputs.values()}
            outputs = self._outputs.values()
            return [format_text(f"output {quote(n)} {{\nvalue = {source}\n{lines[n]}}}\n") for n, source in outputs]
        if directory != self.consumer:
            return []
        config = f'  backend = "local"\n  config = {{\n    path = {quote(self._path)}\n  }}\n'
        return [format_text(f'data "terraform_remote_state" {quote(self._reader)} {{\n{config}}}\n')]

    def look_for_secrets(self, made: MadePlan[Any]) -> None:
        """Determine which outputs are sensitive. `made`: a plan of the root module `source` before
        the move."""
        places, secrets = explainer_of(made).places, list[str]()
        for name, source in self._outputs.values():
            place = places.read(source)
            if place is not None and places.is_sensitive(place):
                secrets.append(name)
        self._secrets = frozenset(secrets)

    def read_from(self, store: Store, options: OperationOptions) -> None:
        """Make the consumer read the producer's state from this store. Raises Failure if the state is not a plain local
        file of the default workspace."""
        workspace, _ = selected_workspace(evolve(options, directory=self.producer))
        if not isinstance(store, StateStore) or store.seal is not PLAIN or workspace != DEFAULT_WORKSPACE:
            detail = f"{self._reason} The other root module would have to read this value from the state of"
            detail = f"{detail} {os.path.relpath(self.producer)}, which is not a plain local file"
            raise refusal(f"{detail}{'' if workspace == DEFAULT_WORKSPACE else ' of the default workspace'}.")
        self._path = relative_source(self.consumer, os.path.join(self.producer, store.path))

    def values(self, planned: Iterable[OutputChange]) -> dict[str, OutputState | None]:
        """The new outputs with their planned values, as {name: value}. `planned`: the outputs in the producer's plan.
        Raises Failure if a value is not known."""
        names = {name for name, _ in self._outputs.values()}
        result: dict[str, OutputState | None] = {}
        for one in planned:
            if one.name in names:
                plain = unmark_deep(one.after)[0]
                if not is_wholly_known(plain):
                    raise refusal(
                        f"output.{one.name} is not known before an apply, and the other root module needs it."
                    )
                result[one.name] = OutputState(plain, type_of(plain) or DYNAMIC, one.sensitive)
        return result

    def coming_states(self, directory: str, other: State) -> dict[str, ComingState]:
        """{name of the producer's state: the outputs in the state `other`}, for planning the consumer before the
        producer's state is written. Empty if the root module in `directory` is not the consumer."""
        name = state_identity("local", {"path": self._path}, "default") if directory == self.consumer else None
        return {name: ComingState("", {name: one.value for name, one in other.outputs.items()})} if name else {}


def may_read(workspace: Workspace, directory: str, key: str, states: Iterable[str]) -> bool:
    """Whether a data source reads one of these state files; True if it is not known which file it reads."""
    path = _state_read(workspace, directory, key)
    return not path or path in states


def _state_read(workspace: Workspace, directory: str, key: str) -> str:
    """The path of the state file that a data source reads; "" if it is unknown. Raises Failure."""
    arguments = attributes_of(piece_of(workspace, DeclaredObject(directory, key)).holder.body)
    config = arguments.get("config")
    value = Model(workspace, directory).value(Expr(config.expr, config.source), key) if config else None
    settings = unmark_deep(value)[0] if value is not None else None
    path = settings.get("path") if isinstance(settings, dict) else None
    is_local = "backend" in arguments and literal(arguments["backend"].expr) == "local"
    return os.path.realpath(os.path.join(directory, path)) if is_local and isinstance(path, str) else ""


def unlinked(workspace: Workspace, directory: str, producer: str, state: str) -> Iterator[tuple[str, Edits]]:
    """(key, edits) for each data source in the root module `directory` that reads the file `state`, which is the state
    of the root module `producer`. The edits replace references to the data source with the expressions of the
    producer's outputs. Data sources with count are left out. Raises Failure."""
    for key in [one for one in workspace.module(directory).symbols if one.startswith(READER)]:
        edits: Edits = {}
        if "count" in attributes_of(piece_of(workspace, DeclaredObject(directory, key)).holder.body):
            continue
        uses = module_uses(workspace, directory, [key]) if _state_read(workspace, directory, key) == state else None
        for path, use in uses or ():
            names = [step.name for step in use.node.steps[use.base :] if isinstance(step, GetAttr)]
            if use.key != key:
                continue
            if use.role != "value" or names[:1] != ["outputs"] or len(names) < 2:
                raise refusal(f"{os.path.relpath(path)} refers to {key}, but not to one of its outputs.")
            output = piece_of(workspace, DeclaredObject(producer, f"output.{names[1]}"))
            value = attributes_of(output.holder.body)["value"].expr
            text = source_text(workspace.document(output.path).text, value)
            text = text if REFERENCE.match(text) else f"({text})"
            edits.setdefault(path, []).append((use.node.start, use.end(use.base + 2), text))
        if uses is not None:
            yield key, edits
