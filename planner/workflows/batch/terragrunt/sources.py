"""Locates the configuration of a unit. It is in a local directory, or in a package that is installed below the fleet's
root."""

from __future__ import annotations

import os
from hashlib import blake2b
from urllib.parse import parse_qsl

from planner.foundation.vocabulary.diagnostic import Failure, error, has_errors
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import ModuleCall
from planner.language.config.reading import Problems
from planner.language.config.sources import SourceError, parse_module_source, split_subdirectory, without_secrets
from planner.language.syntax.body import Block, NativeBody
from planner.workflows.batch.record import make_unversioned
from planner.workflows.batch.terragrunt import FOLDER
from planner.workflows.batch.terragrunt.session import Library


@frozen
class SourcePackage:
    """A package with a unit's configuration. `folder`: directory of the package. `sub`: the subdirectory with the
    configuration, relative to `folder`; "" if `folder` contains it."""

    folder: str
    sub: str


def is_local(source: str, folder: str) -> bool:
    """Whether a source is a local directory, relative to `folder`."""
    package, _ = split_subdirectory(source)
    if source.startswith(("./", "../", "/")) or source in (".", ".."):
        return True
    return ":" not in package and os.path.isdir(os.path.join(folder, package))


def locate(source: str, folder: str, version: str, library: Library, span: Span) -> SourcePackage:
    """The package to which a source refers. A remote package is installed if it is not installed yet. Raises
    Failure."""
    if is_local(source, folder):
        package, sub = split_subdirectory(source)
        if sub.partition("/")[0] == "..":
            detail = f"The directory {sub} after the double slash is outside {package}."
            raise Failure(error("terragrunt.source", "Invalid source", detail, span))
        result = os.path.normpath(os.path.join(folder, package))
        if not os.path.isdir(os.path.join(result, sub)):
            detail = f"There is no directory {os.path.join(result, sub)}, which the source names."
            raise Failure(error("terragrunt.no_source", "No such source", detail, span))
        return SourcePackage(result, sub)
    return _installed(source, version, library, span)


def _installed(source: str, version: str, library: Library, span: Span) -> SourcePackage:
    try:
        address, wanted = _address(source, version)
        parsed = parse_module_source(address, registry_only=source.startswith("tfr:"))
    except SourceError as problem:
        shown = without_secrets(source)
        raise Failure(error("terragrunt.source", "Invalid source", f"{shown}: {problem}", span)) from None
    _, sub = split_subdirectory(parsed.text)
    whole = split_subdirectory(parsed.text)[0]
    name = blake2b(f"{whole}\0{wanted}".encode(), digest_size=10).hexdigest()
    root = library.root
    if name in library.failed:
        raise Failure(library.failed[name])
    place = os.path.join(root, FOLDER, "packages", name)
    inside = os.path.join(place, ".terraform", "modules", "unit")
    if not os.path.isdir(inside):
        from planner.operations.install_providers import lock_modules, module_installer

        make_unversioned(os.path.join(root, FOLDER))
        os.makedirs(place, exist_ok=True)
        problems = Problems()
        body = NativeBody({}, [], span.source, span.start, span.end)
        block = Block("module", span.start, (), span.start, body, span.source, span.start, span.end)
        call = ModuleCall(
            "unit", whole, wanted or None, None, None, None, (), (), {}, span, block, span, None, parsed.kind
        )
        with lock_modules(place, ".terraform", lambda text: None):
            if not os.path.isdir(inside):
                module_installer(place, ".terraform", lambda text: None).install(("unit",), call, problems)
        if has_errors(problems):
            library.failed[name] = list(problems)
            raise Failure(problems)
    if not os.path.isdir(os.path.join(inside, sub)):
        detail = f"{without_secrets(whole)} has no directory {sub}."
        raise Failure(error("terragrunt.no_source", "No such source", detail, span))
    return SourcePackage(inside, sub)


def _address(source: str, version: str) -> tuple[str, str]:
    """Convert a Terragrunt source to the source in a `module` block, and the version ("" if it is not a registry
    module). Raises SourceError."""
    if not source.startswith("tfr:"):
        return source, ""
    bare, _, query = source.removeprefix("tfr://").partition("?")
    if source.startswith("tfr://"):
        query_values = dict(parse_qsl(query))
        wanted = query_values.get("version") or version
        return bare.lstrip("/"), wanted
    raise SourceError("A source of a registry has the form tfr://HOST/NAMESPACE/NAME/SYSTEM?version=VERSION.")
