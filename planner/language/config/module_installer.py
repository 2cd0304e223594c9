"""Installs modules for init. While the module tree is loaded, each called module is located or fetched, and recorded in
modules.json."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable

from planner.foundation.support.disk import is_directory
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.nearest import nearest
from planner.language.config.directory import (
    DATA_DIRECTORY,
    Manifest,
    ModuleRecord,
    fits,
    manifest_path,
    module_key,
    read_manifest,
    write_manifest,
)
from planner.language.config.load import Locate, load_tree
from planner.language.config.model import ModuleCall, ModulePath
from planner.language.config.reading import Problems
from planner.language.config.sources import split_subdirectory, without_secrets
from planner.language.config.variables import RawVariables

Fetch = Callable[[ModulePath, ModuleCall, Problems], "ModuleRecord | None"]
"""Installs a module that is not local. Parameters: its path, the call, and the list for problems. Returns None on
failure."""


def install_modules(
    root_dir: str,
    *,
    variables: RawVariables | None = None,
    workspace: str = "default",
    upgrade: bool = False,
    data_dir: str = DATA_DIRECTORY,
    fetch: Fetch | None = None,
    others: Iterable[tuple[ModulePath, ModuleCall]] = (),
) -> tuple[list[ModuleRecord], list[Diagnostic]]:
    """Locate or fetch every called module, and record it. Returns the records that are new or have changed, and
    diagnostics. `others`: modules that are not called by the configuration, with the paths under which they are
    recorded. Without `fetch`, modules that are not local must already be installed, from the sources and in the
    versions that their calls require."""

    def load(recorder: ModuleRecorder, problems: Problems) -> None:
        _, more = load_tree(root_dir, variables=variables, workspace=workspace, locate=recorder.locate)
        problems.extend(more)
        for path, call in others:
            directory = recorder.locate(path, call, ".", problems)
            if directory is not None:
                locate = recorder.below(path)
                _, more = load_tree(
                    root_dir, variables=variables, workspace=workspace, locate=locate, directory=directory
                )
                problems.extend(more)

    return install(root_dir, load, upgrade, data_dir, fetch)


def install(
    root_dir: str,
    load: Callable[[ModuleRecorder, Problems], None],
    upgrade: bool = False,
    data_dir: str = DATA_DIRECTORY,
    fetch: Fetch | None = None,
) -> tuple[list[ModuleRecord], list[Diagnostic]]:
    """Install the modules called by a configuration, stack or test. `load` reads the configuration, and passes each
    module call to the recorder that it receives. `upgrade`: whether `fetch` is called for installed modules, too.
    Returns the records that are new or have changed, and diagnostics."""
    known, diagnostics = read_manifest(root_dir, data_dir)
    problems = Problems(diagnostics)
    recorder = ModuleRecorder({} if upgrade else known, root_dir, fetch)
    if upgrade and fetch is None:
        recorder.kept = known
    load(recorder, problems)
    # installation continues after errors in a module, so that all errors can be reported
    if not problems.has_errors or len(recorder.manifest) > 1:
        try:
            write_manifest(recorder.manifest, root_dir, data_dir)
        except OSError as bad:
            detail = f"{manifest_path(root_dir, data_dir)}: {bad.strerror or bad}."
            problems.error("unwritable_manifest", "Failed to update the module manifest", detail)
    return recorder.installed, problems


class ModuleRecorder:
    def __init__(self, known: Manifest, root_dir: str, fetch: Fetch | None) -> None:
        self.known = known
        self.kept: Manifest = known
        self.fetch = fetch
        self.root_dir = root_dir
        self.manifest: Manifest = {"": ModuleRecord("", "", ".")}
        self.installed: list[ModuleRecord] = []

    def locate(self, path: ModulePath, call: ModuleCall, parent: str, problems: Problems) -> str | None:
        """The directory of a called module; None if it cannot be located or fetched (reported)."""
        key = module_key(path)
        record = self.known.get(key)
        if record is not None and fits(record, call, self.root_dir):
            self.manifest[key] = record
            return record.directory
        for inner in [k for k in self.known if k == key or k.startswith(f"{key}.")]:
            del self.known[inner]  # the module is replaced, so the modules that it calls are located again
        if call.source_kind != "local" and self.fetch is not None:
            record = self.fetch(path, call, problems)
            if record is None:
                return None
            self.manifest[key] = record
            self.installed.append(record)
            return record.directory
        if call.source_kind != "local":
            record = self.kept.get(key)
            if record is not None and record.source == call.source and self._is_dir(record.directory):
                self.manifest[key] = record
                return record.directory
            detail = f"Module {call.name} ({without_secrets(call.source)}) is not installed. Run planner init first."
            problems.error("module_not_installed", "Module not installed", detail, call.shown_span)
            return None
        if call.version:
            detail = "A local module has no versions; leave out the argument version."
            problems.error("local_version", "Invalid version constraint", detail, call.span)
        directory = posixpath.normpath(posixpath.join(parent, call.source))
        if not self._is_dir(directory):
            hint = self._similar(directory)
            detail = f"There is no directory {directory}, which module {call.name} names as its source.{hint}"
            outside = self._leaves_package(path, call)
            if outside:
                detail = f"{detail} It would be outside the package {outside}, which contains the calling module."
            problems.error("missing_module", "Unreadable module directory", detail, call.span)
            return None
        directory = self._real(directory)
        record = ModuleRecord(key, call.source, directory)
        self.manifest[key] = record
        self.installed.append(record)
        return directory

    def below(self, base: ModulePath) -> Locate:
        """A `Locate` function for the module calls inside the module that is recorded under this path."""
        return lambda path, call, parent, problems: self.locate((*base, *path), call, parent, problems)

    def _leaves_package(self, path: ModulePath, call: ModuleCall) -> str:
        """The source of the package that contains the caller, if the relative path of a local module leads out of this
        package; "" if it does not."""
        steps = [call.source]
        for length in range(len(path) - 1, 0, -1):
            record = self.manifest.get(module_key(path[:length]))
            if record is None:
                return ""
            if not record.source.startswith(("./", "../")):
                package, sub = split_subdirectory(record.source)
                inside = posixpath.normpath(posixpath.join("*", sub, *reversed(steps)))
                return "" if inside == "*" or inside.startswith("*/") else without_secrets(package)
            steps.append(record.source)
        return ""

    def _is_dir(self, directory: str) -> bool:
        return is_directory(os.path.join(self.root_dir, directory))

    def _similar(self, directory: str) -> str:
        above, name = posixpath.split(directory)
        try:
            beside = [e.name for e in os.scandir(os.path.join(self.root_dir, above or ".")) if e.is_dir()]
        except OSError:
            return ""
        similar = nearest(name, sorted(beside))
        return f' Did you mean "{posixpath.join(above, similar)}"?' if similar else ""

    def _real(self, directory: str) -> str:
        """The directory with symbolic links resolved one by one: the form in which OpenTofu records it. A relative path
        remains relative unless a link has an absolute target, such as a link to a local package."""
        done = "/" if directory.startswith("/") else ""
        left = directory.split("/")[::-1]
        while left:
            part = left.pop()
            done = posixpath.normpath(posixpath.join(done, part))
            try:
                target = os.readlink(os.path.join(self.root_dir, done)) if part not in ("", ".", "..") else ""
            except OSError:
                continue
            if target:
                done = posixpath.normpath(posixpath.join(done, "..", "/" if target.startswith("/") else "."))
                left += target.split("/")[::-1]
        return done
