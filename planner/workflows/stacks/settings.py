"""Reads `planner.stack.hcl`, which sets the backend for a stack's states. The stack's own files cannot set it."""

from __future__ import annotations

import os
from typing import Any

from planner.foundation.values.json_codec import simple_json
from planner.foundation.vocabulary.diagnostic import Failure, has_errors
from planner.language.config.reading import Problems, read
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.scope import Scope
from planner.language.syntax.body import BodySchema, ExpectedBlock
from planner.language.syntax.files import load_file
from planner.workflows.stacks.states import FOLDER
from planner.world.state.backend import Backend, open_backend
from planner.world.state.encryption_seal import PLAIN, Seal

FILE = "planner.stack.hcl"
_FILE = BodySchema({}, (ExpectedBlock("backend", ("type",)),))


def backend_of(directory: str, seal: Seal = PLAIN) -> Backend:
    """The backend for a stack's states, as in planner.stack.hcl; without this file, local files in the stack's
    directory. `seal`: encryption of the states. Raises Failure."""
    kind, settings = place_of(directory)
    backend, problems = open_backend(kind, settings, seal)
    if backend is None or has_errors(problems):
        raise Failure(problems)
    return backend


def place_of(directory: str) -> tuple[str, dict[str, Any]]:
    """The backend for a stack's states, as (type, settings). Raises Failure."""
    path = os.path.join(directory, FILE)
    if os.path.lexists(path):  # a broken link is an error
        return _read(path)
    return "local", {"workspace_dir": FOLDER}


def _read(path: str) -> tuple[str, dict[str, Any]]:
    body, source, item = load_file(path, FILE, keep=False)
    if body is None or has_errors(item):
        raise Failure(item)
    problems = Problems(item)
    blocks = read(body, _FILE, problems).blocks
    if len(blocks) != 1:
        detail = "The file must have exactly one backend block, with the location of the stack's states."
        problems.error("stack_backend", f"Invalid {FILE}", detail, blocks[1].header_span if blocks else None)
        raise Failure(problems)
    (block,) = blocks
    attributes, more = block.body.just_attributes()
    problems.extend(more)
    settings: dict[str, Any] = {}
    for name, attribute in attributes.items():
        value, wrong = try_evaluate(attribute.expr, Scope(), source)
        problems.extend(wrong)
        settings[name] = None if has_errors(wrong) else simple_json(value)
    kind = block.labels[0].value
    if kind == "local":
        settings.setdefault("workspace_dir", FOLDER)
    if problems.has_errors:
        raise Failure(problems)
    return kind, settings
