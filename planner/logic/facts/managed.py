"""Facts of rules/discover/managed.dl: the results of searches, and the objects in states and import blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from planner.foundation.support.exact_json import dumps
from planner.foundation.vocabulary.records import frozen
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.model.graph import CommandLine, StateEntry


def identity_text(identity: Mapping[str, Any]) -> str:
    """The text of an identity, which is given as plain data. Equal identities have equal texts."""
    return ", ".join(f"{name}={dumps(part).decode()}" for name, part in sorted(identity.items()) if part is not None)


@frozen
class KnownObject:
    """An object in a state, or an object that an import block will import (`is_pending`). `instance`: the address of
    its instance, in a fleet with the unit. `source`: the provider of the object; "" for any provider. `identity`: its
    identity as plain data; None if it is not recorded. `version`: the version of the schema of the identity. `id`: its
    ID; "" if it is not known."""

    instance: str
    type: str
    source: str
    identity: Mapping[str, Any] | None
    version: int = 0
    is_pending: bool = False
    id: str = ""

    @property
    def row(self) -> list[Any]:
        """All fields in order, as plain data."""
        return [self.instance, self.type, self.source, self.identity, self.version, self.is_pending, self.id]


def add_found(facts: FactBuilder, search: str, number: int, type: str, identity: Mapping[str, Any], id: str) -> None:
    source = CommandLine(search)
    facts.add("found_object", search, number, type, identity_text(identity), source=source)
    for name, part in identity.items():
        if part == "":
            facts.add("found_empty", search, number, name, source=source)
        elif part is not None:
            facts.add("found_part", search, number, name, dumps(part).decode(), source=source)
    if id:
        facts.add("found_id", search, number, id, source=source)


def add_known(facts: FactBuilder, known: Iterable[KnownObject], type: str, source: str, version: int) -> None:
    """Add facts about the known objects of a type and provider. If the recorded identity has a different version, the
    object is treated as recorded without an identity, and its ID is not used."""
    for one in known:
        if one.type != type or one.source not in ("", source):
            continue
        entry = StateEntry(one.instance)
        if one.is_pending:
            facts.add("pending_import", one.instance, type, source=entry)
            for name, part in (one.identity or {}).items():
                if part is not None:
                    facts.add("pending_part", one.instance, name, dumps(part).decode(), source=entry)
            if one.id:
                facts.add("pending_id", one.instance, one.id, source=entry)
        elif one.identity is None or one.version != version:
            facts.add("recorded_without_identity", one.instance, type, source=entry)
        else:
            facts.add("recorded_identity", one.instance, type, identity_text(one.identity), source=entry)
            for name, part in one.identity.items():
                if part is not None:
                    facts.add("recorded_part", one.instance, name, dumps(part).decode(), source=entry)
            if one.id:
                facts.add("recorded_id", one.instance, one.id, source=entry)
