"""The members of a large plan that most policies ask for, without reading the others: planned values, the state before
and the configuration are more than half of it.

Only for the form in which OpenTofu and Terraform print plans: one line, members in their order. What is taken for a
member is checked: the text up to the planned values and the text from the time to the end are parsed, which shows that
they stand at the top; the name of each member occurs once in the whole text, and what is taken for its value is one
value. Whatever looks otherwise is read as a whole. What nobody reads is not checked.
"""

from __future__ import annotations

from typing import Any

from planner.support.exact_json import JsonError, loads

LEAST = 1 << 20
"""bytes; smaller documents are read as a whole"""
_BEGIN = b'{"format_version":"1.'
_AFTER = (b',"output_changes":{', b',"prior_state":{', b',"configuration":{')
_LAST = frozenset(("timestamp", "errored", "applyable", "complete"))
_FIRST = frozenset(("format_version", "terraform_version", "variables"))


def excerpt(data: bytes) -> dict[str, Any] | None:
    """Changes of resources and outputs, the variables, the time, and which providers are configured; None when the
    whole document has to be read."""
    if len(data) < LEAST or not data.startswith(_BEGIN) or b"\\ud" in data or b"\\uD" in data:
        return None
    try:
        return _excerpt(data)
    except JsonError:
        return None


def _excerpt(data: bytes) -> dict[str, Any] | None:
    names = (
        b'"resource_changes":',
        b'"output_changes":',
        b'"configuration":',
        b'"provider_config":',
        b'"planned_values":',
    )
    if b'"resource_drift":' in data or any(data.count(name) > 1 for name in names):
        return None
    planned, changes = data.find(b',"planned_values":{'), data.find(b',"resource_changes":[')
    last = data.rfind(b',"timestamp":"')
    if not 0 < planned < changes < last:
        return None
    head, tail = _members(data, 0, planned), _members(data, last, len(data.rstrip()) - 1)
    if not (head.keys() <= _FIRST and tail.keys() <= _LAST):
        return None
    ends = sorted(at for at in (data.find(name, changes) for name in _AFTER) if at > 0)
    configuration = data.find(b',"configuration":{"provider_config":{', changes)
    root_module = data.find(b',"root_module":{', configuration)
    if not ends or not 0 < configuration < root_module:
        return None
    middle = _members(data, changes, ends[0])
    if names[1] in data:
        if not data.startswith(_AFTER[0], ends[0]) or len(ends) < 2:
            return None
        middle |= _members(data, ends[0], ends[1])
    providers = _members(data, configuration + len(b',"configuration":{') - 1, root_module)
    if not _is_simple(providers.get("provider_config")):
        return None
    return {**head, **middle, "configuration": providers, **tail}


def _members(data: bytes, begin: int, end: int) -> dict[str, Any]:
    """The members in a part of an object's text, which begins with a comma or the brace. Raises JsonError."""
    members = loads(b"{" + data[begin + 1 : end] + b"}")
    return members if members.__class__ is dict else {}


def _is_simple(providers: Any) -> bool:
    """Whether every provider has its default configuration only: then nobody has to know which one a resource uses."""
    if providers.__class__ is not dict:
        return False
    return all(p.__class__ is dict and not p.keys() & {"alias", "module_address"} for p in providers.values())
