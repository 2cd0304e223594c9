"""Reads and writes the two cache files of a fleet: one with all known results, and one with the results of later runs.

    whole    {"name", "entries": {table: {unit: known}}, "files": [entry...]}
    more     lines {"name", "entries", "files", "gone": [[table, removed unit]...]}, one for each run with few changes

`known["reads"]` lists the files that were read for a result, as indexes into "files" (see files_read.py for those
entries). A line of the second file is used only if its "name" is that of the current version of the first file."""

from __future__ import annotations

import os
import time
from functools import cache
from typing import Any

from planner.foundation.support.assets import rules_path
from planner.foundation.support.exact_json import orjson
from planner.foundation.support.store import Shelf
from planner.workflows.batch.files_read import with_settled_time

FLEETS = Shelf("fleets", 200, 1 << 30)
LITTLE = 0.05
"""if at most this share of the entries has changed, a line is appended to the second file instead of rewriting the
first one"""
MOST_MORE = 0.25
"""the first file is rewritten when the appended lines reach this fraction of its size"""
_FORMAT = "8"
"""version of the file format"""

Known = dict[str, Any]
Key = tuple[str, str]


class CacheFiles:
    """The content of both cache files. `entries`: {table: {unit: known result}}; the "reads" of a result are indexes
    into `files`."""

    def __init__(self, root: str, tables: tuple[str, ...]) -> None:
        self.whole, self.more = entry_names(root)
        self.entries: dict[str, dict[str, Known]] = {table: {} for table in tables}
        self.files: list[list[Any]] = []
        self.changed: set[Key] = set()
        self._name = ""
        self._size, self._lines = 0, b""  # the size of the first file in bytes, and the appended lines
        self._load()

    def _load(self) -> None:
        try:
            self._read()
        except (KeyError, TypeError, AttributeError, ValueError):  # the file was written in another format
            self.entries, self.files, self._name = {table: {} for table in self.entries}, [], ""

    def _read(self) -> None:
        data = FLEETS.load(self.whole)
        if data is None:
            return
        document = orjson.loads(data)
        self.files, self._name, self._size = document["files"], document["name"], len(data)
        self.entries = {table: document["entries"][table] for table in self.entries}
        lines = bytes(FLEETS.load(self.more) or b"").splitlines(keepends=True)
        for line in lines:
            more = orjson.loads(line)
            if more["name"] == self._name:
                self._add(more)
                self._lines += line

    def _add(self, more: dict[str, Any]) -> None:
        first = len(self.files)
        self.files += more["files"]
        for table, units in more["entries"].items():
            for unit, known in units.items():
                known["reads"] = [first + number for number in known["reads"]]
                self.entries[table][unit] = known
        for table, unit in more["gone"]:
            self.entries[table].pop(unit, None)

    def put(self, table: str, unit: str, known: Known, reads: list[list[Any]]) -> None:
        known["reads"] = list(range(len(self.files), len(self.files) + len(reads)))
        self.files += reads
        self.entries[table][unit] = known
        self.changed.add((table, unit))

    def drop(self, table: str, unit: str) -> None:
        if self.entries[table].pop(unit, None) is not None:
            self.changed.add((table, unit))

    # ---------------------------------------------------------------- writing

    def save(self) -> bool:
        """Write changed entries. Returns whether the indexes in "reads" have changed."""
        if not self.changed:
            return False
        is_little = self._is_little()
        (self._append if is_little else self._write)()
        self.changed.clear()
        return not is_little

    def _is_little(self) -> bool:
        if not self._name or len(self.changed) > LITTLE * sum(map(len, self.entries.values())):
            return False
        return len(self._lines) < MOST_MORE * self._size

    def _append(self) -> None:
        entries: dict[str, dict[str, Known]] = {table: {} for table in self.entries}
        gone = []
        for table, unit in sorted(self.changed):
            known = self.entries[table].get(unit)
            if known is None:
                gone.append([table, unit])
            else:
                entries[table][unit] = dict(known)
        files = self._renumbered(entries)
        line = {"name": self._name, "entries": entries, "files": files, "gone": gone}
        self._lines += orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
        FLEETS.store(self.more, self._lines)

    def _write(self) -> None:
        self.files = self._renumbered(self.entries)
        self._name = f"{time.time_ns()}-{os.getpid()}"
        data = orjson.dumps({"name": self._name, "entries": self.entries, "files": self.files})
        self._size, self._lines = len(data), b""
        FLEETS.store(self.whole, data)

    def _renumbered(self, entries: dict[str, dict[str, Known]]) -> list[list[Any]]:
        """Renumber the reads of these results so that equal reads have the same number, and return the new list of
        files. If an unchanged file was checked several times, the latest check is used, because its modification time
        is the most reliable."""
        numbers: dict[tuple[Any, ...], int] = {}
        last: list[int] = []
        for table in entries.values():
            for known in table.values():
                reads = []
                for number in known["reads"]:
                    path, kind, _, _, content = self.files[number]
                    new = numbers.setdefault((path, kind, content), len(last))
                    if new == len(last):
                        last.append(number)
                    elif last[new] < number:
                        last[new] = number
                    reads.append(new)
                known["reads"] = reads
        return [with_settled_time(self.files[number]) for number in last]


def entry_names(root: str) -> tuple[str, str]:
    """The names of the fleet's two cache files, for the current rules: the file with all known results, and the file
    with the results of later runs."""
    place = os.path.realpath(root)
    return FLEETS.name(_FORMAT, place, _rules()), FLEETS.name(_FORMAT, place, _rules(), "more")


@cache
def _rules() -> str:
    """Names, modification times and sizes of the product's rule files, one line for each."""
    parts = []
    for folder, _, names in sorted(os.walk(rules_path())):
        for name in sorted(names):
            if name.endswith(".dl"):
                status = os.stat(os.path.join(folder, name))
                parts.append(f"{name} {status.st_mtime_ns} {status.st_size}")
    return "\n".join(parts)
