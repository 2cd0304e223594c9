"""`providers`: which providers each module needs, as a tree."""

from __future__ import annotations

from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag, no_directory
from planner.cli.options import VARIABLES, state_options
from planner.foundation.vocabulary.diagnostic import Diagnostics
from planner.language.config.model import ModuleConfig
from planner.operations.providers_needed import Needed, needed_providers
from planner.render.terminal import Terminal

USAGE = "[options]"
HELP = "Shows the providers that the configuration requires, module by module, and those that the state requires."
FLAGS = (Flag("test-directory", "string", "", value="DIR"), *VARIABLES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when the configuration cannot be read."""
    from planner.operations.state_access import load_with_values

    no_directory(arguments, "providers")
    told = Diagnostics()
    with told.until_an_error():
        start, _ = load_with_values(state_options(arguments), told)
        terminal.out("\nProviders required by configuration:\n.")
        needed = needed_providers(start.config, start.state)
        terminal.out("\n".join(tree(start.config.root, needed, "")))
        if needed.recorded:
            terminal.out("\nProviders required by state:\n")
            for source in sorted(needed.recorded):
                terminal.out(f"    provider[{source}]\n")
    return finish(told, terminal)


def configured(module: ModuleConfig, needed: Needed) -> dict[str, str]:
    """The providers of one module: full address -> version constraint ("" for none)."""
    from planner.foundation.vocabulary.version_constraints import normal_constraints

    versions = {
        required.source: normal_constraints(required.version)
        for required in module.required_providers.values()
        if required.version
    }
    address = ".".join(f"module.{name}" for name in module.path)
    return {source: versions.get(source, "") for source in sorted(needed.of_modules.get(address, ()))}


def tree(module: ModuleConfig, needed: Needed, indent: str) -> list[str]:
    """The lines below a module."""
    entries: list[tuple[str, ModuleConfig | None]] = [
        (f"provider[{source}]{f' {version}' if version else ''}", None)
        for source, version in configured(module, needed).items()
    ]
    entries += [(f"module.{name}", module.children[name]) for name in sorted(module.children)]
    lines = []
    for number, (text, child) in enumerate(entries, 1):
        last = number == len(entries)
        lines.append(f"{indent}{'└──' if last else '├──'} {text}")
        if child is not None:
            lines += tree(child, needed, indent + ("    " if last else "│   "))
    return lines
