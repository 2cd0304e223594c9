"""Stacks among the directories of a fleet: each deployment is a unit with the name FOLDER/DEPLOYMENT."""

from __future__ import annotations

import os
from collections.abc import Iterable

from planner.foundation.support.disk import read_whole
from planner.foundation.vocabulary.address import valid_identifier
from planner.foundation.vocabulary.records import frozen
from planner.language.config.stack_files.load import COMPONENTS, DEPLOYMENTS, is_stack_file
from planner.language.syntax.body import Body, BodySchema, ExpectedBlock
from planner.language.syntax.files import load_text
from planner.language.syntax.nodes import Literal, Template
from planner.workflows.batch.files_read import Looked, looked_at
from planner.workflows.batch.model import FileLocation, Unit

UNKNOWN = ""
"""placeholder for the deployments of a stack whose files cannot be read: its unit reports the reason"""
_LABELLED = BodySchema({}, tuple(ExpectedBlock(kind, ("name",)) for kind in ("deployment", "component", "stack")))
_SOURCE = BodySchema({"source": False})


@frozen
class StackFolder:
    """The content of a stack's files for the fleet: the names of its deployments (empty for a stack that others call),
    and the directories of its components' and child stacks' sources, as written."""

    deployments: tuple[str, ...]
    sources: tuple[str, ...]


def stack_folder(folder: str, names: Iterable[str] | None = None, looked: Looked | None = None) -> StackFolder | None:
    """The stack in a directory with these files; None if there is none. `looked` receives the files that were read."""
    if names is None:
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            return None
    files = [name for name in names if is_stack_file(name)]
    if not files:
        return None
    deployments: set[str] = set()
    sources: list[str] = []
    for name in files:
        path = os.path.join(folder, name)
        if looked is not None:
            looked |= looked_at(path, "file")
        body = _body(path)
        if name.endswith(DEPLOYMENTS):
            deployments |= {UNKNOWN} if body is None else _labels(body)
        elif name.endswith(COMPONENTS) and body is not None:
            sources += _sources(body)
    is_deployed = any(name.endswith(DEPLOYMENTS) for name in files)
    if is_deployed and (not deployments or UNKNOWN in deployments):
        deployments = {UNKNOWN}
    return StackFolder(tuple(sorted(deployments)), tuple(sources))


def _body(path: str) -> Body | None:
    try:
        return load_text(read_whole(path), path)[0]
    except OSError:
        return None


def _labels(body: Body) -> set[str]:
    content, _ = body.partial_content(_LABELLED)
    names = {block.labels[0].value for block in content.blocks if block.type == "deployment" and block.labels}
    return {name if valid_identifier(name) else UNKNOWN for name in names}


def _sources(body: Body) -> list[str]:
    """Literal local sources."""
    result = []
    content, _ = body.partial_content(_LABELLED)
    for block in content.blocks:
        attribute = block.body.partial_content(_SOURCE)[0].attributes.get("source")
        node = attribute.expr if attribute is not None else None
        if isinstance(node, Template) and len(node.parts) == 1:
            node = node.parts[0]
        value = node.value if isinstance(node, Literal) else None
        if isinstance(value, str) and value.startswith(("./", "../")):
            result.append(value)
    return result


def units_of(name: str, folder: str, deployments: Iterable[str], place: FileLocation | None = None) -> dict[str, Unit]:
    """The units of a stack: `name` is the name of the stack."""
    units = {}
    for deployment in deployments:
        called = unit_name(name, deployment)
        repeated = (name, deployment) if deployment else ()
        units[called] = Unit(called, folder, called=repeated, place=place, deployment=deployment)
    return units


def unit_name(name: str, deployment: str) -> str:
    """The name of a deployment's unit."""
    if not deployment:
        return name
    return deployment if name == "." else f"{name}/{deployment}"
