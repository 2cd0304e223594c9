"""Parts of the JSON documents that servers return. Their values may be of any kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.foundation.support.problem import InstallError


def object_in(body: Any, name: str, where: str) -> Mapping[str, Any]:
    """The object with this name in an answer, empty where there is none. Raises InstallError when it is not one."""
    return _part(body, name, where, dict, "object")  # type: ignore[no-any-return]


def list_in(body: Any, name: str, where: str) -> list[Any]:
    """The list with this name in an answer, empty where there is none. Raises InstallError when it is not one."""
    return _part(body, name, where, list, "list")  # type: ignore[no-any-return]


def texts_in(body: Any, name: str, where: str) -> tuple[str, ...]:
    """The texts in the list with this name; what else is in it does not count. Raises InstallError."""
    return tuple(item for item in list_in(body, name, where) if isinstance(item, str))


def _part(body: Any, name: str, where: str, kind: type, called: str) -> Any:
    part = body.get(name) if isinstance(body, dict) else None
    if part is None:
        return kind()
    if not isinstance(part, kind):
        raise InstallError(f"the answer of {where} has no {called} {name}")
    return part
