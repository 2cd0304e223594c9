"""Warns about parts of a configuration that have a different meaning in Terraform. planner interprets configurations as
OpenTofu does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from planner.foundation.vocabulary.release import TERRAFORM
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Config, ModulePath
from planner.language.config.reading import Problems
from planner.language.config.statements import import_blocks

Difference = tuple[str, "Span | str"]  # a difference in meaning, and the source location where it occurs
DEFAULT_REGISTRY = "registry.opentofu.org/"


def check_languages(config: Config, problems: Problems) -> None:
    """Warn about parts of the configuration that have a different meaning in Terraform: one warning, with an example of
    each kind. There is no warning unless a file of the configuration, or the variable PLANNER_COMPATIBILITY, declares
    that the configuration is written for Terraform."""
    declared = [
        one for module in config.root.walk() for one in module.languages if one.language == TERRAFORM and one.constraint
    ]
    if not declared and os.environ.get("PLANNER_COMPATIBILITY") != TERRAFORM:
        return
    examples = [next(differs, None) for differs in (find(config) for find in _DIFFERENCES)]
    lines = [f"\n  - {text} ({where})" for text, where in filter(None, examples)]
    if not lines:
        return
    first = declared[0].where if declared else None
    by = first if declared else "the variable PLANNER_COMPATIBILITY"
    detail = f"The configuration is written for Terraform, according to {by}. In planner and OpenTofu, this differs:"
    where = first if isinstance(first, Span) else None
    problems.warning("other_language", "Different meaning in Terraform", detail + "".join(lines), where)


def _hidden_files(config: Config) -> Iterator[Difference]:
    for module in config.root.walk():
        for one in module.languages:
            if one.language == TERRAFORM and not one.constraint:
                yield "Terraform reads this file instead of the .tofu file of the same name", one.where


def _required_versions(config: Config) -> Iterator[Difference]:
    for module in config.root.walk():
        for one in module.languages:
            span = one.where if isinstance(one.where, Span) else None
            if one.language == TERRAFORM and span is not None and span.text.startswith("required_version"):
                yield "required_version is checked by Terraform only", span


def _removed_blocks(config: Config) -> Iterator[Difference]:
    for module in config.root.walk():
        for removed in module.removed:
            if not removed.has_lifecycle:
                yield "a removed block without lifecycle.destroy forgets objects; Terraform destroys them", removed.span


def _provider_sources(config: Config) -> Iterator[Difference]:
    text = "providers without a host are downloaded from registry.opentofu.org; Terraform uses registry.terraform.io"
    for module in config.root.walk():
        for required in module.required_providers.values():
            span = required.span
            if span is not None and required.source.startswith(DEFAULT_REGISTRY) and DEFAULT_REGISTRY not in span.text:
                yield text, span
        for resource in module.resources.values():
            name = resource.provider_name
            if name not in module.required_providers and module.provider_source(name).startswith(DEFAULT_REGISTRY):
                yield text, resource.span


def _module_sources(config: Config) -> Iterator[Difference]:
    text = "modules without a host are downloaded from registry.opentofu.org; Terraform uses registry.terraform.io"
    for module in config.root.walk():
        for call in module.calls.values():
            if call.source_kind == "registry" and call.written_source.split("//")[0].count("/") == 2:
                yield text, call.shown_span


def _outer_imports(config: Config) -> Iterator[Difference]:
    seen: dict[str, ModulePath] = {}
    for module, target, block in import_blocks(config):
        if seen.setdefault(str(target), module.path) != module.path:
            text = (
                "if a module and the module that calls it both have an import block for the same instance, planner "
                "uses the block of the calling module; Terraform uses the block that it reads last"
            )
            yield text, block.span


_DIFFERENCES: tuple[Callable[[Config], Iterator[Difference]], ...] = (
    _hidden_files,
    _required_versions,
    _removed_blocks,
    _provider_sources,
    _module_sources,
    _outer_imports,
)
