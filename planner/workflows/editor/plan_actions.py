"""Code actions that use the last plan: adding a waiver for a finding of a policy, and finding the smallest sets of
edits that avoid a change."""

from __future__ import annotations

import asyncio
import getpass
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from datetime import date, timedelta

from planner.foundation.vocabulary.address import quote
from planner.foundation.vocabulary.span import Source
from planner.language.syntax.body import Attribute, Block
from planner.language.syntax.parse import parse_expression
from planner.workflows.editor.plans import SECONDS, Plans
from planner.workflows.editor.symbols import DeclaredName, nodes
from planner.workflows.editor.texts import Json, workspace_edit
from planner.workflows.editor.workspace import Workspace

FIX = "planner.fix"
WAIVERS = os.path.join(".planner", "waivers.toml")
_DAYS = 30
"""days until a new waiver expires"""
_SET_BACK = re.compile(r"set \S+ back to (.+)", re.S)


def plan_actions(plans: Plans, path: str, symbols: Iterable[DeclaredName], offset: int) -> Iterator[Json]:
    workspace = plans.workspace
    symbol = next((one for one in symbols if one.start <= offset <= one.end), None)
    if symbol is None:
        return
    for root, finding in plans.findings(workspace.directory_of(path), symbol.key):
        code, address = finding["code"], finding["address"]
        file = os.path.join(root, WAIVERS)
        try:
            text = workspace.document(file).text
        except (OSError, ValueError):
            text = ""
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        edit = workspace_edit(workspace.opened, {file: [(len(text), len(text), gap + _waiver(code, address))]})
        title = f"Waive policy {code} for {address} for {_DAYS} days"
        yield {"title": title, "kind": "quickfix", "edit": edit}
    for root, address in plans.avoidable(workspace.directory_of(path), symbol.key)[:1]:
        title = f"Find edits that avoid the change of {address} (planner why -fix)"
        yield {
            "title": title,
            "kind": "quickfix",
            "command": {"title": title, "command": FIX, "arguments": [root, address]},
        }


def _waiver(code: str, address: str) -> str:
    """The source of a waiver for one finding. It expires after _DAYS days, and its owner is the current user."""
    try:
        owner = getpass.getuser()
    except (KeyError, OSError):  # the user's ID has no name
        owner = "unknown"
    expires = (date.today() + timedelta(days=_DAYS)).isoformat()
    lines = (
        "[[waiver]]", f"code = {quote(code)}", f"address = {quote(address)}", f"owner = {quote(owner)}",
        f"expires = {expires}", 'reason = "to be written"',
    )  # fmt: skip
    return "\n".join(lines) + "\n"


async def fixes(workspace: Workspace, plans: Plans, root: str, address: str) -> list[Json]:
    """The sets of edits that avoid the change of an object, from `planner why -fix`, as {"text", "edit"}. A set without
    "edit" cannot be applied by the editor. [] if the command fails. Raises TimeoutError."""
    quiet = ("-refresh=false",) if plans.mode == "offline" else ()
    command = [sys.executable, "-m", "planner", f"-chdir={root}", "why", "-fix", "-json", *quiet, address]
    nothing, pipe = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=nothing, stdout=pipe, stderr=nothing)
    try:
        output, _ = await asyncio.wait_for(process.communicate(), SECONDS)
    except (asyncio.CancelledError, TimeoutError):
        process.terminate()
        raise
    try:
        document = json.loads(output)
    except ValueError:
        return []
    return [_fix(workspace, root, fix) for fix in document.get("fixes", ())]


def _fix(workspace: Workspace, root: str, fix: Json) -> Json:
    words = [f"{one['text']}{_place(one)}" for one in fix["places"]]
    note = f" [{fix['note']}]" if fix.get("note") else ""
    result: Json = {"text": " and ".join(words) + note}
    edits: dict[str, list[tuple[int, int, str]]] = {}
    for place in fix["places"]:
        edit = _edit(workspace, root, place)
        if edit is None:
            return result
        edits.setdefault(edit[0], []).append(edit[1:])
    return {**result, "edit": workspace_edit(workspace.opened, edits)}


def _place(place: Json) -> str:
    source = place.get("source") or {}
    return f" ({source['file']}:{source['line']})" if "line" in source else ""


def _edit(workspace: Workspace, root: str, place: Json) -> tuple[str, int, int, str] | None:
    """The edit that restores a former value, as (path, start, end, text); None if the change is not the edit of an
    expression in a readable file."""
    match, source = _SET_BACK.fullmatch(place["text"]), place.get("source") or {}
    if match is None or "column" not in source or "..." in match[1] or parse_expression(Source("", match[1]))[1]:
        return None
    path = os.path.normpath(os.path.join(root, source["file"]))
    try:
        document, body = workspace.document(path), workspace.body(path)[0]
    except (OSError, ValueError):
        return None
    start = document.offset(source["line"] - 1, source["column"] - 1)
    hits = (node for node in nodes(body) if not isinstance(node, Attribute | Block) and node.start == start)
    node = next(hits, None)  # the outermost expression that begins there
    return (path, node.start, node.end, match[1]) if node is not None else None
