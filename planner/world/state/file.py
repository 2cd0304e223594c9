"""Reads state files (versions 1 to 4) and writes them (version 4).

States are written in OpenTofu's order: resources by module, mode, type and name; instances by key, the current object
before deposed ones; outputs by name. A file of OpenTofu that is read and written again has the same bytes."""

from __future__ import annotations

from typing import Any

from planner.foundation.support.digests import random_uuid
from planner.foundation.support.disk import collector_paused
from planner.foundation.support.exact_json import JsonError, dumps, has_wide_numbers, loads, reader
from planner.foundation.values.json_codec import to_json
from planner.foundation.values.types import type_to_json
from planner.foundation.vocabulary.address import format_key, key_order
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.release import COMPATIBLE_VERSION
from planner.world.state.encryption_seal import PLAIN, Seal, Unsealed
from planner.world.state.model import InstanceKey, ObjectState, OutputState, ResourceState, State
from planner.world.state.reader import MalformedError, StateReader

# ---------------------------------------------------------------- reading


def read_state(data: bytes, name: str = "") -> tuple[State | None, list[Diagnostic]]:
    """The state in a file; None for an empty file, and if there are errors. `name`: the file name in messages."""
    if not data:
        return None, []
    where = f"The state file {name}" if name else "The state"
    with collector_paused():
        try:
            root = loads(data)
        except JsonError as e:
            return None, [_unsupported_version(f"{where} is not valid JSON: {e.reason}, at byte offset {e.offset}.")]
        return _from(root, where)


def read_with_texts(data: bytes, name: str) -> tuple[State | None, Texts | None, list[Diagnostic]]:
    """The state, the JSON texts of its resources, and problems. The texts are None, except for a large state in the
    compact form that services store."""
    with collector_paused():
        pieces = cut(data)
        if pieces is None:
            state, problems = read_state(data, name)
            return state, None, problems
        root, texts = pieces
        state, problems = _from(root, f"The state file {name}" if name else "The state")
        return state, None if state is None else texts_by_resource(state, texts), problems


def _from(root: Any, where: str) -> tuple[State | None, list[Diagnostic]]:
    problem = _version_problem(root, where)
    if problem:
        return None, [_unsupported_version(problem)]
    reader = StateReader(where)
    try:
        state = reader.state(_current(root))
    except MalformedError as e:
        reader.problem("state.malformed", "Invalid state file", f"{where} is damaged: {e}.")
        return None, reader.diagnostics
    return (None if has_errors(reader.diagnostics) else state), reader.diagnostics


def _current(root: dict[str, Any]) -> dict[str, Any]:
    if root["version"] == 4:
        return root
    from planner.world.state.upgrade import upgrade

    return upgrade(root)


def _unsupported_version(detail: str) -> Diagnostic:
    return error("state.unsupported_format", "Unsupported state file format", detail)


def _version_problem(root: Any, where: str) -> str | None:
    if not isinstance(root, dict):
        return f"{where} does not contain a JSON object."
    version = root.get("version")
    if version is None:
        if root.get("encryption_version"):
            return "This state file is encrypted and can not be read without an encryption configuration"
        return f'{where} has no "version", which determines its format.'
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        return f"The version of {where[0].lower()}{where[1:]} is not a whole number."
    if 1 <= version <= 4:
        return None
    if version < 1:
        return f"{where} has format version {version}, which does not exist."
    writer = root.get("terraform_version")
    by = f" It was written by version {writer}." if isinstance(writer, str) and writer else ""
    return f"{where} has format version {version}; the newest supported version is 4.{by}"


# ---------------------------------------------------------------- writing


def write_state(state: State, compact: bool = False, texts: Texts | None = None) -> bytes:
    """The bytes of a state file with a line break at the end, indented unless `compact`. In the compact form, resources
    with known `texts` are not encoded again."""
    with collector_paused():
        if texts is None or not compact:
            return dumps(state_document(state), indent=not compact) + b"\n"
        head = dumps(state_document(evolve(state, resources={})))
        begin, mark, end = head.rpartition(b'"resources":[]')
        assert mark
        every = (texts.of(r) or dumps(_resource(r)) for r in _stored_resources(state))
        return begin + b'"resources":[' + b",".join(every) + b"]" + end + b"\n"


def _stored_resources(state: State) -> list[ResourceState]:
    """The resources that a state file contains, in the order of the file."""
    kept = (r for r in state.resources.values() if r.mode != "ephemeral")
    return sorted(kept, key=lambda r: (r.module, r.mode, r.type, r.name))


def state_document(state: State) -> dict[str, Any]:
    """The JSON of a version 4 file, with keys in OpenTofu's order. `terraform_version` is the version of OpenTofu with
    which planner is compatible."""
    outputs = {name: _output(state.outputs[name]) for name in sorted(state.outputs)}
    return {
        "version": 4,
        "terraform_version": COMPATIBLE_VERSION,
        "serial": state.serial,
        "lineage": state.lineage,
        "outputs": outputs,
        "resources": [_resource(r) for r in _stored_resources(state)],
        "check_results": _check_results(state.check_results),
    }


def same_content(a: State | None, b: State | None) -> bool:
    """Whether two states have the same content, regardless of serial and lineage."""
    if a is None or b is None:
        return a is b
    if a is b:
        return True
    first, second = _without_shared(a, b), _without_shared(b, a)
    if first.resources.keys() != second.resources.keys():
        kept = {name for s in (first, second) for name, r in s.resources.items() if r.mode != "ephemeral"}
        if any(name not in first.resources or name not in second.resources for name in kept):
            return False
    with collector_paused():
        one, other = (dumps({**state_document(s), "serial": 0, "lineage": ""}) for s in (first, second))
    return one == other


def _without_shared(state: State, other: State) -> State:
    """The state without the resources that are the same Python object in both states, because these need not be
    compared."""
    theirs = other.resources
    return evolve(state, resources={k: r for k, r in state.resources.items() if theirs.get(k) is not r})


def _output(output: OutputState) -> dict[str, Any]:
    raw = {"value": to_json(output.value, output.type), "type": type_to_json(output.type)}
    if output.sensitive:
        raw["sensitive"] = True
    if output.deprecated:
        raw["deprecated"] = output.deprecated
    return raw


def _resource(resource: ResourceState) -> dict[str, Any]:
    raw: dict[str, Any] = {"module": resource.module} if resource.module else {}
    raw.update(mode=resource.mode, type=resource.type, name=resource.name)
    keyed = any(i.provider_key is not None for i in resource.instances.values())
    if not keyed:
        raw["provider"] = resource.provider
    objects = []
    for key in sorted(resource.instances, key=key_order):
        instance = resource.instances[key]
        provider = f"{resource.provider}{format_key(instance.provider_key)}" if keyed else None
        if instance.current is not None:
            objects.append(object_json(key, "", provider, instance.current))
        for deposed in sorted(instance.deposed):
            objects.append(object_json(key, deposed, provider, instance.deposed[deposed]))
    raw["instances"] = objects
    return raw


def object_json(key: InstanceKey, deposed: str, provider: str | None, obj: ObjectState) -> dict[str, Any]:
    """An object as in state files. `key`: the key of its instance. `provider`: its provider, if the resource has
    several providers."""
    raw: dict[str, Any] = {}
    if key is not None:
        raw["index_key"] = key
    if obj.tainted:
        raw["status"] = "tainted"
    if deposed:
        raw["deposed"] = deposed
    if provider:
        raw["provider"] = provider
    raw["schema_version"] = obj.schema_version
    if obj.attributes_flat is None:
        raw["attributes"] = obj.attributes
    elif obj.attributes_flat:
        raw["attributes_flat"] = dict(sorted(obj.attributes_flat.items()))
    raw["sensitive_attributes"] = [[_step_json(step) for step in path] for path in obj.sensitive_paths]
    if obj.private:
        raw["private"] = obj.private
    if obj.dependencies:
        raw["dependencies"] = tuple(obj.dependencies)
    if obj.create_before_destroy:
        raw["create_before_destroy"] = True
    if obj.skip_destroy:
        raw["skip_destroy"] = True
    if obj.identity is not None:
        raw["identity"] = obj.identity
        raw["identity_schema_version"] = obj.identity_schema_version
    return raw


def _step_json(step: tuple[str, Any]) -> dict[str, Any]:
    kind, value = step
    if kind == "attr":
        return {"type": "get_attr", "value": value}
    return {"type": "index", "value": {"value": value, "type": "string" if isinstance(value, str) else "number"}}


def _check_results(results: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
    if not results:
        return None
    return sorted(results, key=lambda r: (r["object_kind"], r["config_addr"]))


# Successors of states: the serial increases, the lineage stays the same.


def new_lineage() -> str:
    """A new, random lineage. It identifies the history of a state."""
    return random_uuid()


def lineage_after(base: State | None) -> str:
    return base.lineage if base is not None and base.lineage else new_lineage()


def successor(base: State | None, state: State, lineage: str, is_pending: bool = False) -> tuple[State, bool]:
    """`state` as the successor of `base`, and whether the two differ. The serial increases only if they differ.
    `lineage`: for a new state, the lineage in its journal. `is_pending`: whether the state must be written even if its
    content is unchanged."""
    changed = base is None or is_pending or not same_content(base, state)
    serial = (base.serial if base else 0) + (1 if changed else 0)
    return evolve(
        state, serial=serial, lineage=(base.lineage if base else "") or state.lineage or lineage or new_lineage()
    ), changed


# Encoded texts of resources, so that unchanged resources of large states need not be encoded again.
#
# The compact form that services store is cut between resources, and each piece is parsed separately. After a cut in the
# wrong place, a piece is not valid JSON; the text is then parsed as a whole.


SMALLEST = 1 << 20
"""the minimum size, in bytes, of states for which the JSON texts of unchanged resources are reused. Smaller states are
encoded quickly"""
_BEGIN = b'"resources":[{"m'
_CUT = b'},{"mo'  # the next resource begins with `mode` or `module`
_END = b'}],"check_results":'


@frozen
class Texts:
    """The JSON texts from which resources were read, by the `id()` of the resource. Each entry also contains the
    resource, so that the id remains unique."""

    known: dict[int, tuple[ResourceState, bytes]]

    def of(self, resource: ResourceState) -> bytes | None:
        """The text from which the resource was read; None if it is not known."""
        entry = self.known.get(id(resource))
        return None if entry is None else entry[1]


def cut(data: bytes) -> tuple[dict[str, Any], list[bytes]] | None:
    """The JSON object of a state, and the texts of its resources. None if the state is small, is not in the form that
    services store, or has numbers that need exact parsing."""
    if len(data) < SMALLEST or not data.startswith(b'{"version":4,'):
        return None
    begin, end = data.find(_BEGIN), data.rfind(_END)
    if begin < 0 or end < begin or has_wide_numbers(data):
        return None
    begin += len(_BEGIN) - len(b'{"m')
    first, *others = data[begin:end].split(_CUT)
    texts = [first + b"}", *(b'{"mo%b}' % piece for piece in others)]
    read = reader()
    try:
        root = loads(data[:begin] + data[end + 1 :])
        resources = [read(text) for text in texts]
    except ValueError:
        return None
    if not isinstance(root, dict) or root.get("resources") != [] or not all(isinstance(r, dict) for r in resources):
        return None
    root["resources"] = resources
    return root, texts


def texts_by_resource(state: State, texts: list[bytes]) -> Texts | None:
    """The texts of the resources of a state; None unless each text belongs to exactly one resource."""
    resources = list(state.resources.values())
    if len(resources) != len(texts):
        return None
    return Texts({id(resource): (resource, text) for resource, text in zip(resources, texts, strict=True)})


class SealedFiles:
    """Reads and writes the files of one state. The last content is cached, because a file is read again before it is
    replaced."""

    def __init__(self, seal: Seal = PLAIN) -> None:
        self.seal = seal
        self._kept, self._said = b"", Unsealed(b"")

    def text(self, state: State) -> bytes:
        """The unencrypted content of a state file: indented for people, or compact if it will be encrypted. Raises
        ValueError."""
        return write_state(state, compact=not self.seal.is_plain)

    def sealed(self, text: bytes) -> bytes:
        """The bytes to write for this unencrypted content. They are encrypted if states are encrypted. Raises
        Failure."""
        if self.seal.is_plain:
            return text
        from planner.foundation.encryption.envelope import indent

        self._kept, self._said = indent(self.seal.seal(text)), Unsealed(text)
        return self._kept

    def unseal(self, data: bytes) -> Unsealed:
        """The unencrypted content of a file. Raises Failure."""
        if self.seal is PLAIN or not data:
            return Unsealed(data)
        if data != self._kept:
            self._said = self.seal.unseal(data)
            self._kept = data
        return self._said

    def says(self, data: bytes, text: bytes) -> bool:
        """Whether a file contains exactly this content, encoded as planner would write it now."""
        if self.seal is PLAIN:
            return data == text
        try:
            content = self.unseal(data)
        except Failure:
            return False
        return bool(data) and content.data == text and not content.is_pending

    def backup(self, data: bytes) -> bytes:
        """The bytes for a backup of a file. If states are encrypted, an unencrypted state is encrypted, too. A file
        that is not a state, or cannot be decrypted, is returned unchanged."""
        if self.seal is PLAIN:
            return data
        try:
            return self.seal.seal(self.seal.unseal(data).data)
        except Failure:
            # the file cannot be decrypted: an unencrypted state is encrypted, other bytes are returned unchanged
            from planner.world.state.encrypted_seal import no_state

            return data if no_state(data) or self.seal.is_plain else self.seal.seal(data)

    def resealed(self, data: bytes) -> bytes | None:
        """A backup as it would be encrypted now; None if it is already encrypted in this way, or cannot be read."""
        try:
            content = self.seal.unseal(data)
            return self.seal.seal(content.data) if content.is_pending and not self.seal.is_plain else None
        except Failure:
            return None

    def state(self, data: bytes, name: str) -> State | None:
        """The state in the bytes of a file; None if the file is empty or cannot be read."""
        try:
            return read_state(self.unseal(data).data, name)[0]
        except Failure:
            return None
