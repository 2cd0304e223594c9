"""`providers`: which providers each module needs, as a tree."""

from __future__ import annotations

from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag
from planner.cli.options import VARIABLES, options
from planner.cli.terminal import Terminal
from planner.config.model import ModuleConfig
from planner.vocabulary.diagnostic import has_errors

USAGE = "[options]"
HELP = "Shows which providers the configuration needs, module by module, and which the state needs."
FLAGS = (Flag("test-directory", "string", "", value="DIR"), *VARIABLES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when the configuration cannot be read."""
    from planner import pipeline

    loaded = pipeline.load(options(arguments, directory=arguments.words[0] if arguments.words else "."))
    if loaded.config is None or has_errors(loaded.diagnostics):
        return finish(loaded.diagnostics, terminal)
    terminal.out("\nProviders required by configuration:\n.")
    terminal.out("\n".join(tree(loaded.config.root, "")))
    if loaded.state is not None and loaded.state.resources:
        terminal.out("\nProviders required by state:\n")
        for source in sorted({_source(r.provider) for r in loaded.state.resources.values()}):
            terminal.out(f"    provider[{source}]\n")
    return finish(loaded.diagnostics, terminal)


def requirements(module: ModuleConfig) -> list[str]:
    """The providers of one module: address and version constraint."""
    versions: dict[str, str] = {}
    for required in module.required_providers.values():
        versions[required.source] = f" {required.version}" if required.version else ""
    for resource in module.resources.values():
        versions.setdefault(module.provider_source(resource.provider_name), "")
    for provider in module.providers.values():
        versions.setdefault(module.provider_source(provider.name), "")
    return [f"provider[{source}]{versions[source]}" for source in sorted(versions)]


def tree(module: ModuleConfig, indent: str) -> list[str]:
    """The lines below a module."""
    entries: list[tuple[str, ModuleConfig | None]] = [(text, None) for text in requirements(module)]
    entries += [(f"module.{name}", module.children[name]) for name in sorted(module.children)]
    lines = []
    for number, (text, child) in enumerate(entries, 1):
        last = number == len(entries)
        lines.append(f"{indent}{'└──' if last else '├──'} {text}")
        if child is not None:
            lines += tree(child, indent + ("    " if last else "│   "))
    return lines


def _source(provider: str) -> str:
    """The address in `module.a.provider["ADDRESS"].alias`."""
    return provider.split('["', 1)[-1].split('"]', 1)[0]
