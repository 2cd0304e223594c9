"""The schedule of checks: files shortly after the last keystroke, and whole trees of modules later in another
process."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Coroutine
from typing import Any

from lsprotocol import types as lsp

from planner.workflows.editor.checking import Checking
from planner.workflows.editor.texts import Json
from planner.workflows.editor.transport import EditorServer

DELAY = 0.05
"""seconds without a keystroke before files are checked; if the last check took longer, its duration"""
_LONGEST_DELAY = 0.3
TREE_DELAY = 0.3
"""seconds without a keystroke before a module is checked with all that it calls"""
TIDY_DELAY = 1.0
"""seconds without a keystroke before garbage is collected"""
_MOST_CHECKS = 50
"""the number of checks after which garbage is collected at once"""
_TICK = 0.1
"""seconds between two tests of whether a check of a tree is still needed"""


class CheckSchedule:
    """Checks that are due, and the diagnostics that the editor has."""

    def __init__(self, server: EditorServer, checking: Checking) -> None:
        self._server, self._checking, self._workspace = server, checking, checking.workspace
        self._waiting: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._seconds: dict[tuple[str, str], float] = {}
        self._published: dict[str, list[Json]] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._one_tree = asyncio.Lock()
        self._checks = 0  # since the last collection of garbage

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Start work that runs while requests are answered."""
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def changed_file(self, path: str, delay: float) -> None:
        """A file has changed: check the subjects that it may affect after this number of seconds."""
        reached = self._checking.reached(path)
        self._checking.forget(path)
        for subject in reached:
            self.check_soon(subject, delay)

    def check_soon(self, subject: tuple[str, str], delay: float) -> None:
        """Check a subject after this number of seconds, unless another check of it is scheduled before."""
        before = self._waiting.pop(subject, None)
        if before is not None:
            before.cancel()
        if subject[0]:
            wait = max(delay, min(self._seconds.get(subject, 0.0), _LONGEST_DELAY)) if delay else 0.0
            self._waiting[subject] = asyncio.ensure_future(self._check(subject, wait))

    async def _check(self, subject: tuple[str, str], delay: float) -> None:
        await asyncio.sleep(delay)
        self._waiting.pop(subject, None)
        began = time.monotonic()
        try:
            is_large = self._checking.is_large(subject)
            hit = self._checking.glance(subject) if is_large else self._checking.check(subject)
            for path, diagnostics in hit.items():
                self.publish(path, diagnostics)
        except Exception as problem:  # a defect of planner: the server continues
            self._server.log(problem, "check failed")
        self._seconds[subject] = time.monotonic() - began
        self._checks += 1
        self.in_background(self._tidy())
        if subject[0] == "module":
            self.in_background(self._check_tree(subject))

    async def _tidy(self) -> None:
        """Collect garbage after a pause in typing, because discarded models contain reference cycles."""
        revision = self._workspace.opened.revision
        if self._checks < _MOST_CHECKS:
            await asyncio.sleep(TIDY_DELAY)
        if self._checks and (self._workspace.opened.revision == revision or self._checks >= _MOST_CHECKS):
            self._checks = 0
            gc.collect()

    async def _check_tree(self, subject: tuple[str, str]) -> None:
        """Check a module and all modules below it in another process, after a pause in typing."""
        opened = self._workspace.opened
        revision = opened.revision
        await asyncio.sleep(TREE_DELAY)
        async with self._one_tree:
            if opened.revision != revision:  # the check after that change does this, too
                return
            try:
                fork = self._checking.start_tree_check(subject)
            except Exception as problem:  # a defect of planner or of the machine: the server continues
                self._server.log(problem, "check failed")
                return
            if fork is None:
                return
            waiting = asyncio.get_running_loop().run_in_executor(None, fork.result, None)
            try:
                while not waiting.done() and opened.revision == revision:
                    await asyncio.wait([waiting], timeout=_TICK)
            finally:
                fork.stop()
            result = await waiting  # reads the pipe until the process ends
            fork.end()
            if result and opened.revision == revision:
                for path, diagnostics in self._checking.keep_tree(subject, result).items():
                    self.publish(path, diagnostics)

    def publish(self, path: str, diagnostics: list[Json]) -> None:
        """Send the diagnostics of a file, unless it is closed and the editor already has the same."""
        document = self._workspace.opened.documents.get(path)
        if document is None and self._published.get(path, []) == diagnostics:
            return
        self._published[path] = diagnostics
        params: Json = {"uri": self._workspace.opened.uri(path), "diagnostics": diagnostics}
        if document is not None:
            params["version"] = document.version
        self._server.tell(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)
