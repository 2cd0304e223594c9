"""Planning a part of a configuration: the blocks to plan again, with only the headers of the blocks to which they
refer, since their planned objects are known. All parts of the configuration other than resources are included too."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from planner.engine.walk.hooks import Hooks
from planner.foundation.vocabulary.diagnostic import Diagnostics, Failure
from planner.foundation.vocabulary.records import evolve, frozen
from planner.language.config.load import load_config
from planner.operations.load import ConfigurationReading, begin, load_values
from planner.operations.options import OperationOptions
from planner.operations.plan import MadePlan, Start, plan_stored
from planner.operations.state_access import open_backend, read_state
from planner.world.state.model import State

if TYPE_CHECKING:
    from planner.engine.plan.options import Settled
    from planner.logic.model.graph import Graph

_NAMES = re.compile(r"([A-Za-z_][\w-]*)\s*\.\s*([A-Za-z_][\w-]*)")
_HEADERS = {
    "none": 'resource "{}" "{}" {{\n}}\n',
    "count": 'resource "{}" "{}" {{\n  count = 1\n}}\n',
    "for_each": 'resource "{}" "{}" {{\n  for_each = {{}}\n}}\n',
}


@frozen(eq=False)
class ModulePart:
    """A part of a root module: its files with the blocks to plan at their places; other resources have only a header,
    with the argument that determines their instances."""

    files: Mapping[str, str]
    headers: Mapping[str, str]
    about: Collection[str]
    """the resources and outputs (`output.name`) whose state the plan uses"""


def mentioned(text: str, known: Collection[str]) -> set[str]:
    """The resources to which a text may refer, possibly too many."""
    return {name for name in map(".".join, _NAMES.findall(text)) if name in known}


def plan_part(options: OperationOptions, part: ModulePart, settled: Mapping[str, Settled]) -> MadePlan[Start] | None:
    """The plan of a part, if it has no diagnostics: problems are reported by a complete plan."""
    headers = [_HEADERS[argument].format(*name.split(".", 1)) for name, argument in sorted(part.headers.items())]
    options = evolve(options, settled=settled, keeps_values=True, lock=False, ask_variable=None)
    diagnostics = Diagnostics()
    try:
        with tempfile.TemporaryDirectory(prefix="planner-") as folder:
            for name, text in {**part.files, (f"{max(map(len, part.files)) * 'x'}x.tf"): "\n".join(headers)}.items():
                with open(os.path.join(folder, name), "w", encoding="utf-8", newline="") as file:
                    file.write(text)
            made = _plan(options, folder, part.about, diagnostics)
    except (Failure, OSError):  # OSError: no space for these files
        return None
    return None if diagnostics else made


def _plan(
    options: OperationOptions, folder: str, about: Collection[str], diagnostics: Diagnostics
) -> MadePlan[Start] | None:
    """Raises Failure."""
    begun, problems = begin(options)
    config, more = load_config(folder, variables=begun.given, workspace=begun.workspace)
    diagnostics += [*problems, *more]
    loaded = ConfigurationReading(begun, config, (), tuple(diagnostics)).loaded()
    opened = open_backend(loaded, diagnostics)
    variables, problems = load_values(loaded)
    diagnostics += problems
    if diagnostics:
        return None
    stored = read_state(opened, diagnostics)
    stored = evolve(stored, state=_limited(stored.state, about))
    planned = plan_stored(stored, variables, Hooks())
    diagnostics += planned.diagnostics
    return planned.complete


def _limited(state: State, about: Collection[str]) -> State:
    """The part of a state that contains some resources and outputs."""
    resources = {name: resource for name, resource in state.resources.items() if name in about}
    outputs = {name: output for name, output in state.outputs.items() if f"output.{name}" in about}
    return evolve(state, resources=resources, outputs=outputs)


def uses_of(graph: Graph) -> dict[str, list[str]]:
    """Which blocks of the root module refer to which, by their names in expressions."""
    names = {node.name: _KINDS[node.kind] + node.object for node in graph.nodes.values() if _counts(node)}
    result: dict[str, list[str]] = {}
    for dependent, dependency in graph.edge_rows:
        if dependent in names and dependency in names:
            result.setdefault(names[dependent], []).append(names[dependency])
    for used in result.values():
        used.sort()
    return result


_KINDS = {"resource": "", "local": "local.", "output": "output.", "root_variable": "var."}


def _counts(node: object) -> bool:
    return node.kind in _KINDS and not node.module  # type: ignore[attr-defined]
