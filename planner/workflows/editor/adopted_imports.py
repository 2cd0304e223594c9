"""Makes a plan with generated configuration for the targets of import blocks, for `adopt`. Configuration can be
generated only for a resource without count and for_each. Therefore, each instance with a key that is the target of an
import block is planned as a separate resource with an unused name."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from itertools import count
from typing import Any

from planner.engine.evaluation.imports import Imports, ImportTarget
from planner.foundation.support.disk import view
from planner.foundation.vocabulary.address import ResourceAddress, quote
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.records import evolve
from planner.language.config.model import ImportDecl, ModuleConfig
from planner.language.syntax.body import NativeBody
from planner.language.syntax.files import load_text
from planner.logic.model.plan import ResourceChange
from planner.operations.load import read_configuration
from planner.operations.options import OperationOptions
from planner.operations.plan import MadePlan
from planner.workflows.editor.pieces import with_edits
from planner.workflows.editor.refactoring import plan_or_fail, workspace_of
from planner.workflows.editor.texts import TextDocument, uri_of


def generated_plan(options: OperationOptions) -> MadePlan[Any]:
    """A plan with generated configuration for the targets of import blocks. Raises Failure."""
    with tempfile.TemporaryDirectory() as folder:
        generating = evolve(options, generate_config_out=os.path.join(folder, "generated.tf"))
        config = read_configuration(options).config
        blocks = [] if config is None else [*_repeated(config.root)]
        return _plan_instances(generating, blocks) if blocks else plan_or_fail(generating)


def _repeated(root: ModuleConfig) -> Iterator[ImportDecl]:
    """The import blocks in native syntax whose target is an instance with a key (or may be one) of a root resource that
    is not declared."""
    for block in root.imports:
        target = block.target
        is_keyed = block.instance is None or block.instance.key is not None
        is_native = block.id is not None and not block.span.filename.endswith(".json")
        if target is not None and is_keyed and is_native and not (target.path or target.relative in root.resources):
            yield block


def _plan_instances(options: OperationOptions, blocks: list[ImportDecl]) -> MadePlan[Any]:
    workspace = workspace_of(options)
    for path in {os.path.abspath(block.span.filename) for block in blocks}:
        text = workspace.document(path).text
        body, _, _ = load_text(text.encode(), path)
        assert isinstance(body, NativeBody)
        starts = {block.span.start for block in blocks if os.path.abspath(block.span.filename) == path}
        away = [(one.start, one.end, "") for one in body.blocks if one.start in starts]
        workspace.opened.put(uri_of(path), TextDocument(with_edits(text, away)))
    with view(workspace.overlay()):
        context = plan_or_fail(evolve(options, keeps_values=True)).context
    assert context is not None
    imports = Imports(context)
    targets = [target for block in blocks for target in imports.targets_of(context.root, block)]
    names = (f"adopted_{number}" for number in count())
    taken = {decl.name for decl in context.root.config.resources.values()}
    named = dict(zip((name for name in names if name not in taken), targets, strict=False))
    text = "".join(_block(target, name) for name, target in named.items())
    path = os.path.join(os.path.abspath(options.directory), f"{next(name for name in names if name not in taken)}.tf")
    workspace.opened.put(uri_of(path), TextDocument(text))
    with view(workspace.overlay()):
        try:
            made = plan_or_fail(options)
        except Failure as failure:
            own = {f"{one.address.type}.{name}": str(one.address) for name, one in named.items()}
            raise Failure(
                [evolve(one, address=own.get(one.address or "", one.address)) for one in failure.diagnostics]
            ) from None
    changes = tuple(
        _renamed(one, named[one.name].address) if one.name in named and not one.module else one
        for one in made.plan.changes
    )
    return evolve(made, plan=evolve(made.plan, changes=changes))


def _block(target: ImportTarget, name: str) -> str:
    provider = f"  provider = {target.decl.provider}\n" if target.decl.provider else ""
    return f"import {{\n{provider}  to = {target.address.type}.{name}\n  id = {quote(target.id)}\n}}\n"


def _renamed(change: ResourceChange, address: ResourceAddress) -> ResourceChange:
    text = str(address)
    return evolve(change, address=text, previous_address=text, name=address.name, key=address.key)
