"""The files of a fleet's cache: everything that is known as one file, and after it what became known later.

    cache.json         {"stamp", "name", "entries": {table: {unit: known}}, "files": [entry...]}
    cache.more.jsonl   {"name", "entries", "files", "gone": [[table, unit]...]} for each run that found little new

A known thing has "reads": the numbers of the files and folders that it was made from, in the order of "files" (reads.py
says what an entry is). A line counts only if it names the `cache.json` that it was written after.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Any

from planner.batch import CACHE
from planner.batch.reads import settled
from planner.batch.record import make_folder, open_whole
from planner.support.disk import read_whole
from planner.support.fast_json import orjson

MORE = os.path.join(os.path.dirname(CACHE), "cache.more.jsonl")
LITTLE = 0.05
"""the part of all that is known up to which what is new is written behind it, instead of everything anew"""
MOST_MORE = 0.25
"""how large what was written behind may become, as a part of everything"""

Known = dict[str, Any]
Key = tuple[str, str]


class CacheFiles:
    """`entries[table][unit]` is what is known, `files` what its reads are numbers of."""

    def __init__(self, root: str, stamp: str, tables: tuple[str, ...]) -> None:
        self.root, self.stamp = root, stamp
        self.path, self.more = os.path.join(root, CACHE), os.path.join(root, MORE)
        self.entries: dict[str, dict[str, Known]] = {table: {} for table in tables}
        self.files: list[list[Any]] = []
        self.changed: set[Key] = set()
        self._name = ""
        self._load()

    def _load(self) -> None:
        try:
            self._read()
        except (OSError, KeyError, TypeError, AttributeError, ValueError):  # spoiled, or written by somebody else
            self.entries, self.files, self._name = {table: {} for table in self.entries}, [], ""

    def _read(self) -> None:
        found = orjson.loads(read_whole(self.path))
        if found["stamp"] != self.stamp:
            return
        self.files, self._name = found["files"], found["name"]
        self.entries = {table: found["entries"][table] for table in self.entries}
        if not os.path.exists(self.more):
            return
        lines = read_whole(self.more).split(b"\n")
        for line in lines:
            try:
                more = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue  # cut off with the process that wrote it
            if more["name"] == self._name:
                self._add(more)

    def _add(self, more: dict[str, Any]) -> None:
        first = len(self.files)
        self.files += more["files"]
        for table, found in more["entries"].items():
            for unit, known in found.items():
                known["reads"] = [first + number for number in known["reads"]]
                self.entries[table][unit] = known
        for table, unit in more["gone"]:
            self.entries[table].pop(unit, None)

    def put(self, table: str, unit: str, known: Known, reads: list[list[Any]]) -> None:
        """Know something of a unit from now on."""
        known["reads"] = list(range(len(self.files), len(self.files) + len(reads)))
        self.files += reads
        self.entries[table][unit] = known
        self.changed.add((table, unit))

    def drop(self, table: str, unit: str) -> None:
        """Know it no more."""
        if self.entries[table].pop(unit, None) is not None:
            self.changed.add((table, unit))

    # ---------------------------------------------------------------- writing

    def save(self) -> bool:
        """Write what is new; whether the numbers of files are others now. A cache that cannot be written is none."""
        if not self.changed:
            return False
        is_little = self._is_little()
        try:
            make_folder(self.root)
            (self._append if is_little else self._write)()
        except OSError:
            return False
        self.changed.clear()
        return not is_little

    def _is_little(self) -> bool:
        if not self._name or len(self.changed) > LITTLE * sum(map(len, self.entries.values())):
            return False
        try:
            return os.path.getsize(self.more) < MOST_MORE * os.path.getsize(self.path)
        except FileNotFoundError:
            return os.path.exists(self.path)

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
        with open_whole(self.more) as file:
            file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))

    def _write(self) -> None:
        self.files = self._renumbered(self.entries)
        self._name = f"{time.time_ns()}-{os.getpid()}"
        beside = f"{self.path}.{os.getpid()}.tmp"
        document = {"stamp": self.stamp, "name": self._name, "entries": self.entries, "files": self.files}
        with open(beside, "wb") as file:
            file.write(orjson.dumps(document))
        os.replace(beside, self.path)
        with suppress(FileNotFoundError):
            os.unlink(self.more)

    def _renumbered(self, entries: dict[str, dict[str, Known]]) -> list[list[Any]]:
        """What these things read, without repetitions; their numbers are set anew. Whoever looked last at what has not
        changed knows best when it did, or that the clock could not tell yet."""
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
        return [settled(self.files[number]) for number in last]
