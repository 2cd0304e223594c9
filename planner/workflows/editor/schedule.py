"""Schedules checks. Files are checked shortly after the last keystroke. Modules with all modules that they call are
checked later, in another process."""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import Coroutine
from typing import Any

from lsprotocol import types as lsp

from planner.foundation.support.forks import Fork
from planner.workflows.editor.checking import Checking
from planner.workflows.editor.texts import Json
from planner.workflows.editor.transport import EditorServer

DELAY = 0.05
"""seconds without a keystroke before files are checked; if the last check took longer, its duration is used, up to
_LONGEST_DELAY"""
_LONGEST_DELAY = 0.3
SLOW = 0.1
"""if a check took more than this many seconds, the next check runs in another process, after a quick check of the
files"""
TREE_DELAY = 0.3
"""seconds without a keystroke before a module is checked with all modules that it calls"""
TIDY_DELAY = 1.0
"""seconds without a keystroke before garbage is collected"""
_MOST_CHECKS = 50
"""number of checks after which young garbage is collected even if the user has not paused"""
_TICK = 0.1
"""interval in seconds at which a running check is stopped if it is no longer needed"""
_SLICE = 0.01
"""maximum number of seconds for which called modules are read before waiting messages are handled"""


class CheckSchedule:
    """Checks that are due, and the diagnostics that were last sent to the editor."""

    def __init__(self, server: EditorServer, checking: Checking) -> None:
        self._server, self._checking, self._workspace = server, checking, checking.workspace
        self._waiting: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._seconds: dict[tuple[str, str], float] = {}
        self._rounds: dict[tuple[str, str], int] = {}
        """{subject: how often its check became due}"""
        self._published: dict[str, list[Json]] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._one_check, self._one_tree = asyncio.Lock(), asyncio.Lock()
        self._checks = 0  # checks since the last garbage collection
        self.reading = 0
        """number of checks for which called modules are being read"""

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a task in the event loop without waiting for it."""
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def changed_file(self, path: str, delay: float) -> None:
        """Check the subjects that a changed file may affect, in `delay` seconds."""
        reached = self._checking.reached(path)
        self._checking.forget(path)
        for subject in reached:
            self.check_soon(subject, delay)

    def check_soon(self, subject: tuple[str, str], delay: float) -> None:
        """Check a subject in `delay` seconds. If this is called again before the check, only the last call counts."""
        before = self._waiting.pop(subject, None)
        if before is not None:
            before.cancel()
        if subject[0]:
            self._rounds[subject] = self._rounds.get(subject, 0) + 1
            last = self._seconds.get(subject, 0.0)
            wait = max(delay, min(last, _LONGEST_DELAY)) if delay and not self._is_slow(subject) else delay
            self._waiting[subject] = asyncio.ensure_future(self._check(subject, wait))

    async def _check(self, subject: tuple[str, str], delay: float) -> None:
        await asyncio.sleep(delay)
        self._waiting.pop(subject, None)
        began = time.monotonic()
        this = self._rounds[subject]
        try:
            if self._checking.is_large(subject):
                self._publish_all(self._checking.glance(subject))
            elif self._is_slow(subject):
                self._publish_all(self._checking.glance(subject), is_complete=False)
                async with self._one_check:
                    if self._rounds[subject] != this:
                        return
                    began = time.monotonic()
                    result = await self._result_of(self._checking.start_check(subject), subject)
                if result is None:
                    return
                self._publish_all(self._checking.keep(subject, result))
            else:
                await self._read_called(subject)
                if self._rounds[subject] != this:
                    return
                self._publish_all(self._checking.check(subject))
        except Exception as problem:  # a defect of planner: the server continues
            self._server.log(problem, "check failed")
        self._seconds[subject] = time.monotonic() - began
        self._checks += 1
        self.in_background(self._tidy())
        if subject[0] == "module":
            self.in_background(self._check_tree(subject))

    async def _read_called(self, subject: tuple[str, str]) -> None:
        """Read the modules that a module calls. Requests are answered in between, because at first hundreds of modules
        may have to be read."""
        began = time.monotonic()
        self.reading += 1
        try:
            for _ in self._checking.read_called(subject):
                if time.monotonic() - began > _SLICE:
                    await asyncio.sleep(0)
                    began = time.monotonic()
        finally:
            self.reading -= 1

    def _is_slow(self, subject: tuple[str, str]) -> bool:
        return hasattr(os, "fork") and subject[0] == "module" and self._seconds.get(subject, 0.0) > SLOW

    def _publish_all(self, by_file: dict[str, list[Json]], is_complete: bool = True) -> None:
        for path, diagnostics in by_file.items():
            self.publish(path, diagnostics, is_complete)

    async def _result_of(self, fork: Fork, subject: tuple[str, str]) -> bytes | None:
        """The result of a process that checks a subject. None if another check of the subject became due in the
        meantime, or if the process ended without a result."""
        this = self._rounds[subject]
        waiting = asyncio.get_running_loop().run_in_executor(None, fork.result, None)
        try:
            while not waiting.done() and self._rounds[subject] == this:
                await asyncio.wait([waiting], timeout=_TICK)
        finally:
            fork.stop()
        result = await waiting  # reads the pipe until the process ends
        fork.end()
        return result if result and self._rounds[subject] == this else None

    async def _tidy(self) -> None:
        """Collect garbage after a pause in typing, because discarded models contain reference cycles."""
        revision = self._workspace.opened.revision
        if self._checks < _MOST_CHECKS:
            await asyncio.sleep(TIDY_DELAY)
        if self._checks and (self._workspace.opened.revision == revision or self._checks >= _MOST_CHECKS):
            is_pause = self._checks < _MOST_CHECKS
            self._checks = 0
            gc.collect(2 if is_pause else 1)  # between keystrokes only young garbage is collected, which is fast

    async def _check_tree(self, subject: tuple[str, str]) -> None:
        """After a pause in typing, check a module with all modules that it calls in another process."""
        this = self._rounds[subject]
        await asyncio.sleep(TREE_DELAY)
        async with self._one_tree:
            if self._rounds[subject] != this:  # a later check of the tree is due
                return
            try:
                fork = self._checking.start_tree_check(subject)
            except Exception as problem:  # a defect of planner or of the machine: the server continues
                self._server.log(problem, "check failed")
                return
            if fork is None:
                return
            result = await self._result_of(fork, subject)
            if result is not None:
                self._publish_all(self._checking.keep_tree(subject, result))

    def publish(self, path: str, diagnostics: list[Json], is_complete: bool = True) -> None:
        """Send the diagnostics of a file to the editor. For a closed file, they are sent only if they have changed.
        `is_complete`: whether the current version of the file was checked completely; only then is the version sent,
        too."""
        document = self._workspace.opened.documents.get(path)
        if document is None and self._published.get(path, []) == diagnostics:
            return
        self._published[path] = diagnostics
        params: Json = {"uri": self._workspace.opened.uri(path), "diagnostics": diagnostics}
        if document is not None and is_complete:
            params["version"] = document.version
        self._server.tell(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)
