"""Plans a part of a configuration, which consists of the blocks to plan again and of the blocks to which they refer.
The latter are reduced to a header with the repetition argument, because their planned objects are known from the stored
plan. Blocks other than resources, module calls and outputs are always included. If a module call is planned again, its
whole module is. In other calls, the module is replaced with one that has only outputs."""

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
"""directory of the modules that have only outputs; it does not exist on disk"""
CALL, OUTPUT = "module.", "output."
"""prefixes of the names of calls and outputs"""
_CALL = re.compile(r"module\.([^.\[]+)")


@frozen(eq=False)
class ModulePart:
    """A part of a root module. `files`: {name: content}, with the blocks to plan at their original positions.
    `headers`: the resources and module calls that are reduced to a header."""

    files: Mapping[str, str]
    headers: Mapping[str, tuple[str, str]]
    """{block: (repetition argument: `count`, `for_each` or `none`; argument `provider` or "")}"""
    about: Collection[str]
    """the resources, calls (`module.name`) and outputs (`output.name`) to plan, including removed ones; the plan uses
    only their objects in the state"""


class _Overlay:
    """The disk, on which some files have other contents or exist in addition. `files`: {path: content}."""

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
    """The known resources, data sources and module calls whose names occur in a text, even in comments or strings.
    `known`: names to look for."""
    return {name for words in _NAMES.findall(text) if (name := ".".join(filter(None, words))) in known}


def plan_part(options: OperationOptions, part: ModulePart, settled: Mapping[str, Settled]) -> MadePlan[Start] | None:
    """Make the plan of a part. Returns None if there are errors or warnings, so that a complete plan is made, which
    reports them. `settled`: planned objects of the blocks with only a header."""
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
    """The block of a resource or data source, without the arguments that its provider decodes."""
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
    """Make the plan of these files. Returns None if there are diagnostics before planning or if planning fails.
    `about`: blocks whose objects in the state the plan uses. Appends to `diagnostics`. Raises Failure."""
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
    """The state without objects and outputs that do not belong to these resources, calls and outputs."""
    resources = {name: resource for name, resource in state.resources.items() if block_of(name) in about}
    outputs = {name: output for name, output in state.outputs.items() if f"output.{name}" in about}
    return evolve(state, resources=resources, outputs=outputs)


def uses_of(graph: Graph) -> dict[str, list[str]]:
    """The references between blocks of the root module: {block: blocks to which it refers}. Everything in a called
    module belongs to the module call."""
    names = {node.name: name for node in graph.nodes.values() if (name := _block(node))}
    result: dict[str, set[str]] = {}
    for dependent, dependency in graph.edge_rows:
        user, used = names.get(dependent, ""), names.get(dependency, "")
        if user and used and user != used:
            result.setdefault(user, set()).add(used)
    return {user: sorted(used) for user, used in result.items()}


def blocks_with_data(root: ModuleConfig) -> list[str]:
    """The data sources of a root module, and its calls (`module.name`) of modules that contain data sources."""
    names = [name for name, decl in root.resources.items() if decl.mode == "data"]
    for name, child in root.children.items():
        if any(decl.mode == "data" for module in child.walk() for decl in module.resources.values()):
            names.append(f"{CALL}{name}")
    return names


def moved_blocks(root: ModuleConfig) -> list[str]:
    """The blocks that `moved` and `removed` blocks of a root module name, and its calls of modules that contain such
    blocks."""
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
    """The block of the root module to which an address belongs: a module call (`module.name`) or, for an address in the
    root module, the address itself."""
    call = _CALL.match(address)
    return f"{CALL}{call[1]}" if call is not None else address
