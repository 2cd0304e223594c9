"""Paths into structures, as people write them: `tags.Name`, `Statement[0].Effect`."""

from __future__ import annotations


def member(path: str, name: str) -> str:
    """The path of a named part: `tags.Name`, or `tags["a.b"]` where the name is not a plain one."""
    if name.isidentifier() or name.replace("-", "_").isidentifier():
        return f"{path}.{name}" if path else name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'{path}["{escaped}"]'
