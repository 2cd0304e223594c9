"""Computes the diagnostics of open files. After an edit, the modules that the edit may affect are checked again."""

from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Callable, Iterable, Iterator

from planner.foundation.support.disk import own_reads, view, working_in
from planner.foundation.support.forks import Fork, start_fork
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, defect, error
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.directory import read_manifest
from planner.language.config.load import Locate
from planner.language.config.model import ModuleCall, ModulePath
from planner.language.config.reading import Problems
from planner.language.config.stack_files.load import StackSources, installed
from planner.workflows.batch.batch_file import read_batch_file
from planner.workflows.editor.model import Model, values_problems
from planner.workflows.editor.navigation import DeclaredObject, declarations
from planner.workflows.editor.rule_index import problems_of
from planner.workflows.editor.symbols import NameUse
from planner.workflows.editor.texts import Json, TextDocument, document_of
from planner.workflows.editor.workspace import Workspace, kind_of
from planner.workflows.stacks.validate import validate_stack

LARGE = 1_000_000
"""number of characters in the open files of a module above which it is checked only in another process"""
MOST_MODELS = 6
"""maximum number of cached models"""
Found = dict[str, list[Json]]
"""{file: diagnostics}"""
_MODULES = ("configuration", "values", "test", "query")
_NOT_REFERRED = frozenset(("output", "moved", "removed", "import", "check", "terraform"))
_GLANCED = ("undeclared_variable", "undeclared_local")
"""suffixes of the codes of errors that `glance` reports, too"""


class Checking:
    """The models of the modules with open files, and the diagnostics of all checked files."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._models: dict[str, Model] = {}
        self._former: dict[str, Model] = {}  # models of edited modules before the edits
        self._edited: dict[str, set[str]] = {}  # edited files of these modules
        self._declared: dict[str, dict[str, frozenset[str]]] = {}  # {module: {file: declared names}}, as in the model
        self._reach: dict[str, frozenset[str]] = {}  # {module: directories of its tree at the last check}
        self._found: dict[tuple[str, str], Found] = {}
        self._placed: dict[str, TextDocument] = {}  # the versions of files to which diagnostics refer

    def model(self, path: str) -> Model:
        directory = self.workspace.directory_of(path)
        known = self._models.pop(directory, None)
        if known is None:
            known = Model(self.workspace, directory)
            here = [one for one in self.workspace.opened.documents if os.path.dirname(one) == directory]
            if not any(map(self._is_unreadable, here)):
                self._former.pop(directory, None)
                self._declared[directory] = {one: self._keys(one) for one in here}
        self._models[directory] = known  # most recently used last
        self._reach[directory] = self._reach.get(directory, frozenset()) | known.directories
        for models in (self._models, self._former):
            for oldest in list(models)[:-MOST_MODELS]:
                del models[oldest]
        return known

    def recent_model(self, path: str) -> Model:
        """A model of a file's module for requests while the user types. To be fast, it can be a model without the
        latest edits. This is allowed if the edits of this file add no names and the edits of other files change no
        names, or if this file is JSON with a syntax error."""
        directory = self.workspace.directory_of(path)
        former = self._former.get(directory)
        if former is not None and self._is_unreadable(path):
            return former
        if directory in self._models or former is None or path not in self._edited[directory]:
            return self.model(path)
        declared = self._declared[directory]
        others = self._edited[directory] - {path}
        is_same = self._keys(path) <= declared.get(path, frozenset()) and all(
            self._keys(one) == declared.get(one) for one in others
        )
        return former if is_same else self.model(path)

    def _is_unreadable(self, path: str) -> bool:
        """Whether a file is JSON with a syntax error, which makes the whole file unreadable."""
        return path.endswith(".json") and bool(self.workspace.symbols(path).problems)

    def _keys(self, path: str) -> frozenset[str]:
        """The names that a file declares and to which expressions in the module can refer."""
        symbols = self.workspace.symbols(path).symbols
        return frozenset(symbol.key for symbol in symbols if symbol.block not in _NOT_REFERRED)

    def forget(self, path: str = "") -> None:
        """Discard the models of the modules that include a file; "" discards all models."""
        directory = os.path.dirname(path)
        if not path:
            self._former.clear()
        for folder, model in list(self._models.items()):
            if not path or directory in model.directories or directory.startswith(f"{folder}/"):
                del self._models[folder]
                if path:
                    self._former[folder], self._edited[folder] = model, set()
        for folder, model in self._former.items():
            if directory in model.directories or directory.startswith(f"{folder}/"):
                self._edited[folder].add(path)

    def read_called(self, subject: tuple[str, str]) -> Iterator[None]:
        """Read and cache the modules that a module calls, so that a later request is fast. Each step of the iteration
        reads one module."""
        if subject[0] == "module" and not self.is_large(subject) and self._open_paths(subject):
            model = self.model(os.path.join(subject[1], "main.tf"))
            for name in model.root.calls:
                model.child(name)
                yield

    def start_tree_check(self, subject: tuple[str, str]) -> Fork | None:
        """Start a process that checks a module with all modules that it calls, directly or through others. Such a check
        can take seconds. Returns None if the module is small and calls no other module, or if the system has no
        fork."""
        if not hasattr(os, "fork"):
            return None
        if not self.is_large(subject) and not self.model(os.path.join(subject[1], "main.tf")).root.calls:
            return None
        return start_fork(lambda: json.dumps(self._tree(subject[1])).encode())

    def _tree(self, directory: str) -> Json:
        model = Model(self.workspace, directory, is_deep=True)
        problems: Found = {}
        for path, problem in model.validate():
            problems.setdefault(path, []).append(diagnostic(problem, self._document(path)))
        return {"directories": sorted(model.directories), "problems": problems}

    def keep_tree(self, subject: tuple[str, str], result: bytes) -> dict[str, list[Json]]:
        """Store the result of `start_tree_check`; the modules must be unchanged since then. Returns {file: diagnostics}
        for the files whose diagnostics may have changed."""
        key, tree = ("tree", subject[1]), json.loads(result)
        for path in [path for kind, path in self._found if kind == "glance"]:
            del self._found["glance", path]
        before = self._found.get(key, {})
        self._found[key] = tree["problems"]
        self._reach[subject[1]] = frozenset(tree["directories"])
        return {path: self._diagnostics(path) for path in {**before, **tree["problems"]} if path}

    def subject(self, path: str) -> tuple[str, str]:
        """The subject that a file belongs to, as (kind, directory or file): a module, a stack, a fleet's file or a
        directory with rule files. Subjects are checked as a whole."""
        kind = kind_of(path)
        if kind in _MODULES:
            return "module", self.workspace.directory_of(path)
        return (kind, os.path.dirname(path)) if kind in ("stack", "rules") else (kind, path)

    def reached(self, path: str) -> list[tuple[str, str]]:
        """The subjects whose diagnostics may change after an edit of this file: its own subject, and others with open
        files."""
        own = self.subject(path)
        result = {own: None} if own[0] else {}
        directory = os.path.dirname(path)
        for other in self.workspace.opened.documents:
            subject = self.subject(other)
            if subject[0] == "module":
                if directory in self._reach.get(subject[1], ()):
                    result[subject] = None
            elif subject[0] == "stack" and own[0] == "module":
                result[subject] = None
        return list(result)

    def is_large(self, subject: tuple[str, str]) -> bool:
        """Whether the open files of a module are so large that checking them takes seconds."""
        size = sum(len(self.workspace.opened.documents[path].text) for path in self._open_paths(subject))
        return hasattr(os, "fork") and subject[0] == "module" and size > LARGE

    def glance(self, subject: tuple[str, str]) -> dict[str, list[Json]]:
        """Report syntax errors and undeclared names in the open files quickly, before the module is checked. Other
        diagnostics move with their lines, or are dropped if their lines were edited. Returns {file: diagnostics}; empty
        if none of the files was edited."""
        opened = self._open_paths(subject)
        if all(self._placed.get(path) is self.workspace.opened.documents[path] for path in opened):
            return {}  # another module was edited
        for path in opened:
            document = self._document(path)
            for key, hit in self._found.items():
                if key[0] != "glance" and path in hit:
                    rest = [one for one in hit[path] if not one["code"].endswith(_GLANCED)]
                    hit[path] = list(shift_lines(rest, self._placed.get(path, document), document))
            self._placed[path] = document
            hits = (self._undeclared(subject[1], path, one) for one in self.workspace.symbols(path).mentions)
            problems = [*self.workspace.symbols(path).problems, *(one for one in hits if one is not None)]
            self._found["glance", path] = {path: [diagnostic(one, document) for one in problems]}
        return {path: self._diagnostics(path) for path in opened}

    def _open_paths(self, subject: tuple[str, str]) -> list[str]:
        return [path for path in self.workspace.opened.documents if self.subject(path) == subject]

    def start_check(self, subject: tuple[str, str]) -> Fork:
        """Start a process that checks a subject; `keep` receives its result. Raises OSError."""
        return start_fork(lambda: json.dumps(self._problems(subject)).encode())

    def keep(self, subject: tuple[str, str], result: bytes) -> dict[str, list[Json]]:
        """Store the result of `start_check`. Returns {file: diagnostics} for the files whose diagnostics may have
        changed."""
        return self._keep(subject, json.loads(result))

    def check(self, subject: tuple[str, str]) -> dict[str, list[Json]]:
        """Check a subject in this process. Returns {file: diagnostics} for the files whose diagnostics may have
        changed."""
        return self._keep(subject, self._problems(subject))

    def _problems(self, subject: tuple[str, str]) -> Found:
        opened = self._open_paths(subject)
        hit: Found = {path: [] for path in opened}
        for path, problem in _CHECKS[subject[0]](self, subject[1], opened) if opened else ():
            where = path or opened[0]
            hit.setdefault(where, []).append(diagnostic(problem, self._document(where)))
        return hit

    def _keep(self, subject: tuple[str, str], hit: Found) -> dict[str, list[Json]]:
        before = self._found.pop(subject, {})
        kind, name = subject
        tree = self._found.get(("tree", name)) if kind == "module" else None
        if tree is not None:  # checked before the edit, but its diagnostics of other modules may still be valid
            before = {**before, **tree}
            self._found["tree", name] = {path: of for path, of in tree.items() if os.path.dirname(path) != name}
        opened = self._open_paths(subject)
        for path in opened:
            self._found.pop(("glance", path), None)
            self._placed[path] = self._document(path)
        if opened:
            self._found[subject] = hit
        else:
            self._found.pop(("tree", name), None)
        return {path: self._diagnostics(path) for path in {**before, **hit}}

    def _diagnostics(self, path: str) -> list[Json]:
        result: dict[str, Json] = {}
        for hit in self._found.values():
            for entry in hit.get(path, ()):
                result.setdefault(repr((entry["range"], entry["message"])), entry)
        return list(result.values())

    def _document(self, path: str) -> TextDocument:
        try:
            return self.workspace.document(path)
        except (OSError, ValueError):
            return document_of("")

    # ---------------------------------------------------------------- by kind

    def _module(self, directory: str, opened: list[str]) -> Iterator[tuple[str, Diagnostic]]:
        model = self.model(os.path.join(directory, "main.tf"))
        places: set[tuple[str, int]] = set()
        for path, problem in model.validate():
            if problem.subject is not None:
                places.add((path, problem.subject.start))
            yield path, problem
        for path in opened:
            if kind_of(path) == "values":
                with model.reading():
                    problems = values_problems(model, path)
                yield from ((path, problem) for problem in problems)
        for path, file in self.workspace.module(directory).files.items():
            if kind_of(path) == "configuration":
                for mention in file.mentions:
                    before = mention.start - mention.key.find(".") - 1
                    if (path, before) not in places and (hit := self._undeclared(directory, path, mention)):
                        yield path, hit

    def _undeclared(self, directory: str, path: str, mention: NameUse) -> Diagnostic | None:
        """The error about a reference to an undeclared variable or local value; None for other references. A check that
        stops early because of other errors does not report it."""
        key, start, end = mention.key, mention.start, mention.end
        kind, _, name = key.partition(".")
        if kind not in ("var", "local") or declarations(self.workspace, DeclaredObject(directory, key)):
            return None
        source = Source(path, self.workspace.document(path).text)
        where = Span(source, start - len(kind) - 1, end)
        if kind == "var":
            return error("config.undeclared_variable", "Undefined variable", f"No variable is named {name}.", where)
        return error("config.undeclared_local", "Undefined local", f"No local value is named {name}.", where)

    def _stack(self, directory: str, opened: list[str]) -> Iterator[tuple[str, Diagnostic]]:
        with working_in(directory), view(self.workspace.overlay()), own_reads():
            problems = _guarded(lambda: validate_stack(directory, _local_sources(directory)))
        for problem in problems:
            name = problem.subject.filename if problem.subject is not None else ""
            yield os.path.normpath(os.path.join(directory, name)) if name else "", problem

    def _fleet(self, path: str, opened: list[str]) -> Iterator[tuple[str, Diagnostic]]:
        directory = os.path.dirname(path)
        with working_in(directory), view(self.workspace.overlay()), own_reads():
            problems = _guarded(lambda: read_batch_file(path, lambda root: _NoMemory(), is_read_only=True).diagnostics)
        for problem in problems:
            name = problem.subject.filename if problem.subject is not None else ""
            yield os.path.abspath(name) if name else "", problem  # diagnostics of fleets have relative paths

    def _rules(self, directory: str, opened: list[str]) -> Iterator[tuple[str, Diagnostic]]:
        texts = self.workspace.opened.texts
        for path in opened:
            yield from ((path, problem) for problem in problems_of(path, texts))


_CHECKS = {
    "module": Checking._module,
    "stack": Checking._stack,
    "fleet": Checking._fleet,
    "rules": Checking._rules,
}


class _NoMemory:
    """Implements FolderMemory without storing anything."""

    def folder(self, path: str) -> None:
        return None

    def keep_folder(self, path: str, hit: object, looked: object) -> None:
        return None


def _local_sources(directory: str) -> StackSources:
    """The locations of the modules and stacks that a stack calls. Those with local sources are found without `init`."""
    recorded = installed(directory, read_manifest(directory)[0])

    def preferring_local(otherwise: Locate) -> Locate:
        def locate(path: ModulePath, call: ModuleCall, parent: str, problems: Problems) -> str | None:
            if call.source_kind == "local":
                return posixpath.normpath(posixpath.join(parent, call.source))
            return otherwise(path, call, parent, problems)

        return locate

    return StackSources(preferring_local(recorded.locate), lambda path: preferring_local(recorded.below(path)))


def _guarded(work: Callable[[], Iterable[Diagnostic]]) -> list[Diagnostic]:
    try:
        return list(work())
    except Failure as failure:
        return failure.diagnostics
    except Exception as bad:
        return [defect(bad)]


def diagnostic(problem: Diagnostic, document: TextDocument) -> Json:
    """The diagnostic as LSP JSON."""
    subject = problem.subject
    start, end = (subject.start, subject.end) if subject is not None else (0, 0)
    lines = [f"{problem.summary}", problem.detail, *(f"{name} {value}" for name, value in problem.values)]
    return {
        "range": document.range(start, max(start, end)),
        "severity": 1 if problem.is_error else 2,
        "code": problem.code,
        "source": "planner",
        "message": "\n".join(line for line in lines if line).strip(),
    }


def shift_lines(problems: Iterable[Json], before: TextDocument, after: TextDocument) -> Iterator[Json]:
    """The diagnostics of the version `before` that are before the first or after the last changed line, with their line
    numbers in the version `after`."""
    old, new = before.text.splitlines(), after.text.splitlines()
    first = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    rest = min(len(old), len(new)) - first
    last = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
    for problem in problems:
        start, end = problem["range"]["start"]["line"], problem["range"]["end"]["line"]
        shift = len(new) - len(old) if start >= len(old) - last else 0
        if end < first or old == new or start >= len(old) - last:
            ends = {name: {**at, "line": at["line"] + shift} for name, at in problem["range"].items()}
            yield {**problem, "range": ends}
