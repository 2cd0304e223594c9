"""Reads `terraform` and `language` blocks: backend, provider requirements, and version requirements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.foundation.vocabulary.release import COMPATIBLE_VERSION, NEXT_VERSION, TERRAFORM
from planner.foundation.vocabulary.span import Span
from planner.foundation.vocabulary.version_constraints import parse_constraints
from planner.language.config.model import BackendDecl, LanguageStatement, RequiredProvider
from planner.language.config.provider_blocks import check_provider_name, required_providers_block, version_constraint
from planner.language.config.reading import Problems, constant, elements, keyword, piece, read
from planner.language.syntax.body import Attribute, Block, Body, BodySchema, ExpectedBlock

if TYPE_CHECKING:
    from planner.language.config.encryption_model import EncryptionDecl


EDITION = "tofu2024"

_TERRAFORM = BodySchema(
    {"required_version": False, "experiments": False, "language": False},
    (
        ExpectedBlock("backend", ("type",)),
        ExpectedBlock("cloud"),
        ExpectedBlock("required_providers"),
        ExpectedBlock("provider_meta", ("provider",)),
        ExpectedBlock("encryption"),
    ),
)
_LANGUAGE = BodySchema({"edition": False, "experiments": False}, (ExpectedBlock("compatible_with"),))
_VERSION_BLOCKS = BodySchema({}, (ExpectedBlock("terraform"), ExpectedBlock("language")))
_REQUIRED_VERSION = BodySchema({"required_version": False})
_COMPATIBLE_BLOCKS = BodySchema({}, (ExpectedBlock("compatible_with"),))
_COMPATIBLE = BodySchema({"opentofu": False, "terraform": False})
_TERRAFORM_VERSIONS = tuple(f"1.{minor}.{patch}" for minor in range(14, 40) for patch in (0, 99))
"""versions that Terraform has and OpenTofu does not. A constraint that allows only such versions shows that the module
is written for Terraform"""

INCOMPATIBLE = "config.incompatible_module"
"""the code of a diagnostic that replaces all other diagnostics of its module"""


class TerraformSettings:
    def __init__(self) -> None:
        self.backends: list[BackendDecl] = []
        self.clouds: list[BackendDecl] = []
        self.required_providers: list[tuple[dict[str, RequiredProvider], Span]] = []
        self.provider_metas: list[tuple[str, Body, Span]] = []
        self.encryptions: list[EncryptionDecl] = []
        self.languages: list[LanguageStatement] = []


def terraform_block(block: Block, settings: TerraformSettings, problems: Problems) -> None:
    for inner in read(block.body, _TERRAFORM, problems).blocks:
        span = inner.header_span
        if inner.type == "backend":
            settings.backends.append(BackendDecl(inner.labels[0].value, inner.body, span))
        elif inner.type == "cloud":
            settings.clouds.append(BackendDecl("cloud", inner.body, span))
        elif inner.type == "required_providers":
            settings.required_providers.append((required_providers_block(inner, problems), span))
        elif inner.type == "provider_meta":
            _provider_meta(inner, settings, problems)
        else:
            from planner.language.config.encryption import encryption_block

            decl = encryption_block(inner.body, inner.header_span, problems)
            if decl is not None:
                settings.encryptions.append(decl)


def _provider_meta(block: Block, settings: TerraformSettings, problems: Problems) -> None:
    attributes, diagnostics = block.body.just_attributes()
    mine = Problems(diagnostics)
    if not mine.has_errors:
        for attribute in attributes.values():
            constant(piece(attribute), mine)
        check_provider_name(block.labels[0].value, block.header_span, mine)
    problems.extend(mine)
    if not mine.has_errors:
        settings.provider_metas.append((block.labels[0].value, block.body, block.header_span))


def check_versions(body: Body, filename: str, problems: Problems) -> list[LanguageStatement]:
    """Report version constraints that this program does not satisfy. Returns what the file declares about the program
    for which it is written. `required_version` in terraform blocks is checked only in files for OpenTofu (`.tofu`)."""
    statements: list[LanguageStatement] = []
    is_tofu = filename.endswith((".tofu", ".tofu.json"))
    content, _ = body.partial_content(_VERSION_BLOCKS)
    problems.extend(content.diagnostics)
    for block in content.blocks:
        if block.type == "language":
            inner, _ = block.body.partial_content(_COMPATIBLE_BLOCKS)
            problems.extend(inner.diagnostics)
            for nested in inner.blocks:
                _check_version(_compatible_with(nested, problems), problems, statements)
                _written_for_terraform(
                    nested.body.partial_content(_COMPATIBLE)[0].attributes.get(TERRAFORM), statements
                )
            continue
        inner, _ = block.body.partial_content(_REQUIRED_VERSION)
        attribute = inner.attributes.get("required_version")
        if is_tofu:
            _check_version(attribute, problems, statements)
        else:
            _written_for_terraform(attribute, statements)
    return statements


def _written_for_terraform(attribute: Attribute | None, statements: list[LanguageStatement]) -> None:
    """Record that a constraint is about versions of Terraform: the argument `terraform`, or a `required_version` that
    excludes the supported versions of OpenTofu. OpenTofu ignores such a constraint, so problems in it are not
    reported."""
    text = version_constraint(attribute, Problems()) if attribute is not None else None
    if text is None or attribute is None:
        return
    constraints = parse_constraints(text)
    is_meant = attribute.name == TERRAFORM or not (
        constraints.allows(COMPATIBLE_VERSION) or constraints.allows(NEXT_VERSION)
    )
    if is_meant and any(map(constraints.allows, _TERRAFORM_VERSIONS)):
        statements.append(LanguageStatement(TERRAFORM, text, attribute.span))


def _check_version(attribute: Attribute | None, problems: Problems, statements: list[LanguageStatement]) -> None:
    if attribute is None:
        return
    text = version_constraint(attribute, problems)
    if text is None:
        return
    constraints = parse_constraints(text)
    prerelease = [str(c) for c in constraints.items if c.version.prerelease]
    if prerelease:
        detail = f"A constraint must not name a prerelease: {', '.join(prerelease)}."
        problems.error("prerelease_constraint", "Invalid required_version constraint", detail, attribute.span)
    elif constraints.allows(COMPATIBLE_VERSION) or constraints.allows(NEXT_VERSION):
        statements.append(LanguageStatement("opentofu", text, attribute.span))
    else:
        detail = f"The module requires version {text}; this program is compatible with {COMPATIBLE_VERSION}."
        problems.error("incompatible_module", "Incompatible module", detail, attribute.span)


def _compatible_with(block: Block, problems: Problems) -> Attribute | None:
    content, _ = block.body.partial_content(_COMPATIBLE)
    problems.extend(content.diagnostics)
    return content.attributes.get("opentofu")


def language_block(block: Block, override: bool, problems: Problems) -> None:
    """Check the edition, the experiments, and the form of the version constraint of a language block. `check_versions`
    compares the constraint with the version of this program."""
    if override:
        detail = "Language settings belong to the normal files, not to override files."
        problems.error("language_in_override", "Language selections in override file", detail, block.header_span)
        return
    content = read(block.body, _LANGUAGE, problems)
    if "edition" in content.attributes:
        expr = piece(content.attributes["edition"])
        word = keyword(expr)
        if word != EDITION:
            title = "Unsupported language edition" if word else "Invalid language edition"
            problems.error("unsupported_edition", title, f"The only edition is {EDITION}.", expr.span)
    if "experiments" in content.attributes:
        for item in elements(piece(content.attributes["experiments"]), problems) or ():
            word = keyword(item)
            title = "Unknown experiment keyword" if word else "Invalid experiment keyword"
            problems.error("unknown_experiment", title, "No experiments are available.", item.span)
    seen = False
    for inner in content.blocks:
        if seen:
            detail = "A language block has at most one compatible_with block."
            problems.error("duplicate_compatible_with", "Duplicate compatible_with block", detail, block.header_span)
            continue
        mine = Problems()
        attribute = _compatible_with(inner, mine)
        text = version_constraint(attribute, mine) if attribute else None
        problems.extend(mine)
        if attribute is None or text is None:
            continue
        seen = True
        if parse_constraints(text).allows("1.11.0"):
            detail = (
                "Only versions 1.12.0 and later support compatible_with, so the constraint should exclude older "
                "versions."
            )
            problems.warning("ineffective_constraint", "Ineffective version constraint", detail, attribute.span)
