"""Annotations of a review document at the lines of its files: workflow commands that the runners of GitHub and Azure
Pipelines read from the log."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

MOST = 50
"""annotations of a step; GitHub shows no more"""
_LEVELS = {"deny": "error", "broken": "error", "error": "error", "warn": "warning", "warning": "warning"}


def annotated_lines(document: Mapping[str, Any], environ: Mapping[str, str]) -> list[str]:
    """A line for each problem, finding and root cause that has a place, the gravest first; none elsewhere."""
    write = _github if environ.get("GITHUB_ACTIONS") == "true" else _azure if environ.get("TF_BUILD") else None
    if write is None:
        return []
    base = document["about"].get("directory") or "."
    order = ("error", "warning", "notice")
    items = sorted(_annotated(document), key=lambda item: order.index(item[0]))
    lines = []
    for level, one, title, text in items:
        path = os.path.normpath(os.path.join(base, one["file"]))
        if not path.startswith("..") and not os.path.isabs(path):
            lines.append(write(level, path, one["line"], title, text))
    return lines[:MOST]


def _annotated(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], str, str]]:
    for one in document["diagnostics"]:
        if one.get("file"):
            yield _LEVELS[one["severity"]], one, one["summary"], one["detail"] or one["summary"]
    for one in document["policies"]["findings"]:
        if one.get("file"):
            title = f"{one['kind']} {one['code']}"
            yield _LEVELS.get(one["kind"], "notice"), one, title, f"{one['address']}: {one['message']}"
    for one in document["causes"]:
        if one.get("file"):
            effects = ", ".join(f"{verb} {number}" for verb, number in one["sets_off"].items())
            sides = (
                f": {one['before'] or 'nothing'} -> {one['after'] or 'nothing'}"
                if one["before"] or one["after"]
                else ""
            )
            yield "notice", one, f"Causes {effects}", f"{one['what']}{sides}"


def _github(level: str, path: str, line: int, title: str, text: str) -> str:
    def setting(value: str) -> str:
        return _escaped(value).replace(":", "%3A").replace(",", "%2C")

    return f"::{level} file={setting(path)},line={line},title={setting(title)}::{_escaped(text)}"


def _azure(level: str, path: str, line: int, title: str, text: str) -> str:
    def setting(value: str) -> str:
        return _escaped(value).replace("]", "%5D").replace(";", "%3B")

    kind = "error" if level == "error" else "warning"
    return (
        f"##vso[task.logissue type={kind};sourcepath={setting(path)};linenumber={line}]{_escaped(f'{title}: {text}')}"
    )


def _escaped(text: str) -> str:
    """The text with all characters escaped that end a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
