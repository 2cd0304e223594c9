"""`providers`: which providers each module and each test file needs, as a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.api.installation import Installation
from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag, no_directory
from planner.cli.options import VARIABLES, state_calls
from planner.foundation.vocabulary.version_constraints import normal_constraints
from planner.language.config.model import ModuleConfig
from planner.render.terminal import Terminal

if TYPE_CHECKING:
    from planner.api.installation import Needed, RequiredProviders

USAGE = "[options]"
HELP = """Shows the providers that the configuration requires, module by module, those that test files and their runs
require, and those that the state requires."""
FLAGS = (Flag("test-directory", "string", "The directory with test files (tests).", value="DIR"), *VARIABLES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when the configuration cannot be read."""
    no_directory(arguments, "providers")
    required = state_calls(Installation, arguments).providers(arguments["test-directory"])
    terminal.out("\nProviders required by configuration:\n.")
    entries = [*module_entries(required.configuration.root, required.needed), *test_entries(required)]
    terminal.out("\n".join(tree(entries, "")))
    if required.needed.recorded:
        terminal.out("\nProviders required by state:\n")
        for source in sorted(required.needed.recorded):
            terminal.out(f"    provider[{source}]\n")
    return finish(required.diagnostics, terminal)


def configured(module: ModuleConfig, needed: Needed) -> dict[str, str]:
    """The providers of one module: full address -> version constraint ("" for none)."""
    given: dict[str, list[str]] = {}
    for required in module.required_providers.values():
        given.setdefault(required.source, []).append(required.version or "")
    for block in module.providers.values():
        given.setdefault(module.provider_source(block.name), []).append(block.version or "")
    versions = {source: normal_constraints(", ".join(filter(None, texts))) for source, texts in given.items()}
    address = ".".join(f"module.{name}" for name in module.path)
    return {source: versions.get(source, "") for source in sorted(needed.of_modules.get(address, ()))}


Entries = list[tuple[str, "Entries"]]
"""what a tree shows: a text, and what is below it"""


def module_entries(module: ModuleConfig, needed: Needed) -> Entries:
    """The providers of a module, and the modules that it calls."""
    entries: Entries = [
        (f"provider[{source}]{f' {version}' if version else ''}", [])
        for source, version in configured(module, needed).items()
    ]
    children = sorted(module.children.items())
    return entries + [(f"module.{name}", module_entries(child, needed)) for name, child in children]


def test_entries(required: RequiredProviders) -> Entries:
    """Test files with the providers that they configure, and the modules of their runs."""
    entries: Entries = []
    root = required.configuration.root
    for file in required.tests.files:
        sources = sorted({root.provider_source(block.name) for block in file.providers.values()})
        inner: Entries = [(f"provider[{source}]", []) for source in sources]
        for run in file.runs:
            if run.config is not None:
                inner.append((f"run.{run.name}", module_entries(run.config.root, required.of(run.config))))
        entries.append((f"test.{file.name.removesuffix('.tftest.hcl').replace('/', '.')}", inner))
    return entries


def tree(entries: Entries, indent: str) -> list[str]:
    """Entries as lines."""
    lines = []
    for number, (text, inner) in enumerate(entries, 1):
        last = number == len(entries)
        lines.append(f"{indent}{'└──' if last else '├──'} {text}")
        lines += tree(inner, indent + ("    " if last else "│   "))
    return lines
