"""The configuration files in the folders that are open in the editor, with the symbols of each module and the calls
between modules."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from functools import cache, cached_property

from planner.foundation.support.disk import view
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure
from planner.foundation.vocabulary.records import evolve, frozen
from planner.language.config.directory import is_module, module_files, read_manifest
from planner.language.config.load import load_tree
from planner.language.config.model import ModuleConfig
from planner.language.config.test_files.load import is_test_file
from planner.language.syntax.body import Body
from planner.language.syntax.files import load_text
from planner.workflows.editor.json_view import native_view
from planner.workflows.editor.stand_ins import cached_provider, signature
from planner.workflows.editor.symbols import FILE, NOTHING, DeclaredName, FileSymbols, NameUse, symbols_of
from planner.workflows.editor.texts import OpenTexts, Overlay, TextDocument
from planner.world.provider.interface import Provider
from planner.world.provider.locate import Locator
from planner.world.state.workspace import data_directory

CONFIGURATION = (".tf", ".tofu", ".tf.json", ".tofu.json")
VALUES = (".tfvars", ".tfvars.json")
TESTS = (".tftest.hcl", ".tofutest.hcl", ".tftest.json", ".tofutest.json")
STACKS = (".tfcomponent.hcl", ".tfdeploy.hcl", ".tfstack.hcl")
QUERIES = (".tfquery.hcl",)
FLEET = "planner.batch.hcl"
RULES = (".dl", ".case")
MOST_FILES = 50_000
"""maximum number of files that are listed in the folders; others are ignored"""
_FRESH = 2.0
"""minimum number of seconds before the files in the folders are listed again"""
_SHARE = 50
"""the files are not listed again before this multiple of the time that the last listing took has passed"""
_GLANCE = 0.2
"""seconds before the files of a module are checked for changes again, if a document was open in its directory; for
other modules, `_FRESH` seconds"""
_ABOVE = 2
"""maximum number of levels by which a variables file may be below the directory of its module"""
_RETRIED = 5.0
"""seconds before a missing provider is looked up again"""
_SKIPPED = frozenset(("node_modules", "__pycache__", "vendor"))


def kind_of(path: str) -> str:
    """The kind of a file, determined by its name: `configuration`, `values` (a variables file), `test`, `stack`,
    `query`, `fleet`, `rules`, or "" for other files."""
    name = os.path.basename(path)
    for kind, endings in (
        ("test", TESTS), ("values", VALUES), ("configuration", CONFIGURATION), ("stack", STACKS), ("query", QUERIES),
        ("rules", RULES),
    ):  # fmt: skip
        if name.endswith(endings):
            return kind
    return "fleet" if name == FLEET or name.endswith(".batch.hcl") else ""


@frozen(eq=False)
class ModuleSymbols:
    """The symbols of a module by key, each with its file. The files include the module's tests and variables files."""

    files: dict[str, FileSymbols]
    symbols: dict[str, list[tuple[str, DeclaredName]]]
    mentions: dict[str, list[tuple[str, NameUse]]]

    @property
    def sources(self) -> dict[str, str]:
        """{module call: source, or "" if it is not a literal string}."""
        return {name: source for file in self.files.values() for name, source in file.sources.items()}

    @cached_property
    def repeated(self) -> frozenset[str]:
        """Module calls with `count` or `for_each`."""
        return frozenset().union(*(file.repeated for file in self.files.values()))


class Workspace:
    """The folders open in the editor."""

    def __init__(self) -> None:
        self.folders: list[str] = []
        self.values: dict[str, list[str]] = {}
        """{directory of a module: the module's variables files in other directories}"""
        self.opened = OpenTexts()
        self._files: dict[str, tuple[object, FileSymbols]] = {}
        self._modules: dict[str, tuple[object, ModuleSymbols]] = {}
        self._singles: dict[tuple[str, str], tuple[object, ModuleConfig]] = {}
        self._providers: dict[object, tuple[object, float, Provider | Failure]] = {}
        self._looked: dict[str, tuple[int, float]] = {}
        self._listed_at = 0.0
        self._fresh = _FRESH
        self._listed: list[str] = []
        self._callers: tuple[object, dict[str, list[tuple[str, str]]]] = (None, {})

    def overlay(self) -> Overlay:
        """The disk with the contents of open documents in place of their files."""
        return Overlay(self.opened)

    def is_inside(self, path: str) -> bool:
        """Whether a file is open or in one of the folders."""
        real = os.path.normpath(path)
        return real in self.opened.documents or any(
            real == folder or real.startswith(f"{folder.rstrip('/')}/") for folder in self.folders
        )

    def document(self, path: str) -> TextDocument:
        """The document of a file, from the editor if it is open. Raises OSError, and ValueError if the file is not
        encoded in UTF-8."""
        return self.opened.document(path)

    def body(self, path: str) -> tuple[Body | None, str]:
        """The parsed file, without invalid parts (None if no part is valid), and its text. Raises OSError."""
        body, text, _ = self._parsed(path)
        return body, text

    def _parsed(self, path: str) -> tuple[Body | None, str, list[Diagnostic]]:
        is_open = path in self.opened.documents  # open files are not cached, because every keystroke would add an entry
        body, source, problems = load_text(self.opened.read(path), _parsed_name(path), keep=not is_open)
        if path.endswith(".json") and body is not None and kind_of(path) != "values":
            body = native_view(body, FILE)
        return body, source.text, problems

    # ---------------------------------------------------------------- symbols

    def symbols(self, path: str) -> FileSymbols:
        """The declarations and references of a file; empty if it cannot be read."""
        stamp = self._stamp(path)
        known = self._files.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        try:
            body, text, problems = self._parsed(path)
            result = symbols_of(body, text, kind_of(path) == "values") if body is not None else NOTHING
            result = evolve(result, problems=tuple(problems)) if problems else result
        except (OSError, RecursionError):
            result = NOTHING
        self._files[path] = stamp, result
        return result

    def _stamp(self, path: str) -> object:
        document = self.opened.documents.get(path)
        if document is not None:
            return document
        return _stamp(path)

    def module(self, directory: str) -> ModuleSymbols:
        now, touched = time.monotonic(), self.opened.touched
        revision = max(touched.get(directory, 0), touched.get(os.path.join(directory, "tests"), 0))
        looked = self._looked.get(directory)
        if looked is not None and looked[0] == revision and now - looked[1] < (_GLANCE if revision else _FRESH):
            return self._modules[directory][1]
        self._looked[directory] = revision, now
        paths = list(self._paths(directory))
        stamp = tuple((path, self._stamp(path)) for path in paths)
        known = self._modules.get(directory)
        if known is not None and known[0] == stamp:
            return known[1]
        files = {path: self.symbols(path) for path in paths}
        symbols: dict[str, list[tuple[str, DeclaredName]]] = {}
        mentions: dict[str, list[tuple[str, NameUse]]] = {}
        for path, file in files.items():
            for symbol in file.symbols:
                symbols.setdefault(symbol.key, []).append((path, symbol))
            for mention in file.mentions:
                mentions.setdefault(mention.key, []).append((path, mention))
        result = ModuleSymbols(files, symbols, mentions)
        self._modules[directory] = stamp, result
        return result

    def _paths(self, directory: str) -> Iterator[str]:
        """The paths of a module's configuration files, tests and variables files."""
        with view(self.overlay()):
            try:
                files = module_files(directory, QUERIES[0])
            except OSError:
                return
            yield from (os.path.join(directory, name) for name in (*files.normal, *files.override))
        for folder in (directory, os.path.join(directory, "tests")):
            try:
                names = sorted({*os.listdir(folder), *self._opened_in(folder)})
            except OSError:
                continue
            for name in names:
                if is_test_file(name) or (folder == directory and name.endswith(VALUES)):
                    yield os.path.join(folder, name)
        yield from self.values.get(directory, ())

    def _opened_in(self, folder: str) -> Iterator[str]:
        return (os.path.basename(path) for path in self.opened.documents if os.path.dirname(path) == folder)

    def directory_of(self, path: str) -> str:
        """The directory of the module to which a file belongs. A test in a directory `tests` belongs to the module in
        its parent directory. A variables file in a directory without a module belongs to the nearest module in the two
        directories above."""
        directory = os.path.dirname(path)
        if kind_of(path) == "test" and os.path.basename(directory) == "tests":
            return os.path.dirname(directory)
        if kind_of(path) == "values":
            for _ in range(_ABOVE):  # .tfvars files of environments are often in subdirectories
                if not self._is_module(directory) and self.is_inside(os.path.dirname(directory)):
                    directory = os.path.dirname(directory)
            return directory if self._is_module(directory) else os.path.dirname(path)
        return directory

    def _is_module(self, directory: str) -> bool:
        with view(self.overlay()):
            return is_module(directory)

    def is_known(self, directory: str) -> bool:
        """Whether a directory has been read and has configuration files."""
        return directory in self._looked and bool(self.module(directory).files)

    # ---------------------------------------------------------------- the tree of modules

    def single_module(self, root: str, directory: str) -> ModuleConfig:
        """The variables and outputs of a module. `directory` is relative to the root module in `root`."""
        stamp = self.module(os.path.normpath(os.path.join(root, directory)))
        known = self._singles.get((root, directory))
        if known is None or known[0] is not stamp:
            with view(self.overlay()):
                config, _ = load_tree(
                    root, variables={}, workspace="default", locate=lambda *call: None, directory=directory
                )
            known = self._singles[root, directory] = stamp, signature(config.root)
        return known[1]

    def provider(self, directory: str, address: str, wanted: Mapping[str, tuple[str, ...]]) -> Provider | Failure:
        """The provider in the version that is installed for the configuration in a directory, with its schema from the
        cache; or the reason why it is missing. `wanted`: {address: version constraints}."""
        key = (directory, address, wanted.get(address, ()))
        known = self._providers.get(key)
        now = time.monotonic()
        stamp = tuple(map(_stamp, (f"{directory}/.terraform.lock.hcl", f"{directory}/{data_directory(os.environ)}")))
        if known is None or known[0] != stamp or (isinstance(known[2], Failure) and now - known[1] > _RETRIED):
            answer: Provider | Failure
            try:
                with view(None):
                    locator = Locator(directory, os.environ, wanted, data_directory(os.environ))
                    answer = cached_provider(address, locator.locate(address))
            except Failure as failure:
                answer = Failure(failure.diagnostics)  # a new Failure, because a traceback would keep models alive
            known = self._providers[key] = stamp, now, answer
        return known[2]

    def module_directory(self, directory: str, name: str) -> str | None:
        """The directory of the module to which the module call `name` in `directory` refers; None if it is unknown."""
        source = self.module(directory).sources.get(name, "")
        if source.startswith(("./", "../")):
            return os.path.normpath(os.path.join(directory, source))
        record = read_manifest(directory, data_directory(os.environ))[0].get(name)
        return os.path.normpath(os.path.join(directory, record.directory)) if record is not None else None

    def callers(self, directory: str) -> list[tuple[str, str]]:
        """All calls of a module in the folders whose source is a relative path: (directory with the call, name of the
        call)."""
        files = self.files()
        opened = (path for path in self.opened.documents if kind_of(path) == "configuration")
        stamp = (self._listed_at, [(path, self.symbols(path).sources) for path in opened])
        if self._callers[0] != stamp:
            table: dict[str, list[tuple[str, str]]] = {}
            real = cache(os.path.realpath)  # a call may lead through a symbolic link
            for path in files:
                if kind_of(path) == "configuration":
                    above = os.path.dirname(path)
                    for name, source in self.symbols(path).sources.items():
                        if source.startswith(("./", "../")):
                            below = os.path.normpath(os.path.join(above, source))
                            table.setdefault(real(below), []).append((above, name))
            self._callers = stamp, table
        return self._callers[1].get(os.path.realpath(directory), [])

    def roots_above(self, directory: str) -> list[str]:
        """The directories of the modules that call this module, directly or through other modules; the nearest come
        first."""
        hit: dict[str, None] = {}
        waiting = [directory]
        while waiting:
            for above, _ in self.callers(waiting.pop(0)):
                if above not in hit and above != directory:
                    hit[above] = None
                    waiting.append(above)
        return list(hit)

    def look_again(self) -> None:
        """Forget which files exist, so that the folders are listed and the modules checked for changes at the next
        use."""
        self._listed_at = 0.0
        self._looked.clear()

    def files(self) -> list[str]:
        """Sorted paths of the configuration, test and variables files in the folders."""
        now = time.monotonic()
        if not self._listed_at or now - self._listed_at > self._fresh:
            self._listed = sorted(self._walk())
            self._listed_at = time.monotonic()
            self._fresh = max(_FRESH, _SHARE * (self._listed_at - now))
        return self._listed

    def _walk(self) -> Iterator[str]:
        count = 0
        for folder in self.folders:
            for base, names, files in os.walk(folder):
                names[:] = sorted(name for name in names if not name.startswith(".") and name not in _SKIPPED)
                for name in files:
                    if name.endswith((*CONFIGURATION, *TESTS, *VALUES)):
                        count += 1
                        if count > MOST_FILES:
                            return
                        yield os.path.join(base, name)


def _stamp(path: str) -> object:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _parsed_name(path: str) -> str:
    """The part of a path whose ending determines the syntax of the file."""
    return os.path.basename(path)
