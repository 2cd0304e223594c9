"""The session in which the Terragrunt files of one unit are read. It reads files, does external lookups, and records
the files, units and lookups on which the unit depends."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import Unknown, Value
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.records import define, evolve, field, frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.reading import Problems
from planner.workflows.batch.files_read import RECORDER
from planner.workflows.batch.recipe import RecipeSource
from planner.workflows.batch.terragrunt.document import Form, UnitDocument, read_document

_BETWEEN = "\0"
_SECRET = re.compile(r"secret|password|passwd|passphrase|token|access_key|api_?key|credential|private", re.I)
"""names of environment variables whose values are never sent to another machine"""


def question(kind: str, *words: str) -> str:
    """The key of an external lookup of a `kind` with these words. The words are separated by null characters, so that
    paths below the fleet's root can be replaced with paths on another machine."""
    return _BETWEEN.join((kind, *words))


def on_the_way(source: RecipeSource) -> RecipeSource:
    """The source of a unit for another machine. Secret results of lookups are removed; the other machine repeats these
    lookups. Digests of secret environment variables are added, so that it can check that its variables have the same
    values."""
    if not source.private:
        return source
    salt, secret = os.urandom(16).hex(), frozenset(source.private)
    variables = {name: item for name, item in source.answers.items() if name in secret and _is_variable(name)}
    digests = {name: _digest(salt, name, item) for name, item in variables.items()}
    answers = {name: item for name, item in source.answers.items() if name not in secret}
    return evolve(source, answers=answers, private=(), expected={"": salt, **digests})


def _is_variable(key: str) -> bool:
    return key.startswith(f"env{_BETWEEN}")


def _digest(salt: str, key: str, found: Any) -> str:
    return hashlib.sha256(f"{salt}{key}{_BETWEEN}{found!r}".encode("utf-8", "surrogatepass")).hexdigest()


@frozen(eq=False)
class DependencyBlock:
    """A `dependency` block. `target`: directory of the unit or stack that it names. `is_enabled`: False if the block
    has no effect. `constant`: the value that is used instead of the outputs; None if the outputs are read."""

    label: str
    target: str
    is_enabled: bool
    constant: Value | None
    span: Span


class Library:
    """Data that the sessions of all units of one command share: parsed files, and results of lookups that are the same
    for all units."""

    def __init__(self, root: str, environment: Mapping[str, str]) -> None:
        self.root, self.environment = root, environment
        self.documents: dict[tuple[str, int], tuple[UnitDocument | None, Problems]] = {}
        self.answers: dict[str, Any] = {}
        self.stacks: dict[str, dict[str, str]] = {}
        """{stack directory: {unit name: unit directory}}"""
        self.failed: dict[str, list[Diagnostic]] = {}
        """{name of a package directory: errors why the package could not be installed}"""

    def place(self, path: str) -> str:
        """The canonical path of a directory. Symbolic links are resolved if the target is below the root, so that each
        unit has only one path."""
        real, root = os.path.realpath(path), os.path.realpath(self.root)
        inside = real == root or real.startswith(f"{root}{os.sep}")
        return os.path.normpath(f"{self.root}{real[len(root) :]}" if inside else path)

    def document(self, path: str, form: Form | None) -> UnitDocument:
        """The parsed file at `path`, which is parsed only once. Raises Failure."""
        key = (path, id(form))
        if key not in self.documents:
            problems = Problems()
            self.documents[key] = read_document(path, os.path.relpath(path), form, problems), problems
        result, problems = self.documents[key]
        if result is None:
            raise Failure(problems)
        return result


@define(eq=False)
class UnitSession:
    """Reads one unit. `outputs(folder)`: the outputs of the unit or stack in another directory. `given`: results of
    external lookups from an earlier reading of the unit, which are used again. `expected`: digests of secret results
    from that reading. `answers`: results of lookups in this reading; `private`: keys of those that are secret.
    `refusals`: errors because of which the unit can be read, but not run."""

    library: Library
    config: str
    outputs: Callable[[str], Value] = lambda folder: Unknown(DYNAMIC)
    given: Mapping[str, Any] = field(factory=dict)
    command: str = "plan"
    expected: Mapping[str, str] = field(factory=dict)
    private: set[str] = field(factory=set)
    answers: dict[str, Any] = field(factory=dict)
    files: dict[str, None] = field(factory=dict)
    dependencies: dict[str, DependencyBlock] = field(factory=dict)
    orders: dict[str, Span] = field(factory=dict)
    refusals: list[Diagnostic] = field(factory=list)
    remarks: list[Diagnostic] = field(factory=list)
    configs: dict[str, dict[str, Value]] = field(factory=dict)
    """{path: value} of files that were read as values"""
    reading: list[str] = field(factory=list)
    """paths of the files that are being read as values"""

    def ask(self, question: str, answer: Callable[[], Any]) -> Any:
        """The result of an external lookup. `answer` does the lookup; it is called only if the result is not known from
        this or an earlier reading of the unit, and may raise FunctionError. Raises Failure if the result does not match
        the digest in `expected`."""
        if question not in self.answers:
            result = self.given[question] if question in self.given else answer()
            if question in self.expected and self.expected[question] != _digest(self.expected[""], question, result):
                name = question.partition(_BETWEEN)[2]
                detail = (
                    f"The environment variable {name} has a different value on the machine where the batch was started."
                )
                raise Failure(error("terragrunt.elsewhere", "Another environment", detail))
            self.answers[question] = result
        return self.answers[question]

    def once(self, question: str, answer: Callable[[], Any]) -> Any:
        """The result of an external lookup that is done once for all units."""
        known = self.library.answers
        if question not in known and question not in self.given:
            known[question] = answer()
        return self.ask(question, lambda: known[question])

    def read(self, path: str, form: Form | None) -> UnitDocument:
        self.files[path] = None
        return self.library.document(path, form)

    def is_file(self, path: str) -> bool:
        """Whether a path is a file. The check is recorded, so that a cached result becomes invalid if the file appears
        or disappears."""
        if RECORDER.paths is not None:
            RECORDER.look(path)
        return os.path.isfile(path)

    def variable(self, name: str) -> str | None:
        """The value of an environment variable; None if it is not set."""
        key = question("env", name)
        if _SECRET.search(name):
            self.private.add(key)
        result: str | None = self.ask(key, lambda: self.library.environment.get(name))
        return result

    def refuse(self, code: str, summary: str, detail: str, span: Span | None = None) -> None:
        problem = error(f"terragrunt.{code}", summary, detail, span)
        if problem not in self.refusals:
            self.refusals.append(problem)

    def depends(self, dependency: DependencyBlock) -> None:
        """Add a dependency, unless a block with the same label and target was added before."""
        key = f"{dependency.target}\0{dependency.label}"
        self.dependencies.setdefault(key, dependency)
