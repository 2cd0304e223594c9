"""Determines the current object of an instance. It is read from the state and refreshed by its provider, or it is
imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.engine.evaluation.imports import ImportTarget
from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.objects import RemoteObject, object_id, read_object, recorded_identity, write_object
from planner.engine.evaluation.provider_diagnostics import in_body
from planner.engine.evaluation.schemas import combined_marks, schema_marks
from planner.engine.plan.action import Facts, derive, keeps_object
from planner.engine.plan.findings import RefreshedObject
from planner.foundation.values.paths import apply_marks, marked_paths
from planner.foundation.values.value import Null, identical, unmark_deep
from planner.foundation.vocabulary.address import parse_resource_instance
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.foundation.vocabulary.records import evolve
from planner.language.expressions.decode import decode_block
from planner.world.provider.propose import normalize_legacy_object
from planner.world.state.model import ObjectState

if TYPE_CHECKING:
    from planner.engine.plan.shared_work import PlanWork


def read_current(walk: PlanWork, it: Instance) -> tuple[RemoteObject | None, list[Diagnostic]]:
    """The object in the state, upgraded to the current schema, and warnings. The object is None if the state has none.
    Raises Failure if it cannot be read."""
    record = walk.record.refreshed.object(it.resource_address, it.key, it.deposed)
    if record is None:
        return None, []
    current, problems = read_object(
        it.provider, it.type, it.schema, record, it.address, moved_from=_moved_from(walk, it), body=it.body
    )
    if current is None:
        raise Failure([d.at(it.address) for d in problems])
    recorded = walk.record.refreshed.provider(it.resource_address, it.key)
    if current.record is not record or recorded != (it.configuration, it.provider_key):
        walk.write(walk.record.previous, it, current.record)
        walk.write(walk.record.refreshed, it, current.record)
    return current, problems


def _moved_from(walk: PlanWork, it: Instance) -> tuple[str, str] | None:
    """The former provider and type of an object, if a `moved` block has moved it to this address from a different type
    or provider; otherwise None."""
    move = walk.record.moves.moves.get(it.address)
    if move is None or move.implied:
        return None
    before = parse_resource_instance(walk.record.moves.previous_address(it.address))
    recorded = walk.state.resources[it.resource_address].provider
    source, now = (parse_provider_configuration(text).source for text in (recorded, it.configuration))
    return (source, before.type) if (source, before.type) != (now, it.type) else None


def must_read(walk: PlanWork, facts: Facts) -> bool:
    """Whether the provider must read an object with these facts, which come from the state without reading the object.
    Without the option `refresh`, no object is read. With `minimal_refresh`, the rules decide. Otherwise every object is
    read."""
    if not walk.options.refresh or not walk.options.minimal_refresh:
        return walk.options.refresh
    return bool(derive({**facts, "recorded_only": ()}, "read_anew"))


def refresh_recorded(
    walk: PlanWork, it: Instance, current: RemoteObject, problems: list[Diagnostic], reads: bool = True
) -> RemoteObject | None:
    """Refresh an object, write it to the refreshed state, and return it; None if it no longer exists. Adds the
    provider's warnings to `problems`. If `reads` is false, or the options do not allow refreshing, the provider is not
    called, and the object is unchanged. Raises Failure."""
    record = _with_lifecycle_settings(walk, it, current.record)
    if not walk.options.refresh or not reads:
        if record is not current.record:
            walk.write(walk.record.refreshed, it, record)
        return RemoteObject(current.value, record, current.identity)
    result = refresh(walk, it, RemoteObject(current.value, record, current.identity), problems)
    seen = RefreshedObject(
        current.value,
        result.value if result else Null(it.object_type),
        it.object_type,
        it.configuration,
        it.provider_key,
        (current.identity, result.identity if result else None),
    )
    if not it.deposed:
        walk.record.add_refreshed(it.address, seen)
    if result is None:
        walk.record.refreshed.remove_object(it.resource_address, it.key, it.deposed)
        return None
    if it.decl is not None and not it.deposed and not it.is_orphan:
        result = RemoteObject(result.value, _with_dependencies(walk, it, result.record), result.identity)
    if result.record is not walk.record.refreshed.object(it.resource_address, it.key, it.deposed):
        walk.write(walk.record.refreshed, it, result.record)
    return result


def refresh(walk: PlanWork, it: Instance, known: RemoteObject, problems: list[Diagnostic]) -> RemoteObject | None:
    """Read the object from the provider. Returns None if it no longer exists. Adds warnings to `problems`. Raises
    Failure."""
    value, record = known.value, known.record
    if not walk.options.offline:
        walk.hooks.refresh_start(it.address, object_id(value), it.deposed)
    plain, marks = unmark_deep(value)
    answer = it.provider.read(it.type, plain, record.private, known.identity, walk.meta(it))
    result = in_body(answer.diagnostics, it.body, it.address)
    if has_errors(result):
        raise Failure(result)
    problems += result
    if not walk.options.offline:
        walk.hooks.refresh_complete(it.address, object_id(answer.value), it.deposed)
    if answer.value.__class__ is Null:
        return None
    fresh = answer.value if answer.value is plain else normalize_legacy_object(answer.value, it.schema.block)
    wanted = combined_marks(marked_paths(value) if marks else [], schema_marks(it.schema.block, fresh))
    fresh = apply_marks(fresh, wanted) if wanted else fresh
    more = {"private": answer.private, **recorded_identity(answer.identity, it.schema)}
    if identical(fresh, value):
        same = all(getattr(record, name) == now for name, now in more.items())
        return RemoteObject(value, record if same else evolve(record, **more), answer.identity)
    return RemoteObject(fresh, write_object(fresh, it.schema, record, **more), answer.identity)


def import_object(walk: PlanWork, it: Instance, target: ImportTarget, warnings: list[Diagnostic]) -> RemoteObject:
    """Read the object to import, write it to the refreshed state, and return it. Adds the provider's warnings to
    `warnings`. Raises Failure."""
    id = target.shown
    walk.hooks.import_planned(it.address, id)
    item, problems = it.provider.import_object(it.type, target.id, target.identity)
    diagnostics = in_body(problems, None, it.address)
    if has_errors(diagnostics):
        raise Failure(diagnostics)
    if len(item) != 1 or item[0].value.__class__ is Null:
        count = "no object" if not item or item[0].value.__class__ is Null else f"{len(item)} objects"
        detail = f"For {id}, the provider of {it.address} returned {count} instead of exactly one."
        raise Failure(
            error("plan.import_result", "Import did not return exactly one object", detail, address=it.address)
        )
    warnings += diagnostics
    record = ObjectState({}, it.schema.version, private=item[0].private)
    current = refresh(walk, it, RemoteObject(item[0].value, record, item[0].identity), warnings)
    if current is None:
        detail = f"There is no object {id} to import as {it.address}."
        raise Failure(error("plan.import_missing", "Cannot import non-existent remote object", detail))
    config, _ = decode_block(it.decl.body, it.schema.block, it.unknown_scope) if it.decl is not None else (None, [])
    value = current.value
    if config is not None:
        value = apply_marks(value, marked_paths(config))
    written = write_object(value, it.schema, current.record)
    imported = RemoteObject(value, _with_lifecycle_settings(walk, it, written), current.identity)
    walk.write(walk.record.refreshed, it, imported.record)
    return imported


def _with_lifecycle_settings(walk: PlanWork, it: Instance, record: ObjectState) -> ObjectState:
    if it.decl is None or it.deposed or it.is_orphan:
        return record
    first, kept = it.created_first, keeps_object(it.decl)
    if (record.create_before_destroy, record.skip_destroy) == (first, kept):
        return record
    return evolve(record, create_before_destroy=first, skip_destroy=kept)


def _with_dependencies(walk: PlanWork, it: Instance, record: ObjectState) -> ObjectState:
    """The record, with its recorded dependencies and the dependencies in the current configuration. Both must be
    respected until the next apply."""
    wanted = walk.dependencies(it.node).union(record.dependencies)
    return record if len(wanted) == len(set(record.dependencies)) else evolve(record, dependencies=wanted)


def settle_dependencies(walk: PlanWork, it: Instance, current: RemoteObject) -> None:
    """Write the dependencies of an unchanged object, according to the configuration, to the refreshed state, because no
    apply will write them."""
    wanted, recorded = walk.dependencies(it.node), current.record.dependencies
    if len(wanted) != len(recorded) or not wanted.holds(recorded):
        walk.write(walk.record.refreshed, it, evolve(current.record, dependencies=wanted))
