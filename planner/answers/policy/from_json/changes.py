"""Converts the entries of a plan in JSON, and the objects of a state in JSON, to the form of planner's own plans, so
that policies can read both in the same way."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from typing import Any, TypeAlias

from planner.answers.policy.facts.relations import PolicyInputs
from planner.answers.policy.from_json.configuration import ShownConfiguration
from planner.answers.policy.from_json.document import Document, Misshapen, objects, table, text
from planner.answers.policy.from_json.rows import is_nothing
from planner.answers.policy.paths_read import Looked
from planner.answers.policy.values_read import Kind
from planner.foundation.vocabulary.address import AddressError, parse_module
from planner.logic.model.plan import CheckResult, Importing, Invocation, OutputChange, Plan, ResourceChange
from planner.logic.programs.actions import actions, does, words
from planner.world.state.model import State

Matters: TypeAlias = Callable[[Kind], bool]
"""returns whether policies can have findings about objects of a kind"""
_MODES = ("managed", "data", "ephemeral")
_KINDS = {"var": "input_variable"}
_CREATE_THEN_FORGET = ("create", "forget")


@cache
def _actions() -> dict[tuple[str, ...], str]:
    """{words of an action in plan JSON: planner's name of the action}."""
    known = {tuple(words(action)): action for action in actions()}
    return {_CREATE_THEN_FORGET: known[("forget", "create")], **known}


def plan_of(
    document: Document,
    configuration: ShownConfiguration,
    reads: PolicyInputs,
    seen: set[tuple[str, str]] | None = None,
    matters: Matters | None = None,
) -> Plan:
    """The plan in a document. In its entries, `before` and `after` are (value, unknown parts, sensitive parts), as in
    the JSON. If the document is an excerpt, only the attributes that policies read are kept. `seen`: (address, deposed
    key) of objects in other chunks; the objects of this chunk are added. `matters`: objects of kinds for which it
    returns False are left out if they have no unknown or sensitive parts. Raises Misshapen, and JsonError if the whole
    document must be read instead of an excerpt."""
    root = document.root
    if root.get("errored") is True:
        raise Misshapen("errored", "planning failed, so this is not the whole plan")
    seen = set() if seen is None else seen
    if document.entries is not None:
        changes = list(_changes(document.entries, "resource_changes", configuration, seen, matters))
    elif document.excerpt is not None:
        entries = document.excerpt.changes()
        changes = [_only_read_parts(c, reads) for c in _changes(entries, "resource_changes", configuration, seen)]
    else:
        listed = objects(root, "resource_changes", "")
        if not listed and _has_objects(root.get("planned_values")):
            raise Misshapen("resource_changes", "changes for the objects in planned_values expected")
        changes = list(_changes(listed, "resource_changes", configuration, seen))
    drift = list(_changes(objects(root, "resource_drift", ""), "resource_drift", configuration, set()))
    return Plan(
        _mode(changes),  # type: ignore[arg-type]
        tuple(changes),
        tuple(drift),
        tuple(_outputs(table(root, "output_changes", ""))),
        State(),
        State(),
        None,
        {n: _value(v, n) for n, v in table(root, "variables", "").items() if n not in configuration.ephemeral},
        tuple(_checks(objects(root, "checks", ""))),
        timestamp=text(root, "timestamp", "", ""),
        invocations=tuple(_invocations(objects(root, "action_invocations", ""))),
    )


def _invocations(listed: Iterable[Any]) -> Iterator[Invocation]:
    """The action invocations without their configurations. Raises Misshapen."""
    for one in listed:
        where = "action_invocations"
        trigger = table(one, "lifecycle_action_trigger", where)
        event = "_".join(re.findall("[A-Z][a-z]*", text(trigger, "action_trigger_event", where, ""))).lower()
        caller = text(trigger, "triggering_resource_address", where, "")
        names = (text(one, name, where, "") for name in ("address", "type", "name"))
        address, type_, name = names
        yield Invocation(address, "", type_, name, None, text(one, "provider_name", where, ""), None, caller, event)


def _has_objects(planned: Any) -> bool:
    """Whether the planned values contain objects. Each of these objects must have an entry among the changes."""
    root = planned.get("root_module") if planned.__class__ is dict else None
    return root.__class__ is dict and bool(root.get("resources") or root.get("child_modules"))


def _value(entry: Any, name: str) -> Any:
    if entry.__class__ is not dict:
        raise Misshapen(f"variables.{name}", "an object expected")
    return entry.get("value")


_NO_VALUE = (None, None, None)


def _only_read_parts(change: ResourceChange, reads: PolicyInputs) -> ResourceChange:
    """Reduce a new entry in place to the attributes that policies read."""
    looked = reads.looked(change)
    if not looked.all:
        has_before = "prior" in reads or "sensitive_at" in reads
        before = tuple(_picked(value, looked) for value in change.before) if has_before else _NO_VALUE
        object.__setattr__(change, "before", before)
        object.__setattr__(change, "after", tuple([_picked(value, looked) for value in change.after]))
    return change


def _picked(value: Any, looked: Looked) -> Any:
    if value.__class__ is not dict or not value:
        return value
    return {name: value[name] for name in looked.parts if name in value}


def _changes(
    entries: Iterable[Any],
    list_name: str,
    configuration: ShownConfiguration,
    seen: set[tuple[str, str]],
    matters: Matters | None = None,
) -> Iterator[ResourceChange]:
    for i, entry in enumerate(entries):
        path = f"{list_name}[{i}]"
        if entry.__class__ is not dict:
            raise Misshapen(path, "an object expected")
        change, address = entry.get("change"), entry.get("address")
        if change.__class__ is not dict:
            change = table(entry, "change", path)
        if address.__class__ is not str:
            address = text(entry, "address", path)
        deposed = text(entry, "deposed", path, "") if "deposed" in entry else ""
        if (address, deposed) in seen:
            raise Misshapen(path, f"a second entry for {address}{f' (deposed {deposed})' if deposed else ''}")
        seen.add((address, deposed))
        result = _change(entry, change, address, deposed, path, configuration, matters)
        if result is not None:
            yield result


def _change(
    entry: dict[str, Any],
    change: dict[str, Any],
    address: str,
    deposed: str,
    path: str,
    configuration: ShownConfiguration,
    matters: Matters | None,
) -> ResourceChange | None:
    get = entry.get
    mode, type_, name = get("mode"), get("type"), get("name")
    if not (mode.__class__ is type_.__class__ is name.__class__ is str):
        mode, type_, name = text(entry, "mode", path), text(entry, "type", path), text(entry, "name", path)
    module = text(entry, "module_address", path, "") if "module_address" in entry else ""
    if module or mode != "managed" or address != f"{type_}.{name}":
        _check_address(address, module, mode, type_, name, path)
    after, after_unknown = change.get("after"), change.get("after_unknown")
    if after is not None and after.__class__ is not dict:
        raise Misshapen(f"{path}.change.after", "an object expected")
    action = _action(change.get("actions"), path)
    if after is None and not after_unknown and ("after" not in change or does(action, "makes")):
        after_unknown = action != "delete"  # the document does not contain its future value
    if deposed and does(action, "makes"):
        raise Misshapen(f"{path}.change.actions", "a deposed object can only be deleted or forgotten")
    reason = text(entry, "action_reason", path, "") if "action_reason" in entry else ""
    replace_paths = tuple(_paths(change["replace_paths"], path)) if "replace_paths" in change else ()
    secret, provider = change.get("after_sensitive"), get("provider_name")
    if provider.__class__ is not str:
        provider = text(entry, "provider_name", path, "")
    is_plain = matters is not None and is_nothing(after_unknown) and is_nothing(secret)
    if is_plain and matters is not None and not matters((mode, type_, action, reason, bool(replace_paths))):
        return None
    return ResourceChange(
        address,
        (text(entry, "previous_address", path, "") if "previous_address" in entry else "") or address,
        module,
        mode,
        type_,
        name,
        get("index"),
        deposed,
        configuration.provider_of(module, mode, type_, name, provider),
        action,
        reason,
        (change.get("before"), None, change.get("before_sensitive")),
        (after, after_unknown, secret),
        replace_paths=replace_paths,
        importing=_importing(change, f"{path}.change") if "importing" in change else None,
        undecided=_words(get("undecided"), f"{path}.undecided") if "undecided" in entry else (),
    )


def _check_address(address: str, module: str, mode: str, type_: str, name: str, path: str) -> None:
    """Raises Misshapen if the address contradicts the other members of an entry, because policies rely on both."""
    if mode not in _MODES:
        raise Misshapen(f"{path}.mode", f"one of {', '.join(_MODES)} expected")
    resource = f"{'' if mode == 'managed' else mode + '.'}{type_}.{name}"
    begin = f"{module}.{resource}" if module else resource
    rest = address[len(begin) :]
    if not address.startswith(begin) or (rest and not (rest[0] == "[" and rest[-1] == "]")):
        raise Misshapen(f"{path}.address", f"{address[:200]!r} is not an instance of {begin[:200]!r}")
    if module and not _is_module(module):
        raise Misshapen(f"{path}.module_address", f"{module[:200]!r} is not a module instance")


@lru_cache(maxsize=10_000)
def _is_module(module: str) -> bool:
    try:
        parse_module(module)
    except AddressError:
        return False
    return True


def _action(given: Any, path: str, member: str = ".change") -> str:
    """The action with these words, in the entry at a path. Raises Misshapen."""
    if given.__class__ is list and all(word.__class__ is str for word in given):
        action = _actions().get(tuple(given))
        if action is not None:
            return action
    raise Misshapen(f"{path}{member}.actions", f"{str(given)[:100]} is not a known action")


def _words(given: Any, path: str) -> tuple[str, ...]:
    if given is None:
        return ()
    if given.__class__ is not list or any(word.__class__ is not str for word in given):
        raise Misshapen(path, "a list of strings expected")
    return tuple(given)


def _paths(given: Any, path: str) -> Iterator[tuple[tuple[str, Any], ...]]:
    path = f"{path}.change.replace_paths"
    if given is None:
        return
    if given.__class__ is not list:
        raise Misshapen(path, "a list of paths expected")
    for i, steps in enumerate(given):
        if steps.__class__ is not list:
            raise Misshapen(f"{path}[{i}]", "a list of steps expected")
        yield tuple(("attr" if step.__class__ is str else "index", step) for step in steps)


def _importing(change: dict[str, Any], path: str) -> Importing | None:
    if change.get("importing") is None:
        return None
    return Importing(text(table(change, "importing", path), "id", f"{path}.importing", "") or None)


def _outputs(entries: dict[str, Any]) -> Iterator[OutputChange]:
    for name in sorted(entries):
        path, entry = f"output_changes.{name}", table(entries, name, "output_changes")
        action = _action(entry.get("actions"), path, "")
        unknown = entry.get("after_unknown")
        if "after" not in entry and not unknown and action != "delete":
            unknown = True
        secret = bool(entry.get("after_sensitive")) or bool(entry.get("before_sensitive"))
        before = (entry.get("before"), None, entry.get("before_sensitive"))
        yield OutputChange(name, action, before, (entry.get("after"), unknown, entry.get("after_sensitive")), secret)


def _checks(entries: Iterable[dict[str, Any]]) -> Iterator[CheckResult]:
    for i, entry in enumerate(entries):
        path = f"checks[{i}]"
        about = table(entry, "address", path)
        kind, shown = text(about, "kind", f"{path}.address"), text(about, "to_display", f"{path}.address")
        kind = _KINDS.get(kind, kind)
        instances = objects(entry, "instances", path)
        for j, instance in enumerate(instances):
            at = f"{path}.instances[{j}]"
            address = text(table(instance, "address", at), "to_display", f"{at}.address")
            yield CheckResult(kind, shown, address, text(instance, "status", at))
        status = text(entry, "status", path)
        if not instances and status != "unknown":
            yield CheckResult(kind, shown, "", status)


def _mode(changes: list[ResourceChange]) -> str:
    """The mode of a plan: "normal", "destroy", or "" if it is unknown. Only a normal plan creates, updates or keeps
    objects, or contains reasons for deleting an object."""
    current = (c for c in changes if not c.deposed and c.mode == "managed")
    if any(c.action not in ("delete", "forget") or c.reason.startswith("delete_because") for c in current):
        return "normal"
    has_deletes = any(c.action == "delete" and not c.deposed and c.mode == "managed" for c in changes)
    return "destroy" if has_deletes else ""
