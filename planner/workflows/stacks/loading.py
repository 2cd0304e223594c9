"""Loads a stack with all modules that its components call, as installed by `init`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.records import evolve
from planner.language.config.model import Config, ModuleConfig, ProviderDecl, ProviderRef
from planner.language.config.stack_files.check import check_stack
from planner.language.config.stack_files.load import StackSources, is_stack, load_stack
from planner.language.config.stack_files.model import (
    ProviderSource,
    StackConfig,
    StackModule,
)
from planner.language.syntax.body import NativeBody
from planner.world.state.workspace import data_directory


def read_stack(directory: str, places: StackSources | None = None) -> tuple[StackConfig, list[Diagnostic]]:
    """The stack in a directory, and the diagnostics about its files. Raises Failure if the directory has no stack."""
    check_directory(directory)
    stack, problems = load_stack(directory, places=places, data_dir=data_directory(os.environ))
    if not has_errors(problems):
        problems = [*problems, *check_stack(stack)]
    return stack, problems


def check_directory(directory: str) -> None:
    """Raises Failure if the directory does not exist or has no stack."""
    if not os.path.isdir(directory):
        raise Failure(error("stack.directory", "No such directory", f"There is no directory {directory}."))
    if not is_stack(directory):
        detail = f"There is no file *.tfcomponent.hcl in {directory}: it is not a stack."
        raise Failure(error("stack.none", "No stack", detail))


def component_configs(root: StackModule) -> Iterator[Config]:
    """The configurations of all components, each once, including components of child stacks and of removed blocks."""
    return (config for config, _, _ in component_calls(root))


def component_calls(
    root: StackModule,
) -> Iterator[tuple[Config, StackModule, Iterable[tuple[ProviderRef, ProviderSource]]]]:
    """Each component configuration once, with the first stack that calls it and the provider configurations that this
    call passes."""
    seen: set[int] = set()
    for module in root.walk():
        for item in module.calls:
            if item.config is not None and id(item.config) not in seen:
                seen.add(id(item.config))
                yield item.config, module, item.providers


def requirements(root: StackModule) -> Config:
    """A configuration that contains only the provider requirements of the stack and its child stacks."""
    required = {
        f"{number}-{name}": entry
        for number, module in enumerate(root.walk())
        for name, entry in module.required_providers.items()
    }
    return Config(ModuleConfig((), ".", None, required_providers=required))


def configured(config: Config, stack: StackModule, given: Iterable[tuple[ProviderRef, ProviderSource]]) -> Config:
    """A component's configuration with an empty block for each provider configuration that the stack passes. The blocks
    are used only to find schemas; their arguments could not be evaluated in the module."""
    blocks: dict[str, ProviderDecl] = {}
    for inner, outer in given:
        provider = stack.providers[outer.name]
        source = provider.span.source
        body = NativeBody({}, [], source, provider.span.start, provider.span.end)
        blocks[str(inner)] = ProviderDecl(inner.name, inner.alias, None, body, provider.span)
    return evolve(config, root=evolve(config.root, providers={**config.root.providers, **blocks}))


_COMMANDS = {"planner init": "planner stacks init", "planner providers lock": "planner stacks providers-lock"}


def advised(problem: Diagnostic) -> Diagnostic:
    """The diagnostic, in which commands for root modules (`planner init`) are replaced with commands for stacks."""
    detail = problem.detail
    for plain, ours in _COMMANDS.items():
        detail = detail.replace(plain, ours)
    return problem if detail == problem.detail else evolve(problem, detail=detail)
