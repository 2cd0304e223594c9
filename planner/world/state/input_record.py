"""Records the inputs with which the objects of a state were last applied, in a document next to the state:

    {"format_version": "3.0", "lineage": "...", "salt": "...",
     "runs": {"1f0c...": {"serial": 7, "whole": true, "modules": {"net": "../net"},
                          "files": {"main.tf": "0a1b..."},
                          "variables": {"size": {"type": "number", "value": 3}},
                          "read": {"motd.txt": ["77c0...", "0a1b..."]}, "listed": {"users": ["a.yaml", "old/"]},
                          "providers": {"registry.opentofu.org/hashicorp/random": "3.5.1"},
                          "names": {"terraform_data.web": "terraform_data.www"}}},
     "objects": {"terraform_data.web": "77ab..."}, "altered": {"terraform_data.db": {"input": 8}}, "entries": "...",
     "sources": "..."}

A run has the inputs of one apply. Objects were last applied in the latest run, except those in `objects`: later applies
did not include them, or an incomplete apply destroyed them. `altered` has the attributes that were changed since the
latest complete apply. `files` maps each file to the key of its text (without secrets) in the compressed `sources`. A
file that a recorded expression reads with a function also has a digest, unless the file is secret: the salt may be
known, so a digest could reveal the content. `entries` has digests of the attributes, except sensitive ones, that
objects had after the runs; an object without a digest was written by another program. Ephemeral values are never
recorded, nor are values that only configurations of providers, provisioners and connections read
(planner.answers.documents.recorded_sources). Sensitive values are recorded only if the record is encrypted."""

from __future__ import annotations

import os
import zlib
from base64 import b64decode, b64encode, b85decode
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from planner.foundation.support.digests import blake2b
from planner.foundation.support.exact_json import dumps, loads, orjson
from planner.foundation.vocabulary.address import AddressError, parse_resource_instance
from planner.foundation.vocabulary.records import evolve, field, frozen

T = TypeVar("T")
VERSION = "3.0"
IN_BASE85 = "2.1"
WITHOUT_ALTERED = "2.0"  # earlier versions of the format; 2.0 is valid only if the last apply was complete
CREATED, DESTROYED = "+", "-"  # recorded instead of attributes if an instance was created or destroyed
MAX_BYTES = 64 << 20
LEAST_BYTES = 64 << 10  # a record may have the size of the state, or this number of bytes if that is more
_TABLES = ("files", "modules", "variables", "read", "listed", "providers", "names", "approval")
_SIZE = 8  # size of digests that only distinguish versions of one file or object, in bytes


@frozen(eq=False)
class ApplyInputs:
    """The inputs of an apply. `serial`: the serial of the written state. If the apply did not change the state, it is
    the serial of the previous run, or one more if the inputs differ. `is_whole`: whether the apply was complete, so
    that everything matches the configuration. `files`: {file name: key of its recorded text} of the configuration.
    `modules`: {path: directory} of called modules. `variables`: {name: {"type": ..., "value": ...}} of root variables
    that were set, {name: {}} if the value is not recorded; "lines" has the lines of parts of the value by their names.
    `read`: {file that functions read: (digest, key of its recorded text)}, where "" means none. `listed`: {directory
    that functions list: its names}. `providers`: versions by source address. `names`: {present address: address in this
    apply} of objects that were moved later. `approval`: if signatures were required, {"plan": digest, key id: time of
    its signature}."""

    serial: int
    is_whole: bool
    files: Mapping[str, str]
    modules: Mapping[str, str] = field(factory=dict)
    variables: Mapping[str, dict[str, Any]] = field(factory=dict)
    read: Mapping[str, tuple[str, str]] = field(factory=dict)
    listed: Mapping[str, Sequence[str]] = field(factory=dict)
    providers: Mapping[str, str] = field(factory=dict)
    names: Mapping[str, str] = field(factory=dict)
    approval: Mapping[str, str] = field(factory=dict)

    @property
    def json(self) -> dict[str, Any]:
        return {"serial": self.serial, "whole": self.is_whole, **{name: dict(getattr(self, name)) for name in _TABLES}}


@frozen(eq=False)
class InputRecord:
    """The inputs with which the objects of a state were last applied. `runs`: the recorded applies by key. `objects`:
    {instance: key of the run that last applied it}, for runs other than the latest one, and for instances that an
    incomplete latest run destroyed. `sources`: texts by key. `entries`: digests of the attributes that objects had
    after their applies. `altered`: {instance: {attribute: serial of its latest change}} since the latest complete
    apply; CREATED or DESTROYED instead of an attribute means that the instance itself was created or destroyed."""

    lineage: str
    salt: str
    runs: Mapping[str, ApplyInputs] = field(factory=dict)
    objects: Mapping[str, str] = field(factory=dict)
    sources: Mapping[str, str] = field(factory=dict)
    entries: frozenset[str] = frozenset()
    altered: Mapping[str, Mapping[str, int]] = field(factory=dict)

    def digest(self, data: bytes) -> str:
        return with_salt(self.salt, data)

    @property
    def latest(self) -> str:
        """The key of the latest run, "" if there is none."""
        return max(self.runs, key=lambda key: self.runs[key].serial, default="")

    @property
    def latest_whole(self) -> str:
        """The key of the latest complete run, "" if there is none."""
        whole = [key for key, run in self.runs.items() if run.is_whole]
        return max(whole, key=lambda key: self.runs[key].serial, default="")

    def run_of(self, address: str) -> str:
        """The key of the run in which an instance was last applied."""
        return self.objects.get(address, self.latest)


def new_record(lineage: str) -> InputRecord:
    return InputRecord(lineage, fresh_salt())


def fresh_salt() -> str:
    return os.urandom(8).hex()


def with_salt(salt: str, data: bytes) -> str:
    return blake2b(data, key=salt.encode(), digest_size=_SIZE).hexdigest()


def with_run(
    known: InputRecord,
    run: ApplyInputs,
    sources: Mapping[str, str],
    left: Collection[str],
    entries: Mapping[str, str],
    gone: Collection[str] = (),
    altered: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> InputRecord:
    """The record after an apply. `left`: instances that the apply did not include. `entries`: digests of attributes by
    address. `gone`: instances that an incomplete apply destroyed. `altered`: {instance: attributes that the apply
    changed}."""
    before = known.runs.get(known.latest)
    if before is not None and run.serial <= before.serial:  # the apply did not change the state
        is_same = evolve(run, serial=before.serial).json == before.json
        run = evolve(run, serial=before.serial + (not is_same))
    key = known.digest(dumps(run.json, escape_html=False, sort_keys=True))
    objects = {address: known.run_of(address) for address in left if known.run_of(address)}
    if not run.is_whole:
        earlier = {of: run for of, run in known.objects.items() if not of.startswith("output.") and of not in entries}
        objects = {**earlier, **objects, **dict.fromkeys(gone, key)}
    used = {key, *objects.values(), *([] if run.is_whole else [known.latest_whole])}
    runs = {of: one for of, one in {**known.runs, key: run}.items() if of in used}
    wanted = {text for one in runs.values() for text in (*one.files.values(), *(key for _, key in one.read.values()))}
    texts = {of: text for of, text in {**known.sources, **sources}.items() if of in wanted}
    made = {digest for name, digest in entries.items() if name not in left or digest in known.entries}
    changed = {} if run.is_whole else {of: dict(serials) for of, serials in known.altered.items()}
    for of, names in altered.items() if not run.is_whole else ():
        changed.setdefault(of, {}).update(dict.fromkeys(names, run.serial))
    return InputRecord(known.lineage, known.salt, runs, objects, texts, frozenset(made - {""}), changed)


def rename(known: InputRecord, moves: Mapping[str, str]) -> InputRecord:
    """The record after objects of the state were moved. `moves`: former addresses by current address."""
    runs = {key: evolve(run, names=_names(run.names, moves)) for key, run in known.runs.items()}
    objects, altered = _with_moves(known.objects, moves), _with_moves(known.altered, moves)
    return evolve(known, runs=runs, objects=objects, altered=altered)


def _with_moves(known: Mapping[str, T], moves: Mapping[str, str]) -> dict[str, T]:
    others = {address: of for address, of in known.items() if address not in {*moves, *moves.values()}}
    return others | {now: known[was] for now, was in moves.items() if was in known}


def _names(names: Mapping[str, str], moves: Mapping[str, str]) -> dict[str, str]:
    others = {now: was for now, was in names.items() if now not in {*moves, *moves.values()}}
    moved = {now: names.get(was, was) for now, was in moves.items()}
    return others | {now: was for now, was in moved.items() if now != was}


def fit(record: InputRecord, most: int) -> InputRecord:
    """The record, reduced so that its document has at most `most` bytes. If necessary, contents of files that functions
    read are dropped, the largest first; their digests are kept. If that is not enough, the result is an empty
    record."""
    if len(record_bytes(record)) <= most:
        return record
    needed = {key for run in record.runs.values() for key in run.files.values()}
    contents = sorted(record.sources.keys() - needed, key=lambda key: (-len(record.sources[key]), key))

    def without(count: int) -> InputRecord:
        return evolve(record, sources={k: v for k, v in record.sources.items() if k not in contents[:count]})

    count = bisect_left(range(len(contents) + 1), True, key=lambda count: len(record_bytes(without(count))) <= most)
    return without(count) if count <= len(contents) else new_record(record.lineage)


# ---------------------------------------------------------------- the document


def record_bytes(record: InputRecord) -> bytes:
    texts = zlib.compress(orjson.dumps(dict(record.sources), option=orjson.OPT_SORT_KEYS), 9)
    document = {
        "format_version": VERSION,
        "lineage": record.lineage,
        "salt": record.salt,
        "runs": {key: run.json for key, run in record.runs.items()},
        "objects": dict(record.objects),
        "altered": {of: dict(serials) for of, serials in record.altered.items()},
        "entries": b64encode(bytes.fromhex("".join(sorted(record.entries)))).decode(),
        "sources": b64encode(texts).decode(),
    }
    return dumps(document, escape_html=False, sort_keys=True)


def read_record(data: bytes) -> InputRecord | None:
    """The record in a document; None if the document is not a record, or has an unsupported version."""
    try:
        document = loads(data)
        version = document["format_version"]
        is_earlier = version == IN_BASE85 or (version == WITHOUT_ALTERED and not document["objects"])
        if version != VERSION and not is_earlier:
            return None
        decode = b85decode if is_earlier else b64decode
        unpacker = zlib.decompressobj()
        texts = unpacker.decompress(decode(document["sources"]), MAX_BYTES)
        sources = _texts(orjson.loads(texts)) if not unpacker.unconsumed_tail else {}
        runs = {str(key): _run(raw) for key, raw in document["runs"].items()}
        objects, lineage, salt = _texts(document["objects"]), str(document["lineage"]), str(document["salt"])
        entries = decode(document["entries"]).hex()
        digests = frozenset(entries[at : at + 2 * _SIZE] for at in range(0, len(entries), 2 * _SIZE))
        altered = {
            str(of): {str(name): int(serial) for name, serial in serials.items()}
            for of, serials in document.get("altered", {}).items()
        }
        return InputRecord(lineage, salt, runs, objects, sources, digests, altered)
    except (ValueError, KeyError, TypeError, AttributeError, AddressError, zlib.error):
        return None


def _run(raw: Mapping[str, Any]) -> ApplyInputs:
    variables = {name: dict(one) for name, one in raw["variables"].items()}
    read = {name: (str(digest), str(key)) for name, (digest, key) in raw["read"].items()}
    listed = {name: tuple(map(str, names)) for name, names in raw["listed"].items()}
    files, modules, providers, names = (_texts(raw[table]) for table in ("files", "modules", "providers", "names"))
    for address in (*names, *names.values()):
        parse_resource_instance(address)
    approval, serial, whole = _texts(raw.get("approval", {})), int(raw["serial"]), bool(raw["whole"])
    return ApplyInputs(serial, whole, files, modules, variables, read, listed, providers, names, approval)


def _texts(raw: Mapping[str, Any]) -> dict[str, str]:
    if any(value.__class__ is not str for value in raw.values()):
        raise TypeError
    return dict(raw)
