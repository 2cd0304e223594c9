"""The values of a configuration at the last apply: a small document next to the state.

It only has digests, made with a key that only this user has, so that secrets cannot be guessed from them. A value has
a digest for each part of it, up to a limit. Where an apply did not do everything that was planned, a value keeps the
former digests with the new ones: it may have been any of them. The document counts only for the very state that it was
written with, or one that only moved entries since.

    {"format_version": "1.0", "lineage": "...", "serial": 7, "key": "...",
     "values": {"var.size": ["Qm3..."], "local.tags": [...], "local.tags.owner": [...]},
     "files": {"user-data.sh": ["x1f..."]},
     "texts": {"terraform_data.web": [], "terraform_data.web.input": ["9ab...", ...], "local.tags": null}}

An expression has digests of itself and of all expressions inside; null, where it may have been several.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from planner.foundation.support.digests import blake2b
from planner.foundation.support.fast_json import orjson
from planner.foundation.values.convert import path_text
from planner.foundation.values.paths import parts
from planner.foundation.values.value import EPHEMERAL, List, Map, Marked, Null, Set, Unknown, Value
from planner.foundation.vocabulary.address import valid_identifier
from planner.foundation.vocabulary.records import field, frozen
from planner.world.state.model import State

VERSION = "1.0"
NAME = "applied"
MOST_PARTS = 1000
"""parts of one value that have a digest of their own"""
MORE = "[...]"
"""after the name of a value: it has more parts than are on record"""
MOST_DIGESTS = 8
"""values that something may have had after applies that did not do everything"""
MOST_BYTES = 64 << 20
_SIZE = 12

Status = Literal["same", "other", "unknown"]
Digests = Mapping[str, tuple[str, ...]]
Texts = Mapping[str, "tuple[str, ...] | None"]


@frozen(eq=False)
class ValueRecord:
    """The digests by the names of places (`var.size`, `module.net.local.tags.owner`) and files, of one state."""

    lineage: str
    serial: int
    key: str
    values: Digests = field(factory=dict)
    files: Digests = field(factory=dict)
    texts: Texts = field(factory=dict)

    def counts_for(self, state: State, key: str) -> bool:
        """Whether the record is about this state, and made with this key."""
        return (self.lineage, self.serial, self.key) == (state.lineage, state.serial, key)

    def text_status(self, name: str, digest: str, block: str = "") -> Status:
        """Whether an expression stood in the text of something. `block`: what that is an argument of; where it was
        declared, the argument is new."""
        known = self.texts.get(name)
        if known is None:
            return "other" if name not in self.texts and self.texts.get(block) is not None else "unknown"
        return "same" if digest in known else "other"


def status(known: Digests, name: str, digest: str | None, whole: str = "") -> Status:
    """Whether a value is unchanged: `digest` is that of its present value, None for no value. `whole`: the name of the
    value that it is a part of, which shows parts that did not exist."""
    before = known.get(name)
    if before is None:
        is_new = digest is not None and len(known.get(whole, ())) == 1 and whole + MORE not in known
        return "other" if is_new else "unknown"
    if digest in before:
        return "same" if len(before) == 1 else "unknown"
    return "other"


class Digester:
    """Digests with one key."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.key_name = blake2b(b"name of the key", key=key, digest_size=_SIZE).hexdigest()

    def of_bytes(self, data: bytes) -> str:
        """The digest of a file."""
        return blake2b(data, key=self._key, digest_size=_SIZE).hexdigest()

    def of(self, value: Value) -> str | None:
        """The digest of a value; None for what is not known, or must never be recorded."""
        try:
            return self._digest(value).hex()
        except (ValueError, RecursionError):
            return None

    def parts(self, name: str, value: Value) -> Iterator[tuple[str, str]]:
        """(name of the place, digest) of a value and its parts, the largest first, at most MOST_PARTS."""
        waiting: list[tuple[tuple[Any, ...], Value]] = [((), value)]
        told = 0
        while waiting and told < MOST_PARTS:
            path, here = waiting.pop(0)
            digest = self.of(here)
            if digest is None:
                continue
            yield place_name(name, path), digest
            told += 1
            plain = _plain(here)
            if plain.__class__ is not Set:
                waiting += [((*path, step), part) for step, part in parts(plain)]
        if waiting:
            yield name + MORE, ""

    def _digest(self, value: Value) -> bytes:
        value = _plain(value)
        kind = value.__class__
        made = blake2b(key=self._key, digest_size=_SIZE)
        if kind is Unknown:
            raise ValueError
        if kind is Null or value is None:
            made.update(b"null")
        elif kind is bool:
            made.update(b"true" if value else b"false")
        elif kind is str:
            made.update(b"s")
            made.update(value.encode("utf-8", "surrogateescape"))
        elif kind in (tuple, List):
            made.update(b"l")
            for _, part in parts(value):
                made.update(self._digest(part))
        elif kind is Set:
            made.update(b"u")
            for digest in sorted(self._digest(part) for _, part in parts(value)):
                made.update(digest)
        elif kind in (dict, Map):
            made.update(b"o")
            for (_, name), part in sorted(parts(value), key=lambda item: str(item[0][1])):
                made.update(self._digest(str(name)))
                made.update(self._digest(part))
        else:
            made.update(b"n")
            made.update(str(value).encode())
        return made.digest()


def _plain(value: Value) -> Value:
    if value.__class__ is Marked:
        if EPHEMERAL in value.marks:
            raise ValueError
        return value.value
    return value


def place_name(name: str, path: tuple[Any, ...]) -> str:
    """The name of a part of a value. Of objects, too, in brackets where a dot would not do."""
    inside = path_text(tuple(("index", key) if not valid_identifier(str(key)) else (kind, key) for kind, key in path))
    return name + (f".{inside}" if inside and inside[0] != "[" else inside)


# ---------------------------------------------------------------- writing and reading


def merged_texts(before: Texts, now: Texts) -> dict[str, tuple[str, ...] | None]:
    """Possible expressions after an apply that did not do everything."""
    if not before:
        return {}
    return {name: now[name] if before.get(name) == now.get(name) else None for name in sorted({*before, *now})}


def merge_digests(before: Digests, now: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Possible values after an apply that did not do everything. Values that it did not look at are unchanged."""
    result = {name: known for name, known in before.items() if not _is_within(name, now)}
    for name, digest in now.items():
        known = before.get(name)
        if known is not None and len({*known, digest}) <= MOST_DIGESTS:
            result[name] = tuple(sorted({*known, digest}))
    return result


def _is_within(name: str, names: Mapping[str, str]) -> bool:
    """Whether something of a name, or what that is a part of, is among others."""
    return any(name[:end] in names for end in (len(name), *(at for at, sign in enumerate(name) if sign in ".[")))


def record_bytes(record: ValueRecord) -> bytes:
    """The document."""
    document = {
        "format_version": VERSION,
        "lineage": record.lineage,
        "serial": record.serial,
        "key": record.key,
        "values": {name: list(digests) for name, digests in record.values.items()},
        "files": {name: list(digests) for name, digests in record.files.items()},
        "texts": {name: digests and list(digests) for name, digests in record.texts.items()},
    }
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)


def read_record(data: bytes) -> ValueRecord | None:
    """The record in a document; None for anything else."""
    try:
        document = orjson.loads(data)
        if document["format_version"] != VERSION:
            return None
        lineage, serial, key = document["lineage"], document["serial"], document["key"]
        if lineage.__class__ is not str or serial.__class__ is not int or key.__class__ is not str:
            return None
        told = document.get("texts", {})
        open_texts: dict[str, None] = {name: None for name, known in told.items() if known is None}
        texts = _digests({name: known for name, known in told.items() if known is not None})
        values, files = _digests(document["values"]), _digests(document["files"])
        return ValueRecord(lineage, serial, key, values, files, {**texts, **open_texts})
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _digests(told: Mapping[str, Any]) -> Digests:
    digests: dict[str, tuple[str, ...]] = {}
    for name, known in told.items():
        if known.__class__ is not list or not all(digest.__class__ is str for digest in known):
            raise TypeError
        digests[name] = tuple(known)
    return digests
