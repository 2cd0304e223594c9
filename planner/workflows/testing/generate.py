"""Generates a first test file for a module, with mocked providers. The file has a run with default values, a run for
each combination of values that increases the coverage, and a run for each validation that rejects a value."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, product
from typing import Any

from planner.foundation.values.convert import ConversionError
from planner.foundation.values.value import Value, is_null, is_wholly_known, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.provider_address import BUILTIN
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.mocking import Mocking
from planner.language.config.model import Config, Expr, ModuleConfig, ProviderDecl, Reference
from planner.language.config.reading import Problems, references
from planner.language.config.test_files.load import DEFAULT_DIRECTORY
from planner.language.config.test_files.model import TestFile, TestRun
from planner.language.syntax import nodes
from planner.language.syntax.body import function_calls, variables
from planner.language.syntax.files import load_text
from planner.operations.providers_needed import needed_providers
from planner.workflows.testing.candidates import VariableMentions, candidates, is_refused
from planner.workflows.testing.coverage import Key, conditionals, items
from planner.workflows.testing.results import TestFileResult
from planner.workflows.testing.runs import FileRunner, Subjects
from planner.workflows.testing.suite import Suite, TestOptions, load_suite

NAME = "generated.tftest.hcl"
TRIALS = 150
"""maximum number of plans; afterwards no further values are tried"""
COMBINATIONS = 16
"""maximum number of combinations of values for one condition"""
_IMPURE = ("bcrypt", "plantimestamp", "timestamp", "uuid")
_SOURCE = Source("", "")

Way = tuple[Key, str]


@frozen(eq=False)
class GeneratedRun:
    """A run of the generated file. `values`: {variable: value}. `refused`: the variable for which the run expects a
    failure; "" if it expects none. `outputs`: outputs to assert, as (name, expected value). `remarks`: if the run does
    not pass yet, its errors."""

    name: str
    values: Mapping[str, Value]
    refused: str = ""
    outputs: tuple[tuple[str, Value], ...] = ()
    remarks: tuple[str, ...] = ()


@frozen(eq=False)
class GeneratedTests:
    """The content of a generated test file. `mocks`: the mocked provider configurations, as (name, alias). `remarks`:
    sentences for the comment at the head of the file, about values and mocks that are missing."""

    mocks: tuple[tuple[str, str], ...]
    runs: tuple[GeneratedRun, ...]
    remarks: tuple[str, ...]


@frozen(eq=False)
class _Tried:
    status: str
    problems: tuple[Diagnostic, ...]
    reached: frozenset[Way]
    outputs: Mapping[str, Value]

    @property
    def passes(self) -> bool:
        return self.status == "pass"


def generate(suite: Suite) -> GeneratedTests:
    return _Generator(suite).generate()


def generate_into(options: TestOptions, written: Callable[[GeneratedTests], str]) -> str:
    """Write a test file into the module's test directory and return its name. Raises Failure, for example if the file
    exists."""
    name = posixpath.normpath(posixpath.join(options.test_directory or DEFAULT_DIRECTORY, NAME))
    path = os.path.join(options.directory, name)
    if os.path.lexists(path):
        raise Failure(error("test.generated_exists", "Test file already exists", f"{name} is not overwritten."))
    suite, problems = load_suite(options)
    if suite is None or has_errors(problems):
        raise Failure(problems)
    try:
        text = written(generate(suite))
    finally:
        suite.loaded.schemas.close()
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except OSError as problem:
        detail = f"{name}: {problem.strerror or problem}."
        raise Failure(error("test.generated_file", "Cannot write the test file", detail)) from None
    return name


class _Nobody:
    """A listener that ignores all events."""

    def _hear(self, *what: Any) -> None:
        """Ignore an event."""

    abstract = file = cleaned = saving = diagnostics = interrupted = _hear


class _Generator:
    def __init__(self, suite: Suite) -> None:
        self.suite, self.config = suite, suite.loaded.config
        self.declared = self.config.root.variables
        self.subjects = Subjects(suite.loaded, suite.loaded.given, suite.options.walk_parallelism)
        self.candidates = candidates(self.config)
        self.mocks, self.remarks = _mocks(self.config)
        self.file = TestFile("", mocks={mock.key: mock for mock in map(_mock, self.mocks)})
        self.covered: set[Way] = set()
        self.runs: list[GeneratedRun] = []
        self.trials = 0

    def generate(self) -> GeneratedTests:
        base = self._base()
        first = self._try(base)
        if not first.passes:
            base, first = self._repaired(base, first)
        self._keep("defaults" if not base else "usual", base, first)
        if first.passes:
            self._single(base)
            self._combined(base)
            self._refuse(base)
        return GeneratedTests(tuple(self.mocks), tuple(self.runs), tuple(self.remarks))

    # ---------------------------------------------------------------- values

    def _base(self) -> dict[str, Value]:
        """{variable: value} for the variables without a default. If possible, the validations accept the value."""
        base: dict[str, Value] = {}
        for name, decl in self.declared.items():
            if decl.default is not None:
                continue
            tried = self.candidates[name]
            verdicts = [self._refused_by(name, base, value) for value in tried]
            best = next((v for v, no in zip(tried, verdicts, strict=True) if no is False), None)
            if best is None:
                best = next((v for v, no in zip(tried, verdicts, strict=True) if no is None), None)
            if best is None:
                self.remarks.append(f"No value was found that the validations of var.{name} accept: fill in a value.")
                best = tried[0] if tried else ""
            base[name] = best
        return base

    def _refused_by(self, name: str, base: Mapping[str, Value], value: Value) -> bool | None:
        decl = self.declared[name]
        values = {n: d.default for n, d in self.declared.items() if d.default is not None}
        try:
            return is_refused(decl, {**values, **base, name: decl.constraint.convert(value)})
        except ConversionError:
            return True

    def _repaired(self, base: dict[str, Value], first: _Tried) -> tuple[dict[str, Value], _Tried]:
        """Change one value so that the plan succeeds. Returns the values, and the result of their plan. If no change of
        a single value helps, returns `base` and `first`."""
        for name, value in self._others(base):
            result = self._try({**base, name: value})
            if result.passes:
                return {**base, name: value}, result
        return base, first

    def _others(self, base: Mapping[str, Value]) -> Iterator[tuple[str, Value]]:
        """(variable, value) for each candidate value that the validations accept. The default of a variable is left out
        if `base` has no value for the variable, because the plan with `base` uses it already."""
        for name in self.declared:
            for value in self.candidates[name][0 if name in base else 1 :]:
                if self._refused_by(name, base, value) is False:
                    yield name, value

    # ---------------------------------------------------------------- runs

    def _single(self, base: dict[str, Value]) -> None:
        for name, value in self._others(base):
            if not self._is_covered():
                self._reach({**base, name: value}, _name(name, value))

    def _combined(self, base: dict[str, Value]) -> None:
        """For each conditional that depends on several variables, try combinations of their values until both branches
        are covered."""
        mentions = VariableMentions(self.config)
        accepted: dict[str, list[Value]] = {}
        for name, value in self._others(base):
            accepted.setdefault(name, []).append(value)
        for module in self.config.root.walk():
            for place in conditionals(module):
                key: Key = ("conditional", place.source.filename, place.node.start)
                names = sorted(mentions.of(module, place.node.condition) & accepted.keys())
                if len(names) < 2:
                    continue
                for values in islice(product(*(accepted[name] for name in names)), COMBINATIONS):
                    if {(key, "true"), (key, "false")} <= self.covered:
                        break
                    self._reach({**base, **dict(zip(names, values, strict=True))}, "_and_".join(names))

    def _refuse(self, base: dict[str, Value]) -> None:
        for name, decl in self.declared.items():
            if not decl.validations:
                continue
            for value in self.candidates[name]:
                if self._refused_by(name, base, value) is True:
                    self._reach({**base, name: value}, f"refuses_{name}", name)

    def _reach(self, values: dict[str, Value], name: str, refused: str = "") -> None:
        """Plan with these values, and add a run if it passes and increases the coverage. After TRIALS plans, do
        nothing."""
        if self.trials >= TRIALS:
            return
        tried = self._try(values, refused)
        if tried.passes and not tried.reached <= self.covered:
            self._keep(name, values, tried, refused)

    def _keep(self, name: str, values: dict[str, Value], tried: _Tried, refused: str = "") -> None:
        self.covered |= tried.reached
        known = {run.name for run in self.runs}
        unique = next(n for n in (name, *(f"{name}_{i}" for i in range(2, 1000))) if n not in known)
        outputs = () if refused else tuple(_plain(self.config.root, tried.outputs))
        remarks = tuple(f"{d.summary}: {d.detail}" if d.detail else d.summary for d in tried.problems)
        self.runs.append(GeneratedRun(unique, values, refused, outputs, () if tried.passes else remarks))

    def _is_covered(self) -> bool:
        wanted = {(item.key, way) for item in items(self.config) for way in item.ways if way != "failed"}
        return wanted <= self.covered

    def _try(self, values: Mapping[str, Value], refused: str = "") -> _Tried:
        self.trials += 1
        given = {name: Expr(nodes.Literal(value, 0, 0), _SOURCE) for name, value in values.items()}
        expected = _reference(refused) if refused else ()
        run = TestRun("x", "plan", Span(_SOURCE, 0, 0), variables=given, expected=expected)
        result = TestFileResult.of(evolve(self.file, runs=(run,)))
        runner = FileRunner(result, self.subjects, _Nobody(), lambda: False, covers=True)
        runner.carry_out()
        self.subjects.forget()
        (it,) = result.runs
        _, outputs = runner.outputs.by_run.get(0, ("", {}))
        reached = frozenset(way for one in result.reached for way in one)
        return _Tried(it.status, tuple(d for d in it.diagnostics if d.is_error), reached, outputs)


def _name(variable: str, value: Value) -> str:
    """A name for a run with this value."""
    text = value if value.__class__ is str else {True: "true", False: "false"}.get(value, "") if _is_bool(value) else ""
    if isinstance(value, int) and not _is_bool(value):
        text = f"minus_{-value}" if value < 0 else str(value)
    slug = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")[:30]
    return f"{variable}_{slug}" if slug else f"other_{variable}"


def _is_bool(value: Value) -> bool:
    return value.__class__ is bool


def _reference(variable: str) -> tuple[Reference, ...]:
    body, _, _ = load_text(f"x = [var.{variable}]".encode(), "x.hcl")
    assert body is not None
    attributes, _ = body.just_attributes()
    return references(attributes["x"], Problems())


# ---------------------------------------------------------------- providers


def _mocks(config: Config) -> tuple[list[tuple[str, str]], list[str]]:
    """(local name, alias) of each provider configuration to mock, and remarks about providers that cannot be mocked.
    The alias "" means the default configuration, which is mocked even if it has no block. The name `terraform` is
    included if the configuration reads states."""
    root = config.root
    pairs: list[tuple[str, str]] = []
    remarks: list[str] = []
    for source in sorted(needed_providers(config).started - {BUILTIN}):
        names = list(_local_names(root, source))
        if not names:
            remarks.append(f"The root module has no local name for the provider {source}, so it is not mocked.")
        for name in names:
            aliases = {b.alias or "" for b in root.providers.values() if b.name == name} | {""}
            pairs += [(name, alias) for alias in sorted(aliases)]
    if any(r.type == "terraform_remote_state" for module in root.walk() for r in module.resources.values()):
        pairs.append(("terraform", ""))
    for module in root.walk():
        if module.path and module.providers:
            place = ".".join(f"module.{name}" for name in module.path)
            remarks.append(f"{place} has provider blocks: these providers are not mocked.")
    return pairs, remarks


def _local_names(root: ModuleConfig, source: str) -> Iterator[str]:
    named = [name for name, required in root.required_providers.items() if required.source == source]
    used = {resource.provider_name for resource in root.resources.values()}
    used |= {block.name for block in root.providers.values()} | {source.rpartition("/")[2]}
    yield from named or [name for name in sorted(used) if root.provider_source(name) == source]


def _mock(named: tuple[str, str]) -> ProviderDecl:
    name, alias = named
    body, source, _ = load_text(b"", "x.hcl")
    assert body is not None
    span = Span(source, 0, 0)
    return ProviderDecl(name, alias or None, None, body, span, span, mocking=Mocking())


# ---------------------------------------------------------------- outputs


def _plain(root: ModuleConfig, outputs: Mapping[str, Value]) -> Iterator[tuple[str, Value]]:
    """(name, value) for the outputs that can be asserted: known strings, booleans or integers that are not sensitive
    and depend only on variables, locals and pure functions."""
    for name in sorted(outputs):
        decl, (value, marks) = root.outputs[name], unmark_deep(outputs[name])
        if marks or not is_wholly_known(value) or is_null(value) or not isinstance(value, str | int):
            continue
        if _is_pure(root, decl.value, set()):
            yield name, value


def _is_pure(root: ModuleConfig, expr: Expr, seen: set[str]) -> bool:
    if any(call.name in _IMPURE or "::" in call.name for call in function_calls(expr.node)):
        return False
    for mention in variables(expr.node):
        if not isinstance(mention, nodes.Traversal) or not isinstance(mention.steps[0], nodes.GetAttr):
            return False
        name = mention.steps[0].name
        if mention.root == "local" and name in root.locals:
            if name not in seen and not _is_pure(root, root.locals[name].expr, seen | {name}):
                return False
        elif mention.root != "var":
            return False
    return True
