"""`providers`: the providers that a configuration needs, their checksums, packages and schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.api.installation import Installation
from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments, Flag, UsageError, command, no_directory
from planner.cli.options import JSON, JSON_LINES, VARIABLES, loading_calls, state_calls
from planner.cli.views import open_view
from planner.foundation.vocabulary.version_constraints import normal_constraints
from planner.language.config.model import ModuleConfig
from planner.render.download_line import DownloadLine
from planner.render.terminal import Terminal

if TYPE_CHECKING:
    from planner.api.installation import Needed, RequiredProviders


@command(
    "[options]",
    """Shows the providers that the configuration requires, module by module, those that test files and their runs
require, and those that the state requires.""",
    (Flag("test-directory", "string", "The directory with test files (default: tests).", value="DIR"), *VARIABLES),
)
def providers(arguments: Arguments, terminal: Terminal) -> int:
    no_directory(arguments, "providers")
    required = state_calls(Installation, arguments).providers(arguments["test-directory"])
    terminal.out("\nProviders required by configuration:\n.")
    entries = [*module_entries(required.configuration.root, required.needed), *test_entries(required)]
    terminal.out("\n".join(tree(entries, "")))
    if required.needed.recorded:
        terminal.out("\nProviders required by state:\n")
        for source in sorted(required.needed.recorded):
            terminal.out(f"    provider[{source}]\n")
    return finish(required.diagnostics, terminal)


def configured(module: ModuleConfig, needed: Needed) -> dict[str, str]:
    """The providers of one module, as {address: version constraint}; "" without a constraint."""
    given: dict[str, list[str]] = {}
    for required in module.required_providers.values():
        given.setdefault(required.source, []).append(required.version or "")
    for block in module.providers.values():
        given.setdefault(module.provider_source(block.name), []).append(block.version or "")
    versions = {source: normal_constraints(", ".join(filter(None, texts))) for source, texts in given.items()}
    address = ".".join(f"module.{name}" for name in module.path)
    return {source: versions.get(source, "") for source in sorted(needed.of_modules.get(address, ()))}


Entries = list[tuple[str, "Entries"]]

"""a tree: the text of each entry, and the entries below it"""


def module_entries(module: ModuleConfig, needed: Needed) -> Entries:
    """The entries of a module in the printed tree: its providers, and the modules that it calls."""
    entries: Entries = [
        (f"provider[{source}]{f' {version}' if version else ''}", [])
        for source, version in configured(module, needed).items()
    ]
    children = sorted(module.children.items())
    return entries + [(f"module.{name}", module_entries(child, needed)) for name, child in children]


def test_entries(required: RequiredProviders) -> Entries:
    """The entries of test files in the printed tree: the providers that they configure, and the modules of their
    runs."""
    entries: Entries = []
    root = required.configuration.root
    for file in required.tests.files:
        sources = sorted({root.provider_source(block.name) for block in file.providers.values()})
        inner: Entries = [(f"provider[{source}]", []) for source in sources]
        for providers in file.runs:
            if providers.config is not None:
                inner.append(
                    (f"run.{providers.name}", module_entries(providers.config.root, required.of(providers.config)))
                )
        entries.append((f"test.{file.name.removesuffix('.tftest.hcl').replace('/', '.')}", inner))
    return entries


def tree(entries: Entries, indent: str) -> list[str]:
    """The lines of a tree, drawn with branches."""
    lines = []
    for number, (text, inner) in enumerate(entries, 1):
        last = number == len(entries)
        lines.append(f"{indent}{'└──' if last else '├──'} {text}")
        lines += tree(inner, indent + ("    " if last else "│   "))
    return lines


CHOICES = (
    Flag("fs-mirror", "string", "Read the packages from this mirror directory.", value="DIR"),
    Flag("net-mirror", "string", "Download the packages from this network mirror.", value="URL"),
    Flag("platform", "list", "A platform to lock (default: this one). May be repeated.", value="OS_ARCH"),
)


@command(
    "[options] [PROVIDER...]",
    """Downloads the packages of the providers (all of the configuration, or the named ones) for each platform from
their registries, regardless of the installation settings, and records their checksums in the dependency lock file.

A
template of OCI repositories may contain {hostname}, {namespace} and {type}:
example.com/mirror/{namespace}/{type}.""",
    (
        *CHOICES,
        Flag(
            "oci-mirror",
            "string",
            "Download the packages from the OCI repositories of this template.",
            value="TEMPLATE",
        ),
        *VARIABLES,
        *JSON_LINES,
    ),
)
def providers_lock(arguments: Arguments, terminal: Terminal) -> int:
    platforms = checked_choices(arguments)
    view = open_view(arguments, terminal)
    with DownloadLine(terminal) as line:
        diagnostics = loading_calls(Installation, arguments).lock_providers(
            arguments.words,
            platforms,
            view.say,
            fs_mirror=arguments["fs-mirror"],
            net_mirror=arguments["net-mirror"],
            oci_mirror=arguments["oci-mirror"],
            progress=line,
        )
    return view.finish(diagnostics)


def checked_choices(arguments: Arguments) -> tuple[str, ...]:
    """The platforms of -platform. Raises UsageError for an invalid platform, and if several kinds of mirrors are
    named."""
    if sum(bool(arguments.get(name)) for name in ("fs-mirror", "net-mirror", "oci-mirror")) > 1:
        detail = "Use only one of -fs-mirror, -net-mirror and -oci-mirror."
        raise UsageError("Conflicting options", detail)
    return checked_platforms(arguments["platform"])


def checked_platforms(given: tuple[str, ...]) -> tuple[str, ...]:
    """The platforms without repetitions. Raises UsageError for a platform that does not have the form OS_ARCH."""
    for text in given:
        system, _, machine = text.partition("_")
        if not system.isalnum() or not machine.isalnum():
            raise UsageError(
                "Invalid target platform", f"{text!r} does not have the form OS_ARCH, such as linux_amd64."
            )
    return tuple(dict.fromkeys(given))


@command(
    "[options] DIR",
    """Copies the packages of the providers that the configuration requires into a directory. The directory can be
used as a filesystem mirror, or published over https as a network mirror.""",
    (
        Flag("platform", "list", "A platform to mirror (default: this one). May be repeated.", value="OS_ARCH"),
        *VARIABLES,
        *JSON_LINES,
    ),
)
def providers_mirror(arguments: Arguments, terminal: Terminal) -> int:
    directory = arguments.only_word(
        "No output directory", "providers mirror takes one directory, into which it copies the packages."
    )
    platforms = checked_platforms(arguments["platform"])
    view = open_view(arguments, terminal)
    with DownloadLine(terminal) as line:
        diagnostics = loading_calls(Installation, arguments).mirror_providers(
            directory, platforms, view.log, progress=line
        )
    return view.finish(diagnostics)


@command("-json", "Prints the schemas of the providers that the configuration and the state use.", (JSON, *VARIABLES))
def providers_schema(arguments: Arguments, terminal: Terminal) -> int:
    from planner.answers.documents.json_schemas import schemas_json

    if not arguments["json"]:
        raise UsageError("Option -json is needed", "This command prints only JSON.")
    schemas, diagnostics = state_calls(Installation, arguments).provider_schemas()
    terminal.data(json_text(schemas_json(schemas)))
    return finish(diagnostics, terminal)


@command(
    "[options] [PROVIDER...]",
    """Downloads the packages of the providers of all components (or the named ones) for each platform from their
registries, regardless of the installation settings, and records their checksums in the dependency lock file of the
stack.""",
    (*CHOICES, *JSON_LINES),
)
def stacks_providers_lock(arguments: Arguments, terminal: Terminal) -> int:
    from planner.workflows.stacks.init import lock_stack_providers

    platforms = checked_choices(arguments)
    view = open_view(arguments, terminal)
    with DownloadLine(terminal) as line:
        diagnostics = lock_stack_providers(
            ".",
            tuple(arguments.words),
            platforms,
            view.log,
            arguments["fs-mirror"] or "",
            arguments["net-mirror"] or "",
            line,
        )
    return view.finish(diagnostics)
