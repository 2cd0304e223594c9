"""Selects and installs providers: reads version constraints and the lock file, puts packages below
`.terraform/providers`, and writes a new lock file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from planner.foundation.vocabulary.diagnostic import Diagnostic, InstallError, error, has_errors, warning
from planner.foundation.vocabulary.provider_address import BUILTIN, is_builtin
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.foundation.vocabulary.version_constraints import Version
from planner.language.config.sources import provider_display
from planner.world.install.package import PackageProof, must_be_signed
from planner.world.install.placing import Placer, link
from planner.world.install.sources import PackageSource
from planner.world.provider.lock_file import Lock, Locks, lock, lockable
from planner.world.provider.package_hashes import computable_hashes, content_hash
from planner.world.provider.registry import versions_of_builtin
from planner.world.provider.selections import VersionSet

WORKERS = 4  # number of concurrent downloads
_T = TypeVar("_T")
_R = TypeVar("_R")


@frozen
class Installed:
    """The result of an installation. `locks`: the new selections. `incomplete`: providers whose checksums are known
    only for this platform."""

    locks: Locks
    diagnostics: tuple[Diagnostic, ...] = ()
    incomplete: tuple[str, ...] = ()


@frozen
class _Done:
    lock: Lock | None = None
    lines: tuple[str, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    incomplete: bool = False
    signed: bool = False


@frozen(eq=False)
class Installer:
    """Installs packages below `placer.base`. If there is a `cache`, packages are installed there, and `placer.base`
    contains links to them. `say` is called with a message at each step. `unmanaged` providers run elsewhere and are
    skipped. `recompute`: whether checksums of fetched packages may differ from those in the lock file (for `providers
    lock`). `optional`: providers with development overrides, which only cause a warning if they cannot be installed."""

    source: PackageSource
    placer: Placer
    say: Callable[[str], None]
    cache: Placer | None = None
    may_break_lock: bool = False
    unmanaged: frozenset[str] = frozenset()
    recompute: bool = False
    optional: frozenset[str] = frozenset()
    environ: Mapping[str, str] = field(factory=dict, repr=False)

    def install(self, locks: Locks, wanted: Mapping[str, VersionSet], upgrade: bool = False) -> Installed:
        """Select and install the `wanted` providers. With `upgrade`, the versions in the lock file are not kept. Never
        raises. A provider that cannot be installed keeps its former selection; selections of providers that are not
        `wanted` are dropped."""
        problems: list[Diagnostic] = []
        builtin = [a for a in sorted(wanted) if is_builtin(a)]
        for address in builtin:
            problems += self._builtin(address, wanted[address])
        asked = [a for a in sorted(wanted) if lockable(a) and a not in self.unmanaged]
        selections = self._each(asked, lambda a: self._select(a, locks.get(a), wanted[a], upgrade))
        need: list[tuple[str, Version]] = []
        for address, (version, lines, item) in zip(asked, selections, strict=True):
            self._report(lines)
            problems += self._weigh(address, _with_hint(address, item, wanted))
            if version is not None:
                need.append((address, version))
        done = self._each(need, lambda n: self._install(n[0], n[1], locks.get(n[0]), wanted[n[0]]))
        new = {a: one for a, one in locks.items() if a in wanted}
        for (address, _), one in zip(need, done, strict=True):
            self._report(one.lines)
            problems += self._weigh(address, one.problems)
            if one.lock is not None:
                new[one.lock.address] = one.lock
        if any(one.signed for one in done) and not self.recompute:
            self.say("\nProviders are signed by their developers. A signature only identifies the author of a package.")
        incomplete = (n[0] for n, one in zip(need, done, strict=True) if one.incomplete)
        return Installed(new, tuple(problems), tuple(map(provider_display, incomplete)))

    def _each(self, items: Iterable[_T], work: Callable[[_T], _R]) -> list[_R]:
        """Call `work` for all items concurrently, and return the results in the order of the items."""
        todo = list(items)
        if len(todo) < 2:
            return [work(item) for item in todo]
        with ThreadPoolExecutor(min(WORKERS, len(todo))) as pool:
            return list(pool.map(work, todo))

    def _report(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.say(line)

    def _weigh(self, address: str, problems: Iterable[Diagnostic]) -> list[Diagnostic]:
        return [evolve(d, severity="warning") if address in self.optional else d for d in problems]

    def _builtin(self, address: str, wanted: VersionSet) -> list[Diagnostic]:
        if address == BUILTIN and not wanted.texts:
            self.say(f"- {provider_display(address)} is part of this program")
            return []
        if address == BUILTIN:
            return versions_of_builtin({address: wanted.texts})
        detail = f"{provider_display(address)} cannot be selected: the provider does not exist."
        return [error("install.builtin", "Invalid dependency on built-in provider", detail)]

    # ------------------------------------------------------------ versions

    def _select(
        self, address: str, old: Lock | None, wanted: VersionSet, upgrade: bool
    ) -> tuple[Version | None, list[str], list[Diagnostic]]:
        name = provider_display(address)
        locked = None if upgrade else old
        try:
            if locked is not None:
                lines = [f"- Reusing the version of {name} that the lock file selects"]
                if not wanted.allows(locked.version):
                    raise InstallError(
                        f"the lock file selects version {locked.version}, which the version constraints "
                        f'"{wanted}" do not allow; `init -upgrade` makes a new selection'
                    )
                if self.cache is not None and self.cache.folder(address, locked.version).is_dir():
                    return locked.version, lines, []
            else:
                what = f'versions matching "{wanted}"' if wanted.items else "the newest version"
                lines = [f"- Looking for {what} of {name}..."]
            versions, remarks = self.source.versions(address)
            if locked is not None:
                chosen = locked.version if locked.version in versions else None
                if chosen is None:
                    raise InstallError(f"version {locked.version}, which the lock file selects, is no longer available")
            else:
                chosen = wanted.newest(versions)
                if chosen is None:
                    raise _none_fits(wanted, versions)
        except InstallError as problem:
            return None, lines, [_not_selected(address, problem)]
        text = "\n".join(f"  - {r}" for r in remarks)
        title = "Additional provider information from registry"
        return (
            chosen,
            lines,
            [warning("install.remark", title, f"Message about {address}:\n{text}")] if remarks else [],
        )

    # ------------------------------------------------------------ packages

    def _install(self, address: str, version: Version, old: Lock | None, wanted: VersionSet) -> _Done:
        prior = computable_hashes(old.hashes) if old is not None and old.version == version else ()
        name = f"{provider_display(address)} v{version}"
        if prior and old is not None and self.placer.has(address, version, prior):
            return _Done(lock(address, version, str(wanted), old.hashes), (f"- {name} is installed already",))
        lines: list[str] = []
        try:
            target = self.cache or self.placer
            if prior and old is not None and target.has(address, version, prior):
                lines.append(f"- {name} is in the shared cache already")
                done = _Done(lock(address, version, str(wanted), old.hashes))
            else:
                done = self._fetch(target, address, version, prior, wanted, lines)
            if self.cache is not None:
                link(self.cache.folder(address, version), self.placer.folder(address, version), address)
                lines.append(f"- Using {name} from the shared cache directory")
            return evolve(done, lines=tuple(lines))
        except InstallError as problem:
            return _Done(lines=tuple(lines), problems=(_not_installed(address, version, problem),))
        except OSError as problem:
            reason = InstallError(f"{problem.filename or self.placer.base}: {problem.strerror or problem}")
            return _Done(lines=tuple(lines), problems=(_not_installed(address, version, reason),))

    def _fetch(
        self,
        target: Placer,
        address: str,
        version: Version,
        prior: tuple[str, ...],
        wanted: VersionSet,
        lines: list[str],
    ) -> _Done:
        name = f"{provider_display(address)} v{version}"
        package = self.source.package(address, version, self.placer.platform)
        if self.recompute:
            lines.append(f"- Fetching {name} for {self.placer.platform}...")
        else:
            lines.append(f"- Installing {name}{' to the shared cache directory' if self.cache else ''}...")
        unchecked = self.may_break_lock and target is self.cache
        proof = target.place(package, () if self.recompute else prior, unchecked)
        content = content_hash(target.folder(address, version))
        local = proof.verified | {content}
        others = self._recordable(address, proof)
        lines.append(f"- {'Fetched' if self.recompute else 'Installed'} {name} ({_authentication_text(proof)})")
        problems: tuple[Diagnostic, ...] = ()
        if proof.expired:
            detail = (
                f"The key {', '.join(proof.key_ids)} that signed {name} has expired. The signature was accepted anyway."
            )
            problems = (warning("install.expired_key", "Signing key has expired", detail),)
        return _Done(
            lock(address, version, str(wanted), {*prior, *local, *others}),
            problems=problems,
            incomplete=not others and not (prior and tuple(sorted(local)) != prior),
            signed=bool(proof.signed and proof.key_ids),
        )

    def _recordable(self, address: str, proof: PackageProof) -> frozenset[str]:
        if must_be_signed(address, self.environ):
            return proof.signed
        return proof.by_registry | proof.by_mirror


def _authentication_text(proof: PackageProof) -> str:
    return f"{proof.summary}, key ID {', '.join(proof.key_ids)}" if proof.key_ids else proof.summary


def _none_fits(wanted: VersionSet, versions: list[Version]) -> InstallError:
    some = [str(v) for v in versions[-5:]]
    there = f"; available are {'..., ' if len(versions) > 5 else ''}{', '.join(some)}" if some else ""
    fitting = f'matches the constraints "{wanted}"' if wanted.items else "is a release"
    return InstallError(f"no available version {fitting}{there}")


def _not_selected(address: str, problem: InstallError) -> Diagnostic:
    titles = {
        "not_found": "Failed to query available provider packages",
        "unknown_provider": "Failed to query available provider packages",
        "no_service": "Invalid provider registry host",
    }
    title = titles.get(problem.kind, "Failed to resolve provider packages")
    code = f"install.{problem.kind or 'query'}"
    return error(code, title, f"The versions of provider {provider_display(address)} cannot be determined: {problem}.")


def _with_hint(address: str, problems: list[Diagnostic], wanted: Mapping[str, VersionSet]) -> list[Diagnostic]:
    """The problems, with a hint if a provider is unknown: a frequent cause is a module that omits it in
    required_providers."""
    if not has_errors(problems) or not any(d.code == "install.unknown_provider" for d in problems):
        return problems
    name = address.rpartition("/")[2]
    others = [provider_display(a) for a in sorted(wanted) if a != address and a.rpartition("/")[2] == name]
    hint = f" Did you mean {others[0]}?" if others else ""
    more = f"{hint} Each module must name its providers in required_providers. planner providers lists them by module."
    return [evolve(d, detail=d.detail + more) for d in problems]


def _not_installed(address: str, version: Version, problem: InstallError) -> Diagnostic:
    incompatible = problem.kind in ("no_platform", "protocol")
    title = "Incompatible provider version" if incompatible else "Failed to install provider"
    code = f"install.{problem.kind or 'failed'}"
    return error(code, title, f"{provider_display(address)} v{version} cannot be installed: {problem}.")


def incomplete_warning(names: Iterable[str], platform: str) -> Diagnostic:
    """A warning that the lock file lacks checksums for other platforms."""
    lines = "".join(f"\n  - {name}" for name in sorted(names))
    detail = (
        f"No registry reported checksums of these providers, so the lock file has them only for {platform}:{lines}\n\n"
        "On other platforms, init will reject their packages. For each other platform, run:\n"
        "  planner providers lock -platform=OS_ARCH"
    )
    return warning("install.incomplete_lock", "Incomplete lock file information for providers", detail)
