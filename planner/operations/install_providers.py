"""Selects and installs the providers of a working directory (`init`), records their checksums for other platforms
(`providers lock`), and copies them into a mirror (`providers mirror`)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from planner.foundation.clients.cli_config import CliConfig, InstallMethod, load_cli_config
from planner.foundation.clients.oci import check_template
from planner.foundation.clients.settings_syntax import SettingsError
from planner.foundation.support.put_files import locked
from planner.foundation.support.signals import current_stop
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, InstallError, error, has_errors, warning
from planner.foundation.vocabulary.records import frozen
from planner.language.config.model import Config
from planner.language.config.sources import SourceError, parse_provider_source, provider_display
from planner.operations.providers_needed import needed_providers, provider_constraints
from planner.world.install.getters import Fetcher
from planner.world.install.modules import ModuleInstaller
from planner.world.install.placing import Mirroring, Placer, Progress
from planner.world.install.providers import Installer, incomplete_warning
from planner.world.install.sources import (
    MirrorDirectory,
    NetworkMirror,
    PackageSource,
    Registry,
    all_of,
    default_sources,
)
from planner.world.install.web import Hosts, Web
from planner.world.provider.locate import default_directories, own_platform
from planner.world.provider.lock_file import (
    Lock,
    Locks,
    lock,
    lockable,
    read_locks,
    read_module_hashes,
    same_selections,
    upgrade_locks,
    write_locks,
)
from planner.world.provider.selections import VersionSet, unmanaged_providers
from planner.world.state.workspace import data_directory

if TYPE_CHECKING:
    from planner.world.state.model import State

Say = Callable[[str], None]


@frozen
class Choices:
    """The options of `init` for providers. `plugin_dirs`: directories that replace all other sources of packages.
    `lockfile`: "" or "readonly"."""

    upgrade: bool = False
    plugin_dirs: tuple[str, ...] = ()
    lockfile: str = ""


@frozen(eq=False)
class InstalledConnections:
    """The user's CLI configuration, and HTTP and registry clients that use it."""

    config: CliConfig
    web: Web
    hosts: Hosts


def connections() -> InstalledConnections:
    """Read the user's CLI configuration, and create the clients for registries and mirrors. Raises Failure if the CLI
    configuration cannot be read."""
    config = load_cli_config(os.environ)
    web = Web(config.retries, config.timeout)
    return InstalledConnections(config, web, Hosts(config, web, os.environ))


def requirements(
    config: Config, state: State | None = None, others: Iterable[Config] = (), names: Iterable[str] = ()
) -> dict[str, VersionSet]:
    """{source address: version constraints} of all providers that the configuration, the state or `others` (the modules
    of test runs) need. `names`: the source addresses of further providers. Raises Failure for an invalid version
    constraint."""
    texts = provider_constraints(config)
    needed = {*needed_providers(config, state).all, *names}
    for other in others:
        needed |= needed_providers(other).all
        for address, item in provider_constraints(other).items():
            texts[address] = tuple(sorted({*texts.get(address, ()), *item}))
    try:
        return {address: VersionSet(texts.get(address, ())) for address in sorted(needed)}
    except ValueError as bad:
        raise Failure(error("install.constraint", "Invalid version constraint", f"{bad}.")) from None


def init_providers(
    config: Config,
    directory: str,
    state: State | None,
    choices: Choices,
    say: Say,
    progress: Progress | None = None,
    others: Iterable[Config] = (),
    names: Iterable[str] = (),
) -> list[Diagnostic]:
    """Select and install providers, and record their versions and checksums in the lock file. If `lockfile` is
    "readonly", the lock file is not changed, and differences are reported. Returns problems."""
    if choices.lockfile not in ("", "readonly"):
        detail = f"-lockfile accepts only readonly, not {choices.lockfile!r}."
        return [error("install.lockfile_mode", "Invalid lock file mode", detail)]
    if choices.upgrade and choices.lockfile:
        detail = "-upgrade changes the lock file, which -lockfile=readonly does not allow. Use only one of them."
        return [error("install.readonly_upgrade", "Conflicting options", detail)]
    try:
        wanted = requirements(config, state, others, names)
        before, problems = read_locks(directory)
        before, more = upgrade_locks(before)
        problems += [*more, *_similar(wanted), *_legacy(wanted)]
        net = connections()
        source = _source(net, directory, choices.plugin_dirs)
    except Failure as failure:
        return failure.diagnostics
    if has_errors(problems):
        return problems
    say("\nInitializing provider plugins...")
    installer = _installer(net, source, Path(directory), say, progress)
    outcome = installer.install(before, wanted, choices.upgrade)
    problems += outcome.diagnostics
    if has_errors(problems) or same_selections(outcome.locks, before):
        return problems
    if choices.lockfile:
        return problems + _readonly(outcome.locks, before)
    if outcome.incomplete:
        problems.append(incomplete_warning(outcome.incomplete, own_platform()))
    try:
        write_locks(directory, outcome.locks)
    except Failure as failure:
        return problems + failure.diagnostics
    what = "has new selections: review the changes, and commit it" if before else "was created: commit it"
    say(f"\nThe lock file .terraform.lock.hcl {what} with your configuration, so that everyone uses the same versions.")
    return problems


def _installer(
    net: InstalledConnections, source: PackageSource, directory: Path, say: Say, progress: Progress | None
) -> Installer:
    interruption = current_stop()

    def placer(base: Path) -> Placer:
        return Placer(
            base.absolute(),
            net.web,
            os.environ,
            own_platform(),
            net.config.download_retries,
            progress,
            waiting=lambda: say(f"- Waiting for another process that installs into {base}..."),
            stop=lambda: interruption.requested,
        )

    return Installer(
        source,
        placer(directory / data_directory(os.environ) / "providers"),
        say,
        placer(Path(net.config.cache)) if net.config.cache else None,
        net.config.may_break_lock,
        unmanaged_providers(os.environ),
        optional=frozenset(net.config.overrides),
        environ=os.environ,
    )


def _source(net: InstalledConnections, directory: str, plugin_dirs: tuple[str, ...]) -> PackageSource:
    """The source of provider packages: the directories in -plugin-dir, otherwise the sources in the CLI configuration,
    otherwise the default sources. Raises Failure."""
    cache = net.config.cache
    if cache and not os.path.isdir(cache):
        detail = f"The plugin cache directory {cache} does not exist. Create it, or remove the setting."
        raise Failure(error("install.no_cache", "Plugin cache cannot be used", detail))
    if plugin_dirs:
        for path in plugin_dirs:
            if not os.path.isdir(path):
                detail = f"-plugin-dir names {path}, which is not a directory that can be read."
                raise Failure(error("install.plugin_dir", "Plugin directory cannot be used", detail))
        return all_of([InstallMethod("filesystem_mirror", path) for path in plugin_dirs], net.web, net.hosts)
    if net.config.methods is not None:
        return all_of(net.config.methods, net.web, net.hosts)
    return default_sources(default_directories(directory, os.environ), net.web, net.hosts)


def _similar(wanted: Iterable[str]) -> list[Diagnostic]:
    """Warnings if providers of the same type are required from both `hashicorp` and `opentofu`, which is usually a
    mistake."""
    names: dict[str, list[str]] = {}
    for address in wanted:
        _, namespace, name = address.split("/")
        if namespace in ("hashicorp", "opentofu"):
            names.setdefault(name, []).append(address)
    return [
        warning(
            "install.two_registries",
            "Potential provider misconfiguration",
            f"The configuration requires several providers of type {name}, probably by mistake: {', '.join(item)}.",
        )
        for name, item in sorted(names.items())
        if len(item) > 1
    ]


def _legacy(wanted: Iterable[str]) -> list[Diagnostic]:
    """Errors for providers without a namespace, which occur only in old states."""
    items = [address for address in wanted if address.split("/")[1] == "-"]
    return [
        error(
            "install.legacy_provider",
            "Invalid legacy provider address",
            f"The state has the provider {address} without a namespace, recorded by an old version. Set it with "
            f"planner state replace-provider {address} NAMESPACE/{address.split('/')[2]}",
        )
        for address in items
    ]


def _readonly(new: Locks, before: Locks) -> list[Diagnostic]:
    if set(new) != set(before):
        detail = (
            "The lock file does not match the required providers, and -lockfile=readonly does not allow changing it."
        )
        return [error("install.readonly", "Provider dependency changes detected", detail)]
    detail = "The selections or checksums changed; they were not recorded because of -lockfile=readonly."
    return [warning("install.readonly", "Provider lock file not updated", detail)]


def module_installer(directory: str, data_dir: str, say: Say, progress: Progress | None = None) -> ModuleInstaller:
    """The installer of modules for a directory. Raises Failure if the CLI configuration cannot be read."""
    net = connections()
    fetcher = Fetcher(net.web, progress, oci=net.config.oci)
    return ModuleInstaller(Path(directory), data_dir, net.web, net.hosts, fetcher, say, read_module_hashes(directory))


@contextmanager
def lock_modules(directory: str, data_dir: str, say: Say) -> Iterator[None]:
    """A context in which other processes cannot install modules into the directory. Raises Failure."""
    path = Path(directory, data_dir, "modules", ".lock")
    waiting = partial(say, "- Waiting for another process that installs modules here...")
    interruption = current_stop()
    try:
        with locked(path, waiting, lambda: interruption.requested):
            yield
    except InstallError as problem:
        detail = f"Modules cannot be installed: {problem}."
        raise Failure(error("install.modules_lock", "Failed to install modules", detail)) from None


# ---------------------------------------------------------------- providers lock


def lock_providers(
    config: Config,
    directory: str,
    addresses: tuple[str, ...],
    platforms: tuple[str, ...],
    say: Say,
    fs_mirror: str = "",
    net_mirror: str = "",
    progress: Progress | None = None,
    others: Iterable[Config] = (),
    oci_mirror: str = "",
) -> list[Diagnostic]:
    """Record the checksums of provider packages in the lock file. The packages come from registries or from one mirror.
    `addresses`: the providers; () means all required providers. `platforms`: () means the platform of this machine.
    `oci_mirror`: a template, for example `example.com/{namespace}/{type}`. Returns problems."""
    try:
        wanted = _select({a: w for a, w in requirements(config, None, others).items() if lockable(a)}, addresses)
        before, problems = read_locks(directory)
        before, more = upgrade_locks(before)
        net = connections()
    except Failure as failure:
        return failure.diagnostics
    problems += more
    if net_mirror and not net_mirror.lower().startswith("https://"):
        detail = f"-net-mirror must be an https: URL, not {net_mirror}."
        return [*problems, error("install.net_mirror", "Invalid network mirror URL", detail)]
    template = re.sub(r"\{(\w*)\}", r"${\1}", oci_mirror)
    try:
        if template:
            check_template(template)
    except SettingsError as bad:
        return [*problems, error("install.oci_mirror", "Invalid OCI mirror template", f"-oci-mirror: {bad}.")]
    source: PackageSource = Registry(net.web, net.hosts)
    if template:
        from planner.world.install.oci import OciMirror

        source = OciMirror(template, net.web, net.config.oci, os.environ)
    elif fs_mirror:
        source = MirrorDirectory(fs_mirror)
    elif net_mirror:
        source = NetworkMirror(f"{net_mirror.rstrip('/')}/", net.web, net.hosts)
    new = dict(before)
    changed = False
    for platform in platforms or (own_platform(),):
        with TemporaryDirectory(prefix="planner-lock-") as temporary:
            base = Path(temporary)
            placer = Placer(base, net.web, os.environ, platform, net.config.download_retries, progress)
            outcome = Installer(source, placer, say, recompute=True, environ=os.environ).install(before, wanted)
        problems += outcome.diagnostics
        if has_errors(outcome.diagnostics):
            return problems
        for address in sorted(wanted):
            result = outcome.locks[address]
            word = _change(before.get(address), result)
            changed |= word != "had"
            say(f"- {provider_display(address)} {word} the checksums for {platform}")
            old = new.get(address)
            kept = old.hashes if old is not None else ()
            if old is not None and old.version != result.version and address not in before:
                detail = (
                    f"For {provider_display(address)}, different platforms have different newest versions. Try again."
                )
                return [*problems, error("install.versions_differ", "Inconsistent provider versions", detail)]
            new[address] = lock(address, result.version, result.constraints, {*kept, *result.hashes})
    try:
        write_locks(directory, new)
    except Failure as failure:
        return problems + failure.diagnostics
    say("\nThe lock file was updated." if changed else "\nThe lock file is already complete.")
    return problems


def _change(old: Lock | None, new: Lock) -> str:
    if old is None:
        return "is locked now, with"
    return "had" if set(new.hashes) <= set(old.hashes) else "got"


def _select(wanted: dict[str, VersionSet], names: tuple[str, ...]) -> dict[str, VersionSet]:
    """The required providers with these source addresses; all required providers if `names` is empty. Raises
    Failure."""
    chosen, problems = {}, []
    for name in names:
        try:
            address = parse_provider_source(name)
        except SourceError as bad:
            problems.append(error("install.provider_address", "Invalid provider argument", str(bad)))
            continue
        if address not in wanted:
            detail = f"The configuration does not need the provider {address}."
            problems.append(error("install.provider_address", "Invalid provider argument", detail))
        else:
            chosen[address] = wanted[address]
    if problems:
        raise Failure(problems)
    return chosen if names else wanted


# ---------------------------------------------------------------- providers mirror


def mirror_providers(
    config: Config,
    directory: str,
    target: str,
    platforms: tuple[str, ...],
    say: Say,
    progress: Progress | None = None,
) -> list[Diagnostic]:
    """Copy the packages of the required providers into the directory `target`, and write the index files of a network
    mirror. Returns problems."""
    try:
        wanted = requirements(config)
        locks, problems = read_locks(directory)
        locks, more = upgrade_locks(locks)
        net = connections()
    except Failure as failure:
        return failure.diagnostics
    problems += more
    mirroring = Mirroring(
        Path(target),
        Registry(net.web, net.hosts),
        Placer(Path(target), net.web, os.environ, own_platform(), net.config.download_retries, progress),
        say,
    )
    for address in sorted(wanted):
        if not lockable(address):
            say(f"- {provider_display(address)} is part of this program")
            continue
        try:
            mirroring.copy(address, wanted[address], locks, platforms or (own_platform(),))
        except InstallError as problem:
            detail = f"{provider_display(address)} cannot be mirrored: {problem}."
            problems.append(error("install.mirror", "Provider not available", detail))
    try:
        mirroring.write_indexes()
    except InstallError as problem:
        problems.append(error("install.mirror_index", "Failed to update indexes", f"{problem}."))
    return problems
