"""Plans root modules in the background, to show the planned actions of blocks and their causes in the editor. Each plan
is made by a process (`planner plan -lock=false -review=FILE`, with -offline in the mode `offline`). Requests are
answered from the review of the last plan; they do not wait for a running plan."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from planner.logic.programs.actions import words_for
from planner.workflows.editor.model import Model
from planner.workflows.editor.symbols import DeclaredName
from planner.workflows.editor.texts import Json, TextDocument
from planner.workflows.editor.workspace import Workspace, kind_of
from planner.world.state.workspace import data_directory

SECONDS = 300
"""time limit of a plan in seconds"""
WHY = "planner.why"
_ORDER = ("create", "update", "replace", "delete")
_KEYS = re.compile(r"\[(?:\"(?:[^\"\\]|\\.)*\"|\d+)\]")
_MODULES = re.compile(r"^(?:module\.[^.]+\.)+")
_FLAGS = ("-lock=false", "-input=false", "-no-color")
_MOST_HOPS = 12


class Plans:
    """The reviews of the last plans of root modules. `mode`: offline (without calls of providers, only for local
    states), full, or off."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.mode = "offline"
        self._reviews: dict[str, Json] = {}
        self._running: dict[str, asyncio.Task[bool]] = {}
        self._one = asyncio.Semaphore(1)

    def is_planned(self, model: Model) -> bool:
        """Whether a module is planned in the current mode: it seems to be a root module (it has a backend, a local
        state or a data directory) and, in the mode `offline`, its state is local."""
        if self.mode == "off":
            return False
        backend = model.root.backend
        if self.mode == "offline" and backend is not None and backend.type != "local":
            return False
        folder = model.directory
        marks = (os.path.join(folder, "terraform.tfstate"), os.path.join(folder, data_directory(os.environ)))
        return backend is not None or any(map(os.path.exists, marks))

    def has(self, directory: str) -> bool:
        """Whether the module has a plan, or is being planned."""
        return directory in self._reviews or directory in self._running

    async def follow(self, path: str, is_first: bool, model_of: Callable[[str], Model]) -> bool:
        """Plan the root modules to which a saved file belongs. `is_first`: plan only modules without a plan. Returns
        whether there is a new plan."""
        directory = self.workspace.directory_of(path)
        is_new = False
        for folder in (directory, *self.workspace.roots_above(directory)):
            if not (is_first and self.has(folder)) and self.is_planned(model_of(os.path.join(folder, "main.tf"))):
                is_new |= await self.renew(folder)
        return is_new

    async def renew(self, directory: str) -> bool:
        """Plan a module; if it is being planned already, that plan is cancelled. Returns False if this plan is
        cancelled by a later call. Raises TimeoutError."""
        before = self._running.get(directory)
        if before is not None:
            before.cancel()
        task = self._running[directory] = asyncio.ensure_future(self._renew(directory))
        try:
            return await task
        except asyncio.CancelledError:
            return False

    async def _renew(self, directory: str) -> bool:
        async with self._one:
            with tempfile.TemporaryDirectory() as folder:
                review = os.path.join(folder, "review.json")
                flags = [*_FLAGS, f"-review={review}", *(("-offline",) if self.mode == "offline" else ())]
                command = [sys.executable, "-m", "planner", f"-chdir={directory}", "plan", *flags]
                nothing = asyncio.subprocess.DEVNULL
                process = await asyncio.create_subprocess_exec(*command, stdin=nothing, stdout=nothing, stderr=nothing)
                try:
                    await asyncio.wait_for(process.wait(), SECONDS)
                except (asyncio.CancelledError, TimeoutError):
                    process.terminate()
                    raise
                finally:
                    self._running.pop(directory, None)
                try:
                    with open(review, encoding="utf-8") as file:
                        self._reviews[directory] = json.load(file)
                except (OSError, ValueError):
                    self._reviews.pop(directory, None)
        return True

    # ---------------------------------------------------------------- answers

    def _changes(self, directory: str, key: str) -> list[tuple[Json, Json]]:
        """The planned changes of a block as (change, review), from the plans of its module and of root modules that
        call this module."""
        hit = []
        for root, review in sorted(self._reviews.items()):
            for change in _entries(review):
                if (change["key"] == key and _directory(root, change) == directory) or (
                    root == directory
                    and key.startswith("module.")
                    and f"{change['address']}.".startswith((f"{key}.", f"{key}["))
                ):
                    hit.append((change, review))
        return hit

    def findings(self, directory: str, key: str) -> list[tuple[str, Json]]:
        """(root module, finding) for each denial or warning about the objects of a block."""
        return [
            (root, finding)
            for root, review in sorted(self._reviews.items())
            for finding in review.get("policies", {}).get("findings", ())
            if finding.get("kind") in ("deny", "warn")
            and _key(finding["address"]) == key
            and _directory(root, finding) == directory
        ]

    def avoidable(self, directory: str, key: str) -> list[tuple[str, str]]:
        """(root module, address) for each object of a block that is updated, replaced or destroyed."""
        return [
            (root, change["address"])
            for root, review in sorted(self._reviews.items())
            for change in _entries(review)
            if change["key"] == key and _directory(root, change) == directory and "type" in change
            if change["verb"] in ("update", "replace", "delete")
        ]

    def summary(self, directory: str, key: str) -> str:
        """The planned actions of a block and their cause, such as `+ 3, ~ 1: var.size 1 -> 2`. For a variable, the
        actions that its change causes. "" if there are none. While files have unsaved edits, "(as saved)" is added,
        because plans read the saved files."""
        line = self._summary(directory, key)
        return f"{line} (as saved)" if line and self._is_edited() else line

    def _is_edited(self) -> bool:
        for path, document in self.workspace.opened.documents.items():
            if kind_of(path) in ("configuration", "values"):
                try:
                    with open(path, "rb") as file:
                        saved = file.read()
                except OSError:
                    return True
                if saved != document.text.encode("utf-8", "surrogatepass"):
                    return True
        return False

    def _summary(self, directory: str, key: str) -> str:
        changes = self._changes(directory, key)
        causes = _causes(changes)
        if key.startswith("var."):
            return next((f"causes {_counts(cause['sets_off'])}" for cause in self._causes_named(directory, key)), "")
        if not changes:
            return ""
        counts = _counts(Counter(change["verb"] for change, _ in changes))
        more = f" (+ {len(causes) - 1} more)" if len(causes) > 1 else ""
        line = f"{counts}: {_cause(causes[0])}{more}" if causes else counts
        denied = dict.fromkeys(one["code"] for _, one in self.findings(directory, key) if one["kind"] == "deny")
        return f"{line}; denied by {', '.join(denied)}" if denied else line

    def _causes_named(self, directory: str, key: str) -> Iterator[Json]:
        review = self._reviews.get(directory)
        yield from (cause for cause in (review or {}).get("causes", ()) if cause.get("what") == key)

    def markdown(self, directory: str, key: str) -> str:
        """The planned actions of a block as Markdown, with their causes, the paths from the causes to the changes, and
        findings of policies; "" if there are no actions."""
        changes = self._changes(directory, key)
        line = self.summary(directory, key)
        if not line:
            return ""
        parts = [f"**Plan:** {line}"]
        for cause in _causes(changes)[:3]:
            place = f" ({cause['note']})" if cause.get("note") else ""
            word = "because of" if cause.get("certain", True) else "possibly because of"
            parts.append(
                "\n".join(
                    [f"{word} `{_cause(cause)}`{place}", *(f"- `{hop}`" for hop in cause.get("hops", ())[:_MOST_HOPS])]
                )
            )
        parts += [f"**{f['kind']}** `{f['code']}`: {f['message']}" for _, f in self.findings(directory, key)]
        if len(changes) <= 3:
            for change, _ in changes:
                forced = [one for one in change.get("attributes", ()) if one.get("forces_replacement")]
                if forced:
                    names = ", ".join(f"`{one['path']}`" for one in forced)
                    parts.append(f"{change['address']} is replaced because of {names}")
        return "\n\n".join(parts)

    def lenses(self, path: str, document: TextDocument, symbols: Iterable[DeclaredName]) -> list[Json]:
        """A code lens, as LSP JSON, for each block for which the last plan has actions."""
        directory = self.workspace.directory_of(path)
        result = []
        for symbol in symbols:
            if symbol.block in ("resource", "data", "module", "output", "variable", "action"):
                title = self.summary(directory, symbol.key)
                if title:
                    command = {
                        "title": title,
                        "command": WHY,
                        "arguments": [self.workspace.opened.uri(path), symbol.key],
                    }
                    result.append({"range": document.range(symbol.start, symbol.name_end), "command": command})
        return result


def _entries(review: Json) -> Iterator[Json]:
    for change in review.get("changes", ()):
        yield {**change, "key": _key(change["address"])}
    for output in review.get("outputs", ()):
        if output.get("action") != "no-op":
            key = f"output.{output['name']}"
            verb = output.get("action", "update")
            yield {"verb": verb, "address": key, "key": key, "causes": output.get("causes", ())}


def _key(address: str) -> str:
    """The key of the block that declares the object at an address."""
    return _MODULES.sub("", _KEYS.sub("", address))


def _directory(root: str, change: Json) -> str:
    return os.path.normpath(os.path.join(root, os.path.dirname(change.get("file") or "")))


def _counts(verbs: Mapping[str, int]) -> str:
    names = sorted(verbs, key=lambda verb: (_ORDER.index(verb) if verb in _ORDER else len(_ORDER), verb))
    return ", ".join(f"{words_for(verb).sign.strip()} {verbs[verb]}" for verb in names)


def _causes(changes: Iterable[tuple[Json, Json]]) -> list[Json]:
    hit: dict[str, Json] = {}
    for change, review in changes:
        by_number = {cause["number"]: cause for cause in review.get("causes", ())}
        for number in change.get("causes", ()):
            if number in by_number:
                hit.setdefault(_cause(by_number[number]), by_number[number])
    return list(hit.values())


def _cause(cause: Json) -> str:
    before, after = cause.get("before"), cause.get("after")
    values: Any = f" {before} -> {after}" if before or after else ""
    return f"{cause.get('what') or cause.get('kind', '')}{values}"
