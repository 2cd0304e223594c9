"""Which test files may be carried out beside others."""

from __future__ import annotations

from collections.abc import Iterable

from planner.foundation.vocabulary.provider_address import BUILTIN
from planner.language.config.model import Config
from planner.language.config.test_files.model import TestFile
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.programs.rule_programs import suite_program
from planner.operations.providers_needed import needed_providers


def all_beside(files: Iterable[TestFile], root: Config) -> bool:
    """Whether none of the files touches anything that another one might touch, too."""
    facts = FactBuilder()
    names = set()
    for file in files:
        names.add(file.name)
        facts.add("test_file", file.name)
        configs = {id(config): config for config in (run.config or root for run in file.runs)}
        asked = {p for config in configs.values() for p in needed_providers(config).started} - {BUILTIN}
        for provider in sorted(asked):
            facts.add("file_asks", file.name, provider)
            if all(_mocks(file, config, provider) for config in configs.values()):
                facts.add("file_mocks", file.name, provider)
        if any(_provisions(config) for config in configs.values()):
            facts.add("file_provisions", file.name)
    found = evaluate(suite_program(), facts.build(), ["runs_beside"])
    return {row[0] for row in found.sorted("runs_beside")} == names


def _mocks(file: TestFile, config: Config, provider: str) -> bool:
    """Whether every configuration of a provider is mocked in all runs."""
    root = config.root
    configured = {b.alias or "" for b in root.providers.values() if root.provider_source(b.name) == provider} | {""}
    mocked = {b.alias or "" for b in file.mocks.values() if root.provider_source(b.name) == provider}
    within = any(module.path and module.providers for module in root.walk())
    return configured <= mocked and not within and not any(run.providers for run in file.runs)


def _provisions(config: Config) -> bool:
    return any(resource.provisioners for module in config.root.walk() for resource in module.resources.values())
