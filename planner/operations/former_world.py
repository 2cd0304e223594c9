"""The former configuration and inputs with which a plan is compared. They come from the git revision in `-since`, from
the record next to the state, or from a commit that the environment implies."""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from planner.answers.explain.causes import UNRECORDED
from planner.answers.explain.former_names import FormerNames, former_addresses
from planner.answers.explain.former_world import FormerWorld, Status
from planner.engine.evaluation.lazy import LazyContext
from planner.engine.evaluation.objects import StateObjects, UnknownAttributes
from planner.foundation.support.disk import (
    ChangedError,
    Entry,
    Tree,
    TreeEntry,
    UnrecordedError,
    list_directory,
    read_whole,
    view,
)
from planner.foundation.values.json_codec import CodecError, from_json
from planner.foundation.values.types import type_from_json
from planner.foundation.values.value import UNKNOWN, Null
from planner.foundation.vocabulary.address import InstanceKey, ResourceAddress, format_module, parse_resource_instance
from planner.foundation.vocabulary.records import evolve
from planner.language.config.directory import fits, module_key, read_manifest
from planner.language.config.load import Locate, load_tree
from planner.language.config.model import ModuleCall, ModulePath
from planner.language.config.variables import RawValue, RawVariables, root_variables
from planner.logic.model.plan import OutputChange, ResourceChange
from planner.operations.input_record import KEY, StateEntries, is_encrypted, locked_versions, record_of
from planner.operations.load import load_variables
from planner.operations.plan import MadePlan
from planner.world.state.backend import Store, open_backend
from planner.world.state.build import StateBuilder
from planner.world.state.input_record import CREATED, DESTROYED, ApplyInputs, InputRecord, with_salt
from planner.world.state.model import State
from planner.world.state.workspace import data_directory

if TYPE_CHECKING:
    from planner.world.git.tree import GitTree

_MOST_NAMED = 3
"""maximum number of modules in a note"""


class FormerWorlds:
    """The former configurations and inputs of a plan's objects. They come from the last apply of each object, or for
    all objects from one commit. Implements FormerWorldsOf."""

    def __init__(self, made: MadePlan[Any]) -> None:
        self._made = made
        self._record: InputRecord | None = None
        self._worlds: dict[str, FormerWorld] = {}
        self._git: FormerWorld | None = None
        self.assumes = False
        self.origin = ""
        self.notes: list[str] = []
        self._begin()

    def _begin(self) -> None:
        options = self._made.loaded.options
        store = store_of(self._made)
        record = record_of(store, self._made.plan.previous_state) if store is not None else None
        if not options.since:
            self._record = record
            if self._record is not None and self._record.runs:
                self.origin = "record"
                return
            if store is not None and self._record is None and is_encrypted(store):
                self.notes.append(f"The record of the last apply is encrypted, and {KEY} does not contain its key.")
            if store is not None and self._record is None and not store.shares_documents:
                self.notes.append(
                    f"{store.place} stores only the state, so the record of an apply is only in the working directory "
                    "of that apply. Compare with a commit: -since=main"
                )
        ref = options.since or self._implied()
        if ref:
            run = record.runs.get(record.latest) if record is not None else None
            self._git, self.assumes = _of_git(self._made, ref, run)
            if lost := [format_module((name, None) for name in path) for path in sorted(self._git.lost)]:
                more = f" and {len(lost) - _MOST_NAMED} more" if len(lost) > _MOST_NAMED else ""
                names = f"{', '.join(lost[:_MOST_NAMED])}{more}"
                self.notes.append(f"The former version of {names} is not installed, so nothing in it is compared.")
            self.origin = ref
        elif not self.notes:
            self.notes.append(UNRECORDED)

    def doubt(self) -> None:
        """From now on, treat former values that git does not contain as unknown. Before this call, they count as
        unchanged."""
        self.assumes = False
        self._git, _ = _of_git(self._made, self.origin, None, doubts=True)

    def _implied(self) -> str:
        """The commit with which the plan is compared if there is no record; "" if there is no such commit."""
        from planner.world.git.revisions import implied_base

        base = implied_base(os.environ, self._made.loaded.options.directory)
        if base is None:
            return ""
        if not base.commit:
            self.notes.append(f"{base.name} ({base.reason}) cannot be read. {base.hint}")
        return base.commit

    def of(self, change: ResourceChange | OutputChange | None) -> FormerWorld | None:
        """The former configuration and inputs of a change; if `change` is None, the latest ones. None if no former
        configuration is known."""
        record = self._record
        if record is None:
            return self._git
        named = ""
        if isinstance(change, ResourceChange):
            named = change.previous_address or change.address
        elif change is not None:
            named = f"output.{change.name}"
        key = record.run_of(named)
        if isinstance(change, ResourceChange) and change.before.__class__ is Null:
            known = record.objects.get(named)
            latest = self._world_of(record, key) if known is None else None
            if known is not None or (latest is not None and latest.declares(named)):
                key = known or record.latest_whole or key
        return self._world_of(record, key)

    def _world_of(self, record: InputRecord, key: str) -> FormerWorld | None:
        """The configuration and inputs of one recorded apply (`key`); None if the record does not contain this
        apply."""
        if key in record.runs and key not in self._worlds:
            self._worlds[key] = _of_record(self._made, record, record.runs[key], self._entry)
        return self._worlds.get(key)

    def _entry(self, address: str) -> Status:
        """Whether the object of an instance in the state is the one that the last apply wrote: `same`, `other`, or
        `unknown` if no digest is recorded."""
        record = self._record
        assert record is not None
        digest = self._entries.digest(address)
        return "unknown" if not digest or not record.entries else "same" if digest in record.entries else "other"

    @cached_property
    def _entries(self) -> StateEntries:
        assert self._record is not None
        return StateEntries(self._made.plan.previous_state, self._made.loaded.schemas, self._record.salt)


def store_of(made: MadePlan[Any]) -> Store | None:
    """The store of the state from which the plan was made. For a plan in a file, the backend that the plan contains is
    opened. None if it cannot be opened."""
    known: Store | None = getattr(made.loaded, "store", None)
    if known is not None:
        return known
    settings = dict(made.plan.backend)
    seal = made.loaded.encryption.state
    backend, problems = open_backend(str(settings.pop("type", "local")), settings, seal)
    return backend.store(made.loaded.workspace) if backend is not None and not problems else None


def _of_record(
    made: MadePlan[Any], record: InputRecord, run: ApplyInputs, entry: Callable[[str], Status]
) -> FormerWorld:
    def locate(path: ModulePath, call: ModuleCall, parent: str, problems: Any) -> str | None:
        return run.modules.get(".".join(path))

    given: RawVariables = {name: _raw_value(name, one) for name, one in run.variables.items()}
    tree = RecordedTree(made.loaded.options.directory, record, run)
    later, created = _applied_later(record, run)
    state = StateBuilder(_moved_back(made, run.names))
    for of in created:
        state.remove_object(str(of.resource), of.key)
    state.remove_empty()
    world = _world(made, tree, locate, given, state.snapshot(), run.providers, run.names, later)
    world.is_whole, world.entry, world.has_entries = run.is_whole, entry, True
    tables = (one["lines"] for one in run.variables.values() if isinstance(one.get("lines"), dict))
    world.lines = {str(name): line for table in tables for name, line in table.items() if isinstance(line, int)}
    world.created = {str(of.resource) for of in created}
    world.destroyed = {address for address, names in record.altered.items() if DESTROYED in names}
    return world


def _moved_back(made: MadePlan[Any], names: Mapping[str, str]) -> State:
    """The state before this plan and the recorded moves changed addresses. `names`: {address: former address} of the
    recorded moves."""
    from planner.engine.plan.moves import undo_moves

    return undo_moves(made.plan.previous_state, former_addresses(made.plan.changes, names))


def _applied_later(record: InputRecord, run: ApplyInputs) -> tuple[UnknownAttributes, list[ResourceAddress]]:
    """The attributes that later applies changed, and the instances that later applies created. The values that these
    attributes had after this apply (`run`) are not recorded."""
    later: dict[str, dict[InstanceKey, frozenset[str]]] = {}
    created = []
    for address, serials in record.altered.items():
        names = frozenset(name for name, serial in serials.items() if serial > run.serial)
        of = parse_resource_instance(run.names.get(address, address))
        if CREATED in names and DESTROYED not in names:
            created.append(of)
        elif names:
            later.setdefault(str(of.resource), {})[of.key] = names if DESTROYED not in names else frozenset(("",))
    return later, created


def _of_git(made: MadePlan[Any], ref: str, run: ApplyInputs | None, doubts: bool = False) -> tuple[FormerWorld, bool]:
    """The configuration and inputs at a git revision, and whether some inputs have values that git does not contain.
    With a recorded apply (`run`), a variable that -var sets has the value of that apply if it was recorded, otherwise
    the value at the revision. Without a recorded apply, values that git does not contain count as unchanged or, with
    `doubts`, as unknown. Raises Failure if the revision cannot be read."""
    from planner.world.git.tree import git_tree

    options = made.loaded.options
    tree = git_tree(options.directory, ref)
    manifest, _ = read_manifest(options.directory, data_directory(os.environ))

    def locate(path: ModulePath, call: ModuleCall, parent: str, problems: Any) -> str | None:
        if call.source_kind == "local":
            return posixpath.normpath(posixpath.join(parent, call.source))
        record = manifest.get(module_key(path))
        if record is not None and fits(record, call, options.directory):
            return record.directory
        lost.add(path)
        return None

    lost: set[ModulePath] = set()
    own = [text.partition("=")[0].strip() for kind, text in options.var_args if kind == "var"]
    now = set(own if run is not None else ())
    files = tuple((kind, text) for kind, text in options.var_args if kind != "var" or run is None)
    with view(tree):
        given, _ = load_variables(evolve(options, var_args=files))
        present, _ = load_variables(options)
        providers = locked_versions(options.directory)
    if run is not None:
        given |= {name: _raw_value(name, one) for name, one in run.variables.items() if name in now}
    outside = [one for one in given.values() if _is_outside(one, tree)] if run is None else []
    if doubts:
        given |= {one.name: RawValue(one.name, one.origin, given=UNKNOWN) for one in outside}
    unset = {name: present[name] for name in now - given.keys() if name in present}
    world = _world(made, tree, locate, given, _moved_back(made, {}), providers, lost=lost, unset=unset)
    return world, bool(outside)


def _is_outside(one: RawValue, tree: GitTree) -> bool:
    """Whether git does not contain a value, because the value comes from the command line, the environment or an
    ignored file."""
    span = one.span
    if span is None or one.origin in ("command line", "environment"):
        return True
    return os.path.realpath(span.filename) in {os.path.realpath(f"{tree.root}/{name}") for name in tree.taken_from_disk}


def _raw_value(name: str, one: dict[str, Any]) -> RawValue:
    try:
        value = from_json(one["value"], type_from_json(one["type"]))
    except (ValueError, KeyError, CodecError):
        value = UNKNOWN
    return RawValue(name, "plan", given=value)


def _world(
    made: MadePlan[Any],
    tree: Tree,
    locate: Locate,
    given: RawVariables,
    state: State,
    providers: Mapping[str, str],
    names: Mapping[str, str] = MappingProxyType({}),
    later: UnknownAttributes = MappingProxyType({}),
    lost: Collection[ModulePath] = (),
    unset: Mapping[str, RawValue] = MappingProxyType({}),
) -> FormerWorld:
    """The values of a former configuration, evaluated with the objects of a state. `unset`: {variable: current value};
    these are used for variables that have neither a former value nor a default."""
    loaded, plan = made.loaded, made.plan
    with view(tree):
        config, _ = load_tree(
            loaded.options.directory,
            variables=given,
            workspace=loaded.workspace,
            locate=locate,
            directory=loaded.config.root.directory,
        )
        declared = config.root.variables
        given = {**{n: raw for n, raw in unset.items() if n in declared and declared[n].default is None}, **given}
        values, _ = root_variables(declared, given)
    objects = StateObjects(state, loaded.schemas, later)
    context = LazyContext(config, values, loaded.schemas, objects, loaded.workspace, plan.timestamp or None)
    with view(tree):
        for address in sorted(of for of, instances in later.items() if any("" in some for some in instances.values())):
            resource = parse_resource_instance(address)
            module = context.module(resource.module)
            if module is not None and resource.relative in module.config.resources:
                module.resource(resource.relative).hide()
    return FormerWorld(context, FormerNames.of(plan.changes, names), tree, providers, lost, later)


_CONFIGURATION = (".tf", ".tofu", ".tf.json", ".tofu.json")


class RecordedTree:
    """A tree with the files of a recorded apply: the configuration files, and the files that functions read. A file
    that functions read and that is unchanged is read from disk; all other contents come from the record."""

    root = "/"

    def __init__(self, directory: str, record: InputRecord, run: ApplyInputs) -> None:
        self._directory, self._record, self._run = os.path.realpath(directory), record, run
        self._folders = {posixpath.dirname(name) for name in run.files}

    def read(self, name: str) -> bytes:
        """See Tree. Raises UnrecordedError if the file is not recorded, and ChangedError if it has changed since and
        its content is not recorded."""
        path = f"/{name}"
        relative = os.path.relpath(path, self._directory)
        key = self._run.files.get(relative) or self._run.files.get(path)
        if key is not None:
            text = self._record.sources.get(key)
            if text is None:
                raise UnrecordedError
            return text.encode("utf-8", "surrogatepass")
        known = self._run.read.get(relative)
        if known is None:
            names = self._run.listed.get(posixpath.dirname(relative) or ".")
            if names is not None and posixpath.basename(relative) not in names:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            raise UnrecordedError
        data = _content(path)
        if data is not None and with_salt(self._record.salt, data) == known[0]:
            return data
        text = self._record.sources.get(known[1])
        if text is None:
            raise ChangedError
        return text.encode()

    def entries(self, directory: str) -> Iterable[Entry]:
        """See Tree. Returns the recorded names or, for a directory that is not recorded, the current names. The names
        of configuration files in module directories always come from the record."""
        relative = os.path.relpath(f"/{directory}", self._directory)
        folder = "" if relative == "." else relative
        names = self._run.listed.get(relative)
        if names is None:
            with view(None):
                others: list[Entry] = list(list_directory(f"/{directory}"))
        else:
            others = [TreeEntry(name.rstrip("/"), name.endswith("/")) for name in names]
        if folder not in self._folders:
            return others
        own = [posixpath.basename(name) for name in self._run.files if posixpath.dirname(name) == folder]
        kept = [entry for entry in others if not entry.name.endswith(_CONFIGURATION)]
        return [*(TreeEntry(name, False) for name in own), *kept]


def _content(path: str) -> bytes | None:
    with view(None):
        try:
            return read_whole(path)
        except (OSError, ValueError):
            return None
