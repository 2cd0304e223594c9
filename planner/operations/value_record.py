"""The record of values at the last apply: written after an apply, read by explanations."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from planner.foundation.support.disk import read_whole
from planner.foundation.support.store import seal
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.records import evolve
from planner.world.state.value_record import (
    MOST_BYTES,
    NAME,
    Digester,
    Texts,
    ValueRecord,
    merge_digests,
    merged_texts,
    read_record,
    record_bytes,
)

if TYPE_CHECKING:
    from planner.language.config.model import Config
    from planner.logic.model.plan import Plan
    from planner.world.state.backend import Store
    from planner.world.state.model import State


def digester() -> Digester | None:
    """The digester with the user's key; None where there is no key."""
    key = seal(NAME, "", b"")
    return None if key is None else Digester(key)


def record_for_state(store: Store, state: State) -> ValueRecord | None:
    """The record that counts for a state; None where there is none."""
    makes = digester()
    data = store.beside(NAME) if makes is not None else None
    record = read_record(_decrypted(store, data)) if data is not None else None
    return record if record is not None and makes is not None and record.counts_for(state, makes.key_name) else None


def keep_record(
    store: Store,
    plan: Plan,
    config: Config,
    before: State | None,
    after: State,
    values: Mapping[str, str],
    whole: bool,
) -> None:
    """Record the values and expressions that an apply was made with. `values`: digests that only the apply could make;
    `whole`: it did everything that was planned, and the plan left nothing out."""
    from planner.engine.evaluation.text_digests import text_digests

    makes = digester()
    if makes is None:
        return
    known = record_for_state(store, before) if before is not None else None
    now = {**plan.values, **values}
    files = _file_digests(plan.files, makes)
    texts: Texts = text_digests(config, makes)
    if whole:
        new = ValueRecord(after.lineage, after.serial, makes.key_name, _single(now), _single(files), texts)
    elif known is None:
        return
    else:
        values_then, files_then = merge_digests(known.values, now), merge_digests(known.files, files)
        texts = merged_texts(known.texts, texts)
        new = ValueRecord(after.lineage, after.serial, makes.key_name, values_then, files_then, texts)
    _write(store, new)


def carry_record(store: Store, before: State, after: State) -> None:
    """An operation that applied nothing has written the state: the record counts for that one now."""
    if (before.lineage, before.serial) == (after.lineage, after.serial):
        return
    known = record_for_state(store, before)
    if known is not None:
        _write(store, evolve(known, lineage=after.lineage, serial=after.serial))


def _write(store: Store, record: ValueRecord) -> None:
    data = record_bytes(record)
    if len(data) <= MOST_BYTES:
        with suppress(Failure):
            store.put_beside(NAME, store.seal.seal_document(NAME, data))


def _decrypted(store: Store, data: bytes) -> bytes:
    """The decrypted content of a record; empty where it cannot be read."""
    try:
        return store.seal.unseal_document(NAME, data).data
    except Failure:
        return b""


def _single(digests: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    return {name: (digest,) for name, digest in digests.items()}


def _file_digests(paths: tuple[str, ...], makes: Digester) -> dict[str, str]:
    digests: dict[str, str] = {}
    for path in paths:
        try:
            digests[path] = makes.of_bytes(read_whole(path, MOST_BYTES))
        except (OSError, ValueError):
            continue
    return digests
