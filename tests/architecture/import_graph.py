"""The imports of the product, read from its text: at the top of a module, for types only, and within functions."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

ROOT = Path(__file__).parents[2]

Kind = Literal["top", "type", "function"]
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Import(NamedTuple):
    """`module` imports `target`, a module of ours or the one of others that is named there."""

    module: str
    target: str
    kind: Kind
    line: int

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"


@cache
def modules() -> Mapping[str, Path]:
    """The modules of the product by their names; a package is a module, too."""
    named = {}
    for path in sorted((ROOT / "planner").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return named


@cache
def imports() -> tuple[Import, ...]:
    """All of them, in the order of modules and lines."""
    return tuple(one for name, path in modules().items() for one in _of(name, ast.parse(path.read_bytes())))


def _of(module: str, tree: ast.Module) -> Iterator[Import]:
    def below(node: ast.AST, kind: Kind) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import | ast.ImportFrom):
                yield from (Import(module, target, kind, child.lineno) for target in _targets(child))
            elif isinstance(child, Function):
                yield from below(child, "function" if kind != "type" else kind)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                yield from below(child, "type")
            else:
                yield from below(child, kind)

    return below(tree, "top")


def _targets(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    assert node.module and not node.level, "imports are absolute"
    for alias in node.names:
        full = f"{node.module}.{alias.name}"
        yield full if full in modules() else node.module


WINGS = frozenset(
    path.name for path in (ROOT / "planner").iterdir() if path.is_dir() and len(list(path.glob("*.py"))) == 1
)
"""the directories of rooms: each has no module of its own"""


def room(module: str) -> str:
    """The room of a module: `planner.world.state` of `planner.world.state.backends.local`, `planner.cli` of
    `planner.cli.main`."""
    parts = module.split(".")
    return ".".join(parts[: 3 if parts[1:2] and parts[1] in WINGS else 2])


def circles(arrows: Mapping[str, Collection[str]]) -> list[list[str]]:
    """The strongly connected components of more than one node, sorted (Tarjan 1972)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    inside: set[str] = set()
    found: list[list[str]] = []
    for start in sorted(arrows):
        if start in number:
            continue
        number[start] = low[start] = len(number)
        stack.append(start)
        inside.add(start)
        work = [(start, iter(sorted(arrows.get(start, ()))))]
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in number:
                    number[other] = low[other] = len(number)
                    stack.append(other)
                    inside.add(other)
                    work.append((other, iter(sorted(arrows.get(other, ())))))
                    break
                if other in inside:
                    low[node] = min(low[node], number[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    at = stack.index(node)
                    circle = sorted(stack[at:])
                    del stack[at:]
                    inside.difference_update(circle)
                    if len(circle) > 1:
                        found.append(circle)
    return sorted(found)


@cache
def loaded_with(module: str) -> frozenset[str]:
    """What is loaded when a module is imported: all that it and those modules of ours import at the top, and the
    packages that they are in."""
    direct = _loaded_directly()
    waiting, seen = [module], {module}
    while waiting:
        for other in direct.get(waiting.pop(), ()):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return frozenset(seen)


@cache
def _loaded_directly() -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = {name: set(_packages(name)) for name in modules()}
    for one in imports():
        if one.kind == "top":
            found[one.module].update((one.target, *_packages(one.target)))
    return found


def _packages(module: str) -> Iterator[str]:
    parts = module.split(".")
    return (".".join(parts[:n]) for n in range(1, len(parts)))
