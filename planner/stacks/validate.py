"""`stacks validate`: is a stack right by itself, and are the modules that it calls?"""

from __future__ import annotations

from collections.abc import Iterator

from planner.config.model import Config
from planner.config.stack_files.model import ComponentDecl, RemovedComponent, StackConfig
from planner.operations.loading import Loaded, new_schemas
from planner.operations.options import Options
from planner.operations.providers_needed import not_installed
from planner.operations.validate import validate_loaded
from planner.stacks.loading import component_configs, configured, read_stack
from planner.vocabulary.diagnostic import Diagnostic
from planner.vocabulary.told import Told


def validate_stack(directory: str) -> list[Diagnostic]:
    """Everything that is wrong with a stack, its deployments and the modules of its components by themselves."""
    told = Told()
    with told.until_an_error():
        stack, problems = read_stack(directory)
        told.check(problems)
        told.check(not_installed(component_configs(stack.root), directory, "stacks init"))
        for config in _called(stack):
            loaded = Loaded(Options(directory), "default", {}, config, new_schemas(directory, config), ())
            told += [d for d in validate_loaded(loaded) if d not in told]
    return told


def _called(stack: StackConfig) -> Iterator[Config]:
    """The configurations of components, each once, with the providers that the first of its callers gives it."""
    seen: set[int] = set()
    for module in stack.root.walk():
        items: tuple[ComponentDecl | RemovedComponent, ...] = (*module.components.values(), *module.removed)
        for item in items:
            if item.config is not None and id(item.config) not in seen:
                seen.add(id(item.config))
                yield configured(item.config, module, item.providers)
