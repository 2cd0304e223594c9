"""Writes moved blocks for renamed objects, and chooses the module and the file of each block."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence

from planner.answers.explain.renames import ProposedMove, wholes
from planner.foundation.support.digests import sha256_of
from planner.foundation.support.disk import read_whole, replace_file
from planner.foundation.vocabulary.address import (
    Address,
    ModuleAddress,
    ResourceAddress,
    format_key,
    parse_address,
    parse_module,
    parse_resource_instance,
)
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.directory import folder_at
from planner.language.config.file_content import read_file
from planner.language.config.model import Config, ModuleCall, ModuleConfig, MovedDecl, ResourceDecl
from planner.language.config.reading import Problems
from planner.language.config.references import Ref, parse_reference
from planner.language.syntax.body import Mentioning, variables
from planner.language.syntax.files import load_text
from planner.language.syntax.format import format_text
from planner.language.syntax.json_reader import JsonArray, JsonObject, read_json
from planner.world.state.model import State

_OVERRIDES = re.compile(r"(?:^|/|_)override\.(?:tf|tofu)(?:\.json)?$").search
_INDENT = re.compile(r"\n([ \t]+)\Z")


@frozen(eq=False)
class MovedBlock:
    """A moved block to add to a file of a module. `from_` and `to`: addresses relative to the module. `moves`: the
    moves of objects that the block causes."""

    file: str
    """the name of the file, as in diagnostics"""
    directory: str
    from_: str
    to: str
    moves: tuple[ProposedMove, ...] = field(factory=tuple)

    @property
    def text(self) -> str:
        """The block in the file's syntax."""
        if self.file.endswith(".json"):
            return json.dumps({"moved": [self.json]}, indent=2, ensure_ascii=False)
        return format_text(f"moved {{\nfrom = {self.from_}\nto = {self.to}\n}}\n")

    @property
    def json(self) -> dict[str, str]:
        """The block as an item of the array `moved` in a JSON file."""
        return {"from": self.from_, "to": self.to}

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """(old, new) addresses of the moved objects."""
        return [pair for move in self.moves for pair in move.carried]


# ---------------------------------------------------------------- the module for a moved block


def moved_blocks(moves: Sequence[ProposedMove], config: Config, state: State) -> list[MovedBlock]:
    """The moved blocks for these moves, sorted by file and address. Each block is in the innermost module in which it
    is correct for all instances of the module."""
    places = _Places(moves, config, state)
    placed: dict[tuple[str, str, str], tuple[ModuleConfig, list[ProposedMove]]] = {}
    for move in moves:
        module, from_, to = places.of(move)
        placed.setdefault((module.directory, str(from_), str(to)), (module, []))[1].append(move)
    return sorted(
        (
            MovedBlock(_file_of(module, parse_address(to), config), module.directory, from_, to, tuple(carried))
            for (_, from_, to), (module, carried) in placed.items()
        ),
        key=lambda block: (block.file, block.moves[0].to),
    )


class _Places:
    """Chooses the module in which a moved block for a move is written."""

    def __init__(self, moves: Sequence[ProposedMove], config: Config, state: State) -> None:
        self.config = config
        self.moves = {(move.from_, move.to) for move in moves}
        self.present: set[str] = set()
        self.instances: dict[tuple[str, ...], set[ModuleAddress]] = {}
        for resource in state.resources.values():
            module = parse_module(resource.module)
            for depth in range(len(module.steps) + 1):
                above = ModuleAddress(module.steps[:depth])
                self.instances.setdefault(above.path, set()).add(above)
            for key in resource.instances:
                address = parse_resource_instance(resource.address + format_key(key))
                self.present.update(whole for whole, _, _ in wholes(address))
        self.alike: dict[str, list[ModuleConfig]] = {}
        for one in config.root.walk():
            self.alike.setdefault(one.directory, []).append(one)

    def of(self, move: ProposedMove) -> tuple[ModuleConfig, Address, Address]:
        """The innermost local module in which the moved block is correct for all instances of the module, otherwise the
        root module; and the two addresses relative to this module."""
        from_, to = parse_address(move.from_), parse_address(move.to)
        ends = [end.parent if isinstance(end, ModuleAddress) else end.module for end in (from_, to)]
        pairs = enumerate(zip(*(end.steps for end in ends), strict=False))
        common = next((at for at, (one, other) in pairs if one != other), min(len(end.steps) for end in ends))
        for depth in range(min(common, self._origin(from_, to)), 0, -1):
            module = self.config.root.descendant(to.path[:depth])
            inside = _seen_from(from_, depth), _seen_from(to, depth)
            if module is not None and not module.is_remote and self._is_right(module, *inside):
                return module, *inside
        return self.config.root, from_, to

    def _is_right(self, module: ModuleConfig, from_: Address, to: Address) -> bool:
        """Whether in all instances of the module, the object at `from_` moves to `to` or does not exist."""
        return all(
            (str(old := from_.inside(instance)), str(to.inside(instance))) in self.moves or str(old) not in self.present
            for alike in self.alike[module.directory]
            for instance in self.instances.get(alike.path, ())
        )

    def _origin(self, from_: Address, to: Address) -> int:
        """The depth of the outermost module whose expressions contribute to the keys that differ between the two
        addresses."""
        depths = [len(to.path)]
        for path, declaration in _repeated_anew(self.config, from_, to):
            expressions = (declaration.count, declaration.for_each, declaration.enabled)
            nodes: list[Mentioning] = [expr.node for expr in expressions if expr is not None]
            depths.append(_depth_of_origin(self.config, path, nodes))
        return min(depths)


def _seen_from(address: Address, depth: int) -> Address:
    module = ModuleAddress(address.module.steps[depth:])
    return module if isinstance(address, ModuleAddress) else evolve(address, module=module)


def _repeated_anew(
    config: Config, from_: Address, to: Address
) -> Iterator[tuple[tuple[str, ...], ResourceDecl | ModuleCall]]:
    """(path of the declaring module, declaration) for each module call on the path of `to`, and for its resource, if
    the key differs from the key in `from_`."""
    path, steps, before = to.path, to.module.steps, from_.module.steps
    for depth, step in enumerate(steps):
        module = config.root.descendant(path[:depth])
        if module is not None and step[0] in module.calls and step not in before[depth : depth + 1]:
            yield path[:depth], module.calls[step[0]]
    module = config.root.descendant(path)
    if module is not None and isinstance(to, ResourceAddress) and from_.key != to.key:
        resource = module.resources.get(to.config.relative)
        if resource is not None:
            yield path, resource


def _depth_of_origin(config: Config, path: tuple[str, ...], nodes: list[Mentioning]) -> int:
    """The depth of the outermost module whose values reach the expressions `nodes` of the module at `path` through
    arguments of module calls."""
    while path:
        module, parent = config.root.descendant(path), config.root.descendant(path[:-1])
        if module is None or parent is None:
            return 0
        inputs = parent.calls[path[-1]].inputs
        nodes = [inputs[name] for name in _variables(module, nodes) if name in inputs]
        if not nodes:
            break
        path = path[:-1]
    return len(path)


def _variables(module: ModuleConfig, nodes: list[Mentioning]) -> set[str]:
    """The names of the variables on which the expressions depend, directly or through local values."""
    names: set[str] = set()
    seen: set[str] = set()
    left = list(nodes)
    while left:
        for mention in variables(left.pop()):
            ref = parse_reference(mention)
            if not isinstance(ref, Ref):
                continue
            if ref.kind == "var":
                names.add(ref.name)
            elif ref.kind == "local" and ref.name in module.locals and ref.name not in seen:
                seen.add(ref.name)
                left.append(module.locals[ref.name].expr.node)
    return names


def _file_of(module: ModuleConfig, to: Address, config: Config) -> str:
    """The file of the module in which to write the block: a file that already contains moved blocks, otherwise the file
    that declares the moved object. If that file has JSON syntax, and the module has files in native syntax, the first
    file in native syntax is returned."""
    if module.moved:
        return module.moved[-1].span.filename
    steps = to.module.steps
    declaration = module.calls.get(steps[0][0]) if steps else None
    declared = declaration or (None if isinstance(to, ModuleAddress) else module.resources.get(to.config.relative))
    directory = os.path.normpath(module.directory)
    files = sorted(
        name
        for name in config.files
        if os.path.normpath(os.path.dirname(name) or ".") == directory and not _OVERRIDES(name)
    )
    native = [name for name in files if not name.endswith(".json")]
    name = declared.span.filename if declared is not None else (native or files)[0]
    return native[0] if native and name.endswith(".json") else name


# ---------------------------------------------------------------- the configuration with moved blocks


def with_moved(config: Config, blocks: Sequence[MovedBlock]) -> tuple[Config, dict[Span, MovedBlock]]:
    """The configuration with the blocks added, and {span of the parsed block: the block}. The blocks are parsed from
    their text. Raises Failure if a block is not valid."""
    by_file: dict[str, list[MovedBlock]] = {}
    for block in blocks:
        by_file.setdefault(block.file, []).append(block)
    added: dict[str, list[MovedDecl]] = {}
    spans: dict[Span, MovedBlock] = {}
    for file, items in by_file.items():
        for block, declaration in zip(items, _declarations_of(file, items), strict=True):
            spans[declaration.span] = block
            added.setdefault(block.directory, []).append(declaration)

    def grown(module: ModuleConfig) -> ModuleConfig:
        children = {name: grown(child) for name, child in module.children.items()}
        return evolve(module, children=children, moved=(*module.moved, *added.get(module.directory, ())))

    return evolve(config, root=grown(config.root)), spans


def _declarations_of(file: str, blocks: Sequence[MovedBlock]) -> list[MovedDecl]:
    name = f"moved blocks for {file}"  # no other statement has this file name, so the name identifies the block
    text = insert_blocks(b"{}" if file.endswith(".json") else b"", name, blocks)
    body, _, _ = load_text(text, name, keep=False)
    result = Problems()
    assert body is not None
    content = read_file(body, name, False, result)
    declarations = [declaration for declaration, _ in content.moved if declaration is not None]
    if result.has_errors or len(declarations) != len(blocks):
        raise Failure(list(result))
    return declarations


# ---------------------------------------------------------------- files


def write_blocks(blocks: Iterable[MovedBlock], config: Config, directory: str) -> tuple[list[str], list[Diagnostic]]:
    """Insert the blocks into their files. Each file is replaced atomically. If a file cannot be written, no file
    remains changed. Returns the names of the changed files, and problems."""
    by_file: dict[str, list[MovedBlock]] = {}
    for block in blocks:
        by_file.setdefault(block.file, []).append(block)
    changed: dict[str, tuple[bytes, bytes]] = {}
    problems: list[Diagnostic] = []
    for name, items in sorted(by_file.items()):
        try:
            before = _read_writable(name, folder_at(directory, name), config.files.get(name, ""))
            changed[name] = before, insert_blocks(before, name, items)
        except Failure as failure:
            problems += failure.diagnostics
    if problems:
        return [], problems
    done: list[str] = []
    for name, (_, after) in changed.items():
        try:
            replace_file(folder_at(directory, name), after)
        except OSError as problem:
            for other in done:
                replace_file(folder_at(directory, other), changed[other][0])
            return [], [_unwritable(name, f"{problem.strerror or problem}.")]
        done.append(name)
    return done, []


def _read_writable(name: str, path: str, digest: str) -> bytes:
    """The content of the file. Raises Failure if the file cannot be written, or if its SHA-256 digest is not
    `digest`."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            raise Failure(_unwritable(name, f"It is a symbolic link to {os.readlink(path)}. Edit that file."))
        if not stat.S_ISREG(status.st_mode):
            raise Failure(_unwritable(name, "It is not a regular file."))
        if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
            raise Failure(_unwritable(name, "It is read-only."))
        data = read_whole(path)
    except OSError as problem:
        raise Failure(_unwritable(name, f"{problem.strerror or problem}.")) from None
    if sha256_of(data) != digest:
        raise Failure(_unwritable(name, "It was edited while the plan was made. Try again."))
    return data


def _unwritable(name: str, reason: str) -> Diagnostic:
    detail = f"The moved blocks cannot be written to {name}: {reason} No file was changed."
    return error("advice.unwritable", "Moved blocks cannot be written", detail)


def insert_blocks(data: bytes, name: str, blocks: Sequence[MovedBlock]) -> bytes:
    """The content of a file with the blocks inserted. Raises Failure if the new content would not be valid."""
    text = data.decode("utf-8")
    after = _inserted_json(text, name, blocks) if name.endswith(".json") else _inserted_native(text, blocks)
    body, _, problems = load_text(after.encode("utf-8"), name, keep=False)
    if body is None or has_errors(problems):
        raise Failure(_unwritable(name, "It would no longer be valid."))
    return after.encode("utf-8")


def _inserted_native(text: str, blocks: Sequence[MovedBlock]) -> str:
    added = "\n".join(block.text for block in blocks)
    if "\r\n" in text:
        added = added.replace("\n", "\r\n")
    newline = "\r\n" if "\r\n" in text else "\n"
    before = text if not text or text.endswith("\n") else f"{text}{newline}"
    return f"{before}{newline if before.strip() else ''}{added}"


def _inserted_json(text: str, name: str, blocks: Sequence[MovedBlock]) -> str:
    value, _ = read_json(Source(name, text))
    if isinstance(value, JsonArray):
        return _with_items(text, value, [json.dumps({"moved": [block.json for block in blocks]}, ensure_ascii=False)])
    if not isinstance(value, JsonObject):
        raise Failure(_unwritable(name, "It is not a JSON object."))
    items = [json.dumps(block.json, ensure_ascii=False) for block in blocks]
    for member, known in value.members:
        if member.text == "moved" and isinstance(known, JsonArray):
            return _with_items(text, known, items)
        if member.text == "moved":
            return f"{text[: known.start]}[{', '.join([text[known.start : known.end], *items])}]{text[known.end :]}"
    starts = [member.start for member, _ in value.members]
    indent = _indent(text, starts[0]) if starts else "\n  "
    inner = f"{indent}  " if indent else ""
    moved = f'"moved": [{inner}{(f",{inner}" if inner else ", ").join(items)}{indent}]'
    if not starts:
        return f"{text[: value.start]}{{{indent}{moved}\n}}{text[value.end :]}"
    end = value.members[-1][1].end
    return f"{text[:end]},{indent or ' '}{moved}{text[end:]}"


def _with_items(text: str, known: JsonArray, items: list[str]) -> str:
    if not known.items:
        return f"{text[: known.start]}[{', '.join(items)}]{text[known.end :]}"
    end = known.items[-1].end
    indent = _indent(text, known.items[0].start) or " "
    return text[:end] + "".join(f",{indent}{item}" for item in items) + text[end:]


def _indent(text: str, start: int) -> str:
    """The line break and the indentation before an offset; "" if other characters precede the offset on its line."""
    match = _INDENT.search(text[:start])
    return match[0] if match else ""
