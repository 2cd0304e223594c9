"""Plans a part of a configuration: the blocks to plan again, and the headers of the blocks to which they refer. The
planned objects of the blocks with only a header are known from the stored plan. Blocks other than resources, module
calls and outputs are always included. A module call is planned again as a whole; the modules of other calls are
replaced with modules that have only outputs."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from planner.engine.walk.hooks import Hooks
from planner.foundation.support.disk import Entry, TreeEntry, list_directory, read_whole, view
from planner.foundation.vocabulary.address import quote
from planner.foundation.vocabulary.diagnostic import Diagnostics, Failure
from planner.foundation.vocabulary.records import evolve, frozen
from planner.language.config.directory import ModuleRecord, read_manifest
from planner.language.config.load import load_config
from planner.operations.load import ConfigurationReading, begin, load_values
from planner.operations.options import OperationOptions
from planner.operations.plan import MadePlan, Start, plan_stored
from planner.operations.state_access import open_backend, read_state
from planner.world.state.model import State
from planner.world.state.workspace import data_directory

if TYPE_CHECKING:
    from planner.engine.plan.options import Settled
    from planner.language.config.model import ModuleConfig
    from planner.logic.model.graph import Graph, Node

_NAMES = re.compile(r"(?:(data)\s*\.\s*)?([A-Za-z_][\w-]*)\s*\.\s*([A-Za-z_][\w-]*)")
_ARGUMENTS = {"none": "", "count": "  count = 1\n", "for_each": "  for_each = {}\n"}
_FOLDER = ".planner-parts"
"""directory of the modules that have only outputs"""
CALL, OUTPUT = "module.", "output."
"""prefixes of the names of calls and outputs"""
_CALL = re.compile(r"module\.([^.\[]+)")


@frozen(eq=False)
class ModulePart:
    """A part of a root module. `files`: {name: content}, with the blocks to plan at their original places. `headers`:
    the other resources and calls, which have only a header with their repetition argument."""

    files: Mapping[str, str]
    headers: Mapping[str, tuple[str, str]]
    """{block: (`count`, `for_each` or `none`; argument `provider`)}"""
    about: Collection[str]
    """resources, calls (`module.name`) and outputs (`output.name`) whose state the plan uses"""


class _Overlay:
    """The disk, with replaced contents of some files."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.root = os.path.realpath(".")
        self._files = files

    def read(self, name: str) -> bytes:
        if name in self._files:
            return self._files[name].encode()
        with view(None):
            return read_whole(os.path.join(self.root, name))

    def entries(self, directory: str) -> Iterable[Entry]:
        prefix = "" if directory == "." else f"{directory}/"
        ours = {name.removeprefix(prefix).split("/")[0] for name in self._files if name.startswith(prefix)}
        entries: list[Entry] = []
        if not directory.startswith(_FOLDER):
            with view(None):
                entries += list_directory(os.path.join(self.root, directory))
        known = {entry.name for entry in entries}
        return entries + [TreeEntry(name, f"{prefix}{name}" not in self._files) for name in sorted(ours - known)]


def mentioned(text: str, known: Collection[str]) -> set[str]:
    """The resources and data sources whose names occur in a text; not every occurrence is a reference."""
    return {name for words in _NAMES.findall(text) if (name := ".".join(filter(None, words))) in known}


def plan_part(options: OperationOptions, part: ModulePart, settled: Mapping[str, Settled]) -> MadePlan[Start] | None:
    """The plan of a part. Returns None if planning fails or has diagnostics; then a complete plan reports the
    problems."""
    files = dict(part.files)
    headers, modules = [], {}
    known: dict[str, Settled] = {}
    for name, (argument, provider) in sorted(part.headers.items()):
        if not name.startswith(CALL):
            headers.append(_header(name, argument, provider))
            known[name] = settled[name]
            continue
        call, instances = name.removeprefix(CALL), settled[name]
        outputs = sorted({output for values in instances.values() for output in values})
        folder = f"{_FOLDER}/{call}"
        files[f"{folder}/main.tf"] = "".join(f'output "{output}" {{\n  value = null\n}}\n' for output in outputs)
        headers.append(f'module "{call}" {{\n  source = "./{folder}"\n{_repetition(argument, instances)}}}\n')
        modules[call] = ModuleRecord(call, f"./{folder}", folder)
        known |= {f"{name}.output.{o}": {key: values[o] for key, values in instances.items()} for o in outputs}
    files[f"{max(map(len, part.files)) * 'x'}x.tf"] = "\n".join(headers)
    options = evolve(options, settled=known, keeps_values=True, lock=False, ask_variable=None)
    diagnostics = Diagnostics()
    try:
        made = _plan(options, files, modules, part.about, diagnostics)
    except (Failure, OSError):
        return None
    return None if diagnostics else made


def _header(name: str, argument: str, provider: str) -> str:
    """The block of a resource or data source without the arguments that its provider decodes."""
    words = name.split(".")
    block = "resource" if len(words) == 2 else words.pop(0)
    lines = _ARGUMENTS[argument] + (provider and f"  provider = {provider}\n")
    return f'{block} "{words[0]}" "{words[1]}" {{\n{lines}}}\n'


def _repetition(argument: str, instances: Settled) -> str:
    if argument == "count":
        return f"  count = {len(instances)}\n"
    if argument == "for_each":
        return "".join(("  for_each = {\n", *(f"    {quote(str(key))} = 1\n" for key in instances), "  }\n"))
    return ""


def _plan(
    options: OperationOptions,
    files: Mapping[str, str],
    modules: Mapping[str, ModuleRecord],
    about: Collection[str],
    diagnostics: Diagnostics,
) -> MadePlan[Start] | None:
    """The plan of these files, for the blocks `about`; None if there are diagnostics before planning or the plan fails.
    Appends to `diagnostics`. Raises Failure."""
    begun, problems = begin(options)
    installed, more = read_manifest(options.directory, data_directory(os.environ))
    problems += more
    manifest = {key: record for key, record in installed.items() if key.split(".")[0] not in modules}
    manifest.update(modules)
    with view(_Overlay(files)):
        config, more = load_config(
            options.directory, variables=begun.given, manifest=manifest, workspace=begun.workspace
        )
    diagnostics += [*problems, *more]
    loaded = ConfigurationReading(begun, config, (), tuple(diagnostics)).loaded()
    try:
        opened = open_backend(loaded, diagnostics)
        variables, problems = load_values(loaded)
        diagnostics += problems
        if diagnostics:
            return None
        stored = read_state(opened, diagnostics)
        stored = evolve(stored, state=_limited(stored.state, about))
        planned = plan_stored(stored, variables, Hooks())
    finally:
        loaded.schemas.close()
    diagnostics += planned.diagnostics
    return planned.complete


def _limited(state: State, about: Collection[str]) -> State:
    """The state with only these resources, calls and outputs."""
    resources = {name: resource for name, resource in state.resources.items() if block_of(name) in about}
    outputs = {name: output for name, output in state.outputs.items() if f"output.{name}" in about}
    return evolve(state, resources=resources, outputs=outputs)


def uses_of(graph: Graph) -> dict[str, list[str]]:
    """{block of the root module: blocks to which it refers}. Everything in a called module belongs to its call."""
    names = {node.name: name for node in graph.nodes.values() if (name := _block(node))}
    result: dict[str, set[str]] = {}
    for dependent, dependency in graph.edge_rows:
        user, used = names.get(dependent, ""), names.get(dependency, "")
        if user and used and user != used:
            result.setdefault(user, set()).add(used)
    return {user: sorted(used) for user, used in result.items()}


def blocks_with_data(root: ModuleConfig) -> list[str]:
    """Data sources of a root module, and calls (`module.name`) of modules with data sources."""
    names = [name for name, decl in root.resources.items() if decl.mode == "data"]
    for name, child in root.children.items():
        if any(decl.mode == "data" for module in child.walk() for decl in module.resources.values()):
            names.append(f"{CALL}{name}")
    return names


def moved_blocks(root: ModuleConfig) -> list[str]:
    """Blocks that `moved` and `removed` blocks of a root module name, and calls of modules that have such blocks."""
    ends = [end for block in root.moved for end in (block.from_, block.to)]
    names = {block_of(end).partition("[")[0] for end in (*ends, *(block.from_ for block in root.removed))}
    for name, child in root.children.items():
        if any(module.moved or module.removed for module in child.walk()):
            names.add(f"{CALL}{name}")
    return sorted(names)


_KINDS = {"resource": "", "local": "local.", "output": "output.", "root_variable": "var."}


def _block(node: Node) -> str:
    if node.module:
        return block_of(node.module)
    if node.kind == "provider":
        return node.name
    return _KINDS[node.kind] + node.object if node.kind in _KINDS else ""


def block_of(address: str) -> str:
    """The root module's block to which an address belongs: a resource or a module call."""
    call = _CALL.match(address)
    return f"{CALL}{call[1]}" if call is not None else address
