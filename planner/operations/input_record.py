"""Records the inputs of each apply next to the state, so that later plans can explain changes."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from planner.engine.evaluation.context import NoObjects
from planner.engine.evaluation.lazy import LazyContext
from planner.engine.evaluation.repetition import expand
from planner.engine.evaluation.schemas import Schemas
from planner.foundation.support.disk import (
    absolute_path,
    files_used,
    is_directory,
    list_directory,
    looked_at,
    on_disk,
    read_whole,
)
from planner.foundation.support.exact_json import dumps, orjson
from planner.foundation.values.json_codec import CodecError, to_json
from planner.foundation.values.schema import contains
from planner.foundation.values.types import type_to_json
from planner.foundation.values.value import identical, is_wholly_known, type_of, unmark_deep
from planner.foundation.vocabulary.address import format_instance, format_key, parse_resource_instance
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.language.config.variables import RootVariable
from planner.language.expressions.evaluate import try_evaluate
from planner.language.functions.file_names import locate
from planner.language.syntax.body import variables as mentions
from planner.language.syntax.nodes import Call
from planner.logic.model.plan import Plan
from planner.operations.plan import MadePlan, Start
from planner.world.state.backend import APPLIED, TAINTS, Store, document_not_saved
from planner.world.state.encryption_seal import Seal
from planner.world.state.input_record import (
    CREATED,
    DESTROYED,
    LEAST_BYTES,
    MAX_BYTES,
    ApplyInputs,
    InputRecord,
    fit,
    new_record,
    read_record,
    record_bytes,
    rename,
    with_run,
    with_salt,
)
from planner.world.state.model import ObjectState, State
from planner.world.state.taint_record import TaintOrigin, read_taints, taints_bytes

if TYPE_CHECKING:
    from planner.answers.documents.recorded_sources import FileReader


_LONGEST_VALUE = 1 << 16
"""maximum size of a recorded value in bytes"""
_REPLACED = "\ufffd".encode()
"""the replacement of a character that UTF-8 cannot encode"""

KEY = "PLANNER_RECORD_KEY"
"""the environment variable with the secret that encrypts the records of states that are not encrypted"""
_ENCRYPTION = """
key_provider "pbkdf2" "record" { passphrase = SECRET }
method "aes_gcm" "record" { keys = key_provider.pbkdf2.record }
state { method = method.aes_gcm.record }
"""

_MOST_NAMES = 5000
"""maximum number of names in a directory whose names are recorded"""


def record_of(store: Store, state: State) -> InputRecord | None:
    """The record of inputs next to a state; None if there is no record that can be read and has the lineage of the
    state."""
    data = store.beside(APPLIED)
    record = read_record(data) if data is not None else None
    if data is not None and record is None and os.environ.get(KEY):
        with suppress(Failure):
            record = read_record(_key_seal(os.environ[KEY]).unseal_document(APPLIED, data).data)
    return record if record is not None and record.lineage == state.lineage else None


def is_encrypted(store: Store) -> bool:
    """Whether the record is encrypted separately from the state."""
    data = store.beside(APPLIED)
    return data is not None and b'"encrypted_data"' in data


def keep_record(
    made: MadePlan[Start], before: State, after: State, whole: bool, approval: Mapping[str, str]
) -> list[Diagnostic]:
    """Record the inputs of an apply. `before`, `after`: the states before and after it. `whole`: whether the plan was
    made without -target and -exclude, and applied without errors. `approval`: the digest of the signed plan, and the
    times of the required signatures. Returns problems."""
    from planner.answers.documents.recorded_sources import recorded_sources

    store, plan, loaded = made.loaded.store, made.plan, made.loaded
    known = rename(record_of(store, after) or new_record(after.lineage), moves_of(plan))
    secret = os.environ.get(KEY, "") if store.seal.is_plain else ""
    encrypted = bool(secret) or not store.seal.is_plain
    recorded = recorded_sources(loaded.config, loaded.schemas, encrypted)
    read, contents = _files_read(made, recorded.readers, known.salt, encrypted)
    keys = {name: with_salt("", text.encode("utf-8", "surrogatepass")) for name, text in recorded.texts.items()}
    run = ApplyInputs(
        after.serial,
        whole,
        keys,
        {".".join(module.path): module.directory for module in loaded.config.root.walk() if module.path},
        _variables(made.variables, recorded.variables),
        read,
        _names_listed(loaded.options.directory),
        locked_versions(loaded.options.directory),
        approval=approval,
    )
    sources = {keys[name]: text for name, text in recorded.texts.items()} | contents
    entries = StateEntries(after, loaded.schemas, known.salt).digests()
    left = () if whole else _instances_left(plan, before, after)
    gone = () if whole else _objects(before).keys() - _objects(after).keys() - set(moves_of(plan).values())
    most = min(max(store.size, LEAST_BYTES), MAX_BYTES)
    altered = {} if whole else _altered(before, after, moves_of(plan))
    data = record_bytes(fit(with_run(known, run, sources, left, entries, gone, altered), most))
    try:
        return store.put_beside(APPLIED, _key_seal(secret).seal_document(APPLIED, data) if secret else data)
    except Failure as failure:
        return document_not_saved(APPLIED, store.place, failure)


def _key_seal(secret: str) -> Seal:
    """The encryption of a record with a team's secret. Raises Failure if the secret is too short."""
    from planner.operations.encryption_seals import Encrypted

    passphrase = orjson.dumps(secret).decode().replace("${", "$${").replace("%{", "%%{")
    return Encrypted(None, {}, "", _ENCRYPTION.replace("SECRET", passphrase)).state


def keep_moves(store: Store, state: State, moves: Mapping[str, str]) -> list[Diagnostic]:
    """Update the record of inputs and the origins of taints after objects moved in the state, which was just written.
    `moves`: {current address: former address}. Returns problems."""
    record, taints = record_of(store, state), taints_of(store, state)
    if not moves:
        return []
    problems = store.put_beside(APPLIED, record_bytes(rename(record, moves))) if record is not None else []
    return problems + keep_taints(store, state, {now: taints[was] for now, was in moves.items() if was in taints})


def moves_of(plan: Plan) -> dict[str, str]:
    """{current address: former address} of the objects that a plan moves."""
    return {
        change.address: change.previous_address
        for change in plan.changes
        if not change.deposed and change.previous_address not in ("", change.address)
    }


def _objects(state: State) -> dict[str, ObjectState]:
    """{address: current object} of all instances in a state."""
    objects = {}
    for resource, instance in state.instances():
        if instance.current is not None:
            name = (resource.module, resource.mode, resource.type, resource.name)
            objects[format_instance(*name, instance.key)] = instance.current
    return objects


class StateEntries:
    """Computes digests of the objects in a state."""

    def __init__(self, state: State, schemas: Schemas, salt: str) -> None:
        self._schemas, self._salt = schemas, salt
        self._entries = {
            format_instance(of.module, of.mode, of.type, of.name, instance.key): (of, instance.current)
            for of, instance in state.instances()
            if instance.current is not None
        }

    def digests(self) -> dict[str, str]:
        return {address: self.digest(address) for address in self._entries}

    def digest(self, address: str) -> str:
        """The digest of an object's attributes. "" if some attributes are sensitive, if they are in the old flat
        format, or if there is no such object or no schema for it."""
        resource, entry = self._entries.get(address, (None, None))
        if resource is None or entry is None or entry.sensitive_paths or entry.attributes_flat is not None:
            return ""
        source = parse_provider_configuration(resource.provider).source
        schema = self._schemas.resource(source, resource.mode, resource.type)
        if schema is None or contains(schema.block, "sensitive"):
            return ""
        return with_salt(self._salt, dumps(entry.attributes, sort_keys=True))


def _instances_left(plan: Plan, before: State, after: State) -> set[str]:
    """The addresses of instances and outputs (`output.NAME`) whose changes were not completed by the apply. All other
    instances and outputs correspond to the inputs of the apply."""
    earlier, now = _objects(before), _objects(after)
    left = set(now)
    for change in plan.changes:
        was = change.previous_address or change.address
        one, other = earlier.get(was), now.get(change.address)
        if change.deposed or other is None:
            continue
        is_done = change.action == "no-op" or one is None or one.attributes != other.attributes
        if is_done:
            left.discard(change.address)
    for address in [address for address in left if parse_resource_instance(address).mode == "data"]:
        if address not in earlier or earlier[address].attributes != now[address].attributes:
            left.discard(address)  # the object was read while planning
    reached = {o.name for o in plan.outputs if o.action == "no-op" or not _is_kept(before, after, o.name)}
    return left | {f"output.{name}" for name in after.outputs if name not in reached}


def _altered(before: State, after: State, moves: Mapping[str, str]) -> dict[str, list[str]]:
    """{address: names of the attributes that the apply changed}. The value is [CREATED] for a new object and
    [DESTROYED] for a destroyed object."""
    earlier, now = _objects(before), _objects(after)
    altered = {of: [DESTROYED] for of in earlier.keys() - now.keys() - set(moves.values())}
    for address, entry in now.items():
        was = earlier.get(moves.get(address, address))
        if was is None:
            altered[address] = [CREATED]
        elif was.attributes != entry.attributes:
            names = was.attributes.keys() | entry.attributes.keys()
            altered[address] = sorted(n for n in names if was.attributes.get(n) != entry.attributes.get(n))
    return altered


def _is_kept(before: State, after: State, name: str) -> bool:
    """Whether an output has the same value in both states."""
    was, now = before.outputs.get(name), after.outputs.get(name)
    return was is not None and now is not None and identical(was.value, now.value)


def _variables(variables: Mapping[str, RootVariable], shown: Collection[str]) -> dict[str, dict[str, Any]]:
    """{name: entry} of the root variables. `shown`: the variables whose values may be recorded. Of these, variables
    with their default value are omitted. The entry is {} for unknown and long values, and for values that must not be
    recorded."""
    return {
        name: _variable_entry(name, variable) if name in shown else {}
        for name, variable in variables.items()
        if variable.raw is not None or name not in shown
    }


def _variable_entry(name: str, variable: RootVariable) -> dict[str, Any]:
    from planner.answers.explain.mention_trace import part_lines

    plain, _ = unmark_deep(variable.value)
    if not is_wholly_known(plain):
        return {}
    of = type_of(plain)
    try:
        recorded = {"type": type_to_json(of), "value": to_json(plain, of)}
        text = dumps(recorded)
        if len(text) > _LONGEST_VALUE or _REPLACED in text:
            return {}
        lines = part_lines(f"var.{name}", plain, variable.span) if variable.span is not None else {}
        return {**recorded, "lines": lines} if lines else recorded
    except (CodecError, TypeError, RecursionError):  # deeply nested values are not recorded
        return {}


def _files_read(
    made: MadePlan[Start], readers: list[FileReader], salt: str, encrypted: bool
) -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
    """{name relative to the root module: (digest, key of the content or "")} of files that functions read, and {key:
    content}. If the record is not encrypted, files that no recorded expression reads are left out, and the content of a
    small text file is recorded only if the value of an expression shows it."""
    directory = made.loaded.options.directory
    used = _files_of(made, readers)
    shown = _files_of(made, readers, is_shown=True)
    digests: dict[str, tuple[str, str]] = {}
    contents: dict[str, str] = {}
    for path in made.plan.files:
        if not encrypted and absolute_path(path) not in used:
            continue
        with suppress(OSError, ValueError):
            data, key = read_whole(path, MAX_BYTES), ""
            is_text = encrypted or (absolute_path(path) in shown and b"PRIVATE KEY" not in data)
            if is_text and len(data) <= _LONGEST_VALUE:
                with suppress(UnicodeDecodeError):
                    text = data.decode("utf-8")
                    key = with_salt("", data)
                    contents[key] = text
            digests[relative_name(path, directory)] = with_salt(salt, data), key
    return digests, contents


def _files_of(made: MadePlan[Start], readers: list[FileReader], is_shown: bool = False) -> set[str]:
    """The absolute paths of the files that the expressions in `readers` read directly, in all instances. `is_shown`:
    whether to return only files whose contents the values of the expressions may show."""
    if not readers:
        return set()
    loaded = made.loaded
    context = LazyContext(loaded.config, made.variables, loaded.schemas, NoObjects(), loaded.workspace)
    files: set[str] = set()
    for reader in readers:
        for module in context.instances(reader.module):
            scopes = [module.scope]
            if reader.resource is not None:
                with suppress(Failure):
                    known = expand(reader.resource, module.scope, reader.resource.key).instances.values()
                    scopes = [module.with_repetition(repetition) for repetition in known]
            for scope in scopes:
                for mention in mentions(reader.expression):
                    try_evaluate(mention, scope)  # these expressions may read files, too
                for node in reader.shown if is_shown else (reader.expression,):
                    if isinstance(node, Call) and is_shown and node is not reader.expression:
                        named, _ = try_evaluate(node.arguments[0], scope)
                        files |= {locate(named, "")} if named.__class__ is str else set()
                        continue
                    with files_used() as used:
                        try_evaluate(node, scope)
                    files |= used.read
    return {absolute_path(path) for path in files}


def _names_listed(directory: str) -> dict[str, list[str]]:
    """{directory that functions listed: names in it}. The names of subdirectories end with a slash."""
    listed = {}
    for path in looked_at():
        with suppress(OSError, ValueError):
            if is_directory(path) and len(names := list_directory(path)) <= _MOST_NAMES:
                shown = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in names)
                listed[relative_name(path, directory)] = shown
    return listed


def relative_name(path: str, directory: str) -> str:
    """A file's name relative to the root module."""
    return os.path.relpath(os.path.realpath(on_disk(path)), os.path.realpath(directory))


def locked_versions(directory: str) -> dict[str, str]:
    """{source address of a provider: its version in the lock file}; empty if the file cannot be read."""
    if not os.path.lexists(os.path.join(directory, ".terraform.lock.hcl")):  # avoids loading the code for locks
        return {}
    from planner.world.provider.lock_file import read_locks

    try:
        return {address: str(lock.version) for address, lock in read_locks(directory)[0].items()}
    except Failure:
        return {}


# Origins of taints. They are recorded when an object is tainted, and read by explanations


def taints_of(store: Store, state: State) -> dict[str, TaintOrigin]:
    """{address: origin of the taint}, as recorded. Since then, objects may have moved, or may no longer be tainted."""
    data = store.beside(TAINTS)
    return read_taints(data, state.lineage) if data is not None else {}


def keep_taints(store: Store, state: State, taints: Mapping[str, TaintOrigin]) -> list[Diagnostic]:
    """Record further origins of taints, for a state that was just written. Origins that are already recorded are kept
    as long as their objects are tainted. Returns problems."""
    if not taints:
        return []
    known = {**taints_of(store, state), **taints}
    tainted = {
        resource.address + format_key(instance.key)
        for resource, instance in state.instances()
        if instance.current is not None and instance.current.tainted
    }
    document = taints_bytes(state.lineage, {name: origin for name, origin in known.items() if name in tainted})
    return store.put_beside(TAINTS, document)
