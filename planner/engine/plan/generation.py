"""Implements `-generate-config-out`: generates resource blocks for import targets without a resource block, from the
imported objects.

Before the walk, an empty resource block is declared for each such target. When the object has been read, a generated
block replaces the empty one. The plan uses the generated block, and the planned change contains its text."""

from __future__ import annotations

import os

from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.provider_diagnostics import in_body
from planner.foundation.support.disk import on_disk, path_exists
from planner.foundation.values.paths import apply_marks, marked_paths
from planner.foundation.values.sets import quote
from planner.foundation.values.value import Value, unmark_deep
from planner.foundation.vocabulary.address import ResourceAddress
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors, warning
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.foundation.vocabulary.records import evolve
from planner.language.config.file_content import read_file
from planner.language.config.model import Config, ImportDecl, ResourceDecl
from planner.language.config.reading import Problems
from planner.language.config.statements import import_blocks
from planner.language.syntax.files import load_text
from planner.logic.model.plan import Plan

HEADER = "# __generated__ by OpenTofu"
REQUEST = "# Please review these resources and move them into your main configuration files."


def check_output(path: str, mode: str) -> list[Diagnostic]:
    """Errors if configuration cannot be generated in this mode or to this file."""
    if mode != "normal":
        detail = "-generate-config-out requires an ordinary plan: remove -destroy or -refresh-only."
        return [error("plan.generate_mode", "This kind of plan cannot generate configuration", detail)]
    if path_exists(path):
        detail = f"{path} already exists. Name a new file, or move the existing file."
        return [error("plan.generate_exists", "File for generated configuration already exists", detail)]
    return []


def with_missing(config: Config, path: str) -> tuple[Config, frozenset[str], list[Diagnostic]]:
    """The configuration with an empty block for each import target without a block, the addresses of these targets, and
    errors for targets whose blocks cannot be generated."""
    resources = dict(config.root.resources)
    added: set[str] = set()
    problems: list[Diagnostic] = []
    for _, target, decl in import_blocks(config):
        module = config.root.descendant(target.path)
        if module is not None and target.relative in module.resources:
            continue
        problem = _cannot_generate(target, decl)
        if problem is not None:
            problems.append(problem)
            continue
        address = str(target)
        provider = f"  provider = {decl.provider}\n" if decl.provider else ""
        added.add(address)
        resources[address] = _declaration(target.type, target.name, provider, path)
    return evolve(config, root=evolve(config.root, resources=resources)), frozenset(added), problems


def _cannot_generate(target: ResourceAddress, decl: ImportDecl) -> Diagnostic | None:
    if target.path:
        title = "Cannot generate configuration inside a module"
        detail = f"{target} has no configuration, and only blocks in the root module can be generated."
        return error("plan.generate_module", title, detail, decl.span)
    if decl.instance is None or decl.instance.key is not None:
        title = "Cannot generate configuration for count or for_each"
        detail = f"{target} has no configuration, and only blocks without count and for_each can be generated."
        return error("plan.generate_repeated", title, detail, decl.span)
    return None


def _declaration(type: str, name: str, attributes: str, path: str) -> ResourceDecl:
    """The declaration of a resource block with these attributes. Raises Failure if the block is not valid."""
    from planner.engine.plan.generated_config import resource_text

    shown = os.path.basename(path)
    if not shown.endswith(".tf"):
        shown += ".tf"
    body, _, problems = load_text(resource_text(type, name, attributes).encode(), shown)
    result = Problems()
    if body is None or has_errors(problems):
        raise Failure(problems)
    content = read_file(body, shown, False, result)
    if result.has_errors:
        raise Failure(list(result))
    return content.resources["managed"][0].value


def generate(it: Instance, value: Value, path: str, by_provider: bool) -> str:
    """Replace the empty declaration of an imported instance with a declaration generated from its object. Returns the
    text of the resource block. `by_provider`: whether the provider selects the arguments. Raises Failure if the
    provider reports errors, or if the declaration is not valid."""
    from planner.engine.plan.generated_config import attributes_text, resource_text

    if by_provider:
        plain, marks = unmark_deep(value)[0], marked_paths(value)
        plain, problems = it.provider.generate_config(it.type, plain)
        if has_errors(wrong := in_body(problems, None, it.address)):
            raise Failure(wrong)
        value = apply_marks(plain, marks)
    attributes = attributes_text(it.type, parse_provider_configuration(it.configuration), it.schema.block, value)
    it.decl = _declaration(it.type, it.name, attributes, path)
    return resource_text(it.type, it.name, attributes)


def write_generated(plan: Plan, path: str) -> list[Diagnostic]:
    """Write the generated configuration of a plan to a new file. Returns a warning to review the file, or an error;
    empty if the plan contains no generated configuration."""
    texts = []
    for change in sorted(plan.changes, key=lambda c: c.address):
        if change.generated_config:
            origin = f" from {quote(change.importing.id)}" if change.importing and change.importing.id else ""
            texts.append(f"\n{HEADER}{origin}\n{change.generated_config}\n")
    if not texts:
        return []
    try:
        with open(on_disk(path), "x", encoding="utf-8") as file:
            file.write("".join([f"{HEADER}\n{REQUEST}\n", *texts]))
    except OSError as problem:
        detail = f"{path}: {problem.strerror or problem}."
        return [error("plan.generate_write", "Cannot write the generated configuration", detail)]
    detail = "Review the configuration before you use it: the format of generated configuration may change."
    return [warning("plan.generated", "Configuration was generated", detail)]
