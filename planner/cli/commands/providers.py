"""`providers`: which providers each module needs, as a tree."""

from __future__ import annotations

from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag, no_directory
from planner.cli.options import VARIABLES, state_options
from planner.config.model import ModuleConfig
from planner.render.terminal import Terminal
from planner.state.model import State
from planner.vocabulary.told import Told

USAGE = "[options]"
HELP = "Shows which providers the configuration needs, module by module, and which the state needs."
FLAGS = (Flag("test-directory", "string", "", value="DIR"), *VARIABLES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when the configuration cannot be read."""
    from planner.operations.storing import load_with_values

    no_directory(arguments, "providers")
    told = Told()
    with told.until_an_error():
        start, _ = load_with_values(state_options(arguments), told)
        terminal.out("\nProviders required by configuration:\n.")
        terminal.out("\n".join(tree(start.config.root, "")))
        sources = recorded(start.state)
        if sources:
            terminal.out("\nProviders required by state:\n")
            for source in sources:
                terminal.out(f"    provider[{source}]\n")
    return finish(told, terminal)


def configured(module: ModuleConfig) -> dict[str, str]:
    """The providers of one module: full address -> version constraint ("" for none)."""
    from planner.config.version_constraints import normal_constraints

    versions = {
        required.source: normal_constraints(required.version) if required.version else ""
        for required in module.required_providers.values()
    }
    for resource in module.resources.values():
        versions.setdefault(module.provider_source(resource.provider_name), "")
    for provider in module.providers.values():
        versions.setdefault(module.provider_source(provider.name), "")
    return dict(sorted(versions.items()))


def recorded(state: State | None) -> list[str]:
    """The full addresses of the providers in a state."""
    from planner.vocabulary.provider_address import parse_provider_configuration

    resources = state.resources.values() if state is not None else ()
    return sorted({parse_provider_configuration(r.provider).source for r in resources})


def tree(module: ModuleConfig, indent: str) -> list[str]:
    """The lines below a module."""
    entries: list[tuple[str, ModuleConfig | None]] = [
        (f"provider[{source}]{f' {version}' if version else ''}", None)
        for source, version in configured(module).items()
    ]
    entries += [(f"module.{name}", module.children[name]) for name in sorted(module.children)]
    lines = []
    for number, (text, child) in enumerate(entries, 1):
        last = number == len(entries)
        lines.append(f"{indent}{'└──' if last else '├──'} {text}")
        if child is not None:
            lines += tree(child, indent + ("    " if last else "│   "))
    return lines
