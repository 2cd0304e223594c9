"""Reads a unit's terragrunt.hcl with the files that it includes, and creates the unit's working directory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.types import STRING
from planner.foundation.values.value import (
    List,
    Map,
    Null,
    Set,
    Unknown,
    Value,
    is_null,
    is_wholly_known,
    unmark,
    unmark_deep,
)
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, warning
from planner.foundation.vocabulary.records import define, field
from planner.foundation.vocabulary.span import Span
from planner.language.config.directory import is_module
from planner.workflows.batch.recipe import Hook, Retry, Role
from planner.workflows.batch.terragrunt.document import AGAIN
from planner.workflows.batch.terragrunt.frame import Frame
from planner.workflows.batch.terragrunt.generated import GenerateBlock, backend_file, generated
from planner.workflows.batch.terragrunt.merge import entries
from planner.workflows.batch.terragrunt.session import DependencyBlock, UnitSession
from planner.workflows.batch.terragrunt.sources import is_local, locate
from planner.workflows.batch.terragrunt.working_directory import Copy, prepare, working_directory

_NOT_RUN = ("read-config", "init-from-module", "terragrunt-read-config")
_IGNORED = ("engine",)


@define(eq=False)
class UnitReading:
    """The result of reading a unit. `problems`: errors because of which the unit cannot run."""

    session: UnitSession
    frame: Frame | None = None
    source: str = ""
    download: str = ""
    working: str = ""
    hooks: list[Hook] = field(factory=list)
    retries: list[Retry] = field(factory=list)
    environment: dict[str, str] = field(factory=dict)
    arguments: list[tuple[str, str, tuple[str, ...]]] = field(factory=list)
    excludes: tuple[tuple[str, ...], bool, Span] | None = None
    keeps: bool = False
    role: Role | None = None
    copies_lock: bool = True
    is_late: bool = False
    """whether generated files, hooks or extra arguments depend on unknown outputs of other units"""
    problems: list[Diagnostic] = field(factory=list)
    remarks: list[Diagnostic] = field(factory=list)

    @property
    def dependencies(self) -> list[DependencyBlock]:
        return [item for item in self.session.dependencies.values() if item.is_enabled]

    @property
    def home(self) -> str:
        return os.path.dirname(self.session.config)


def read_unit(session: UnitSession) -> UnitReading:
    """Read the unit of a session. Errors are in the `problems` of the result."""
    reading = UnitReading(session)
    try:
        reading.frame = Frame(session, session.config)
    except Failure as failure:
        reading.problems += failure.diagnostics
        return reading
    for part in (_dependencies, _terraform, _exclude, _errors, _scalars, _inputs):
        try:
            part(reading, reading.frame)
        except Failure as failure:
            reading.problems += [d for d in failure.diagnostics if d not in reading.problems]
    return reading


def make_working(reading: UnitReading) -> None:
    frame = reading.frame
    reading.working = working_directory(reading.home, reading.source, reading.download)
    if frame is None:
        return
    try:
        block = _block(frame, "terraform")
        span = _span(frame, "terraform")
        package = None
        if reading.source:
            version = str(block.get("version", "")) if not is_null(block.get("version")) else ""
            package = locate(reading.source, reading.home, version, reading.session.library, span)
            if is_local(reading.source, reading.home) and os.path.realpath(
                os.path.join(package.folder, package.sub)
            ) == os.path.realpath(reading.home):
                package, reading.working = None, reading.home
        copy = Copy(_texts(block.get("include_in_copy")), _texts(block.get("exclude_from_copy")))
        prepare(reading.working, package, reading.home, copy, generated_files(reading, frame))
    except Failure as failure:
        reading.problems += [d for d in failure.diagnostics if d not in reading.problems]
    except OSError as problem:
        detail = f"{problem.filename or reading.working}: {problem.strerror or problem}."
        reading.problems.append(error("terragrunt.working", "The working directory cannot be created", detail))
    if not os.path.isdir(reading.working):
        os.makedirs(reading.working, exist_ok=True)  # created now, so that problems with it are reported


def has_configuration(reading: UnitReading) -> bool:
    """Whether a unit has a configuration to run: a source, or configuration files next to its Terragrunt file."""
    return bool(reading.source) or is_module(reading.home)


# ---------------------------------------------------------------- parts


def _dependencies(reading: UnitReading, frame: Frame) -> None:
    session = reading.session
    frame.dependencies()
    included = () if frame.is_broken else frame.includes().values()
    for one in (*(i.frame for i in included if i.strategy != "no_merge"), frame):
        part = one.root.one("dependencies")
        if part is None:
            continue
        expr = part.attributes["paths"]
        for path in _known_texts(one.evaluate(expr), expr.span):
            target = session.library.place(os.path.join(frame.folder, path))
            session.orders.setdefault(target, part.header)


def _terraform(reading: UnitReading, frame: Frame) -> None:
    block = _block(frame, "terraform")
    span = _span(frame, "terraform")
    if not is_null(block.get("source", Null())):
        reading.source = _text(block["source"], "terraform.source", span)
    reading.copies_lock = block.get("copy_terraform_lock_file") is not False
    for when in ("before", "after", "error"):
        for name, hook in sorted(entries(block.get(f"{when}_hook")).items()):
            _hook(reading, name, when, hook, span)
    for name, extra in entries(block.get("extra_arguments")).items():
        _extra(reading, name, extra, span)


def _hook(reading: UnitReading, name: str, when: str, hook: Mapping[str, Value], span: Span) -> None:
    if hook.get("if") is False:
        return
    if not is_wholly_known(dict(hook)):
        reading.is_late = True
        return
    commands = _known_texts(hook["commands"], span)
    for command in commands:
        if command in _NOT_RUN:
            detail = f"The hook {name} is not run for {command}: planner reads and fetches configuration itself."
            reading.remarks.append(warning("terragrunt.hook", "Hook skipped", detail, span))
    words = _known_texts(hook["execute"], span)
    if not words:
        raise Failure(
            error("terragrunt.hook", "Hook without a program", f'The argument "execute" of {name} is empty.', span)
        )
    folder = hook.get("working_dir")
    reading.hooks.append(
        Hook(
            name.partition(AGAIN)[0],
            when,
            tuple(command for command in commands if command not in _NOT_RUN),
            words,
            "" if folder is None or is_null(folder) else _text(folder, "working_dir", span),
            _known_texts(hook.get("on_errors", ()), span),
            hook.get("run_on_error") is True,
        )
    )


_FLAGS_WITHOUT_MEANING = ("-input", "-no-color", "-compact-warnings", "-auto-approve", "-lock-timeout", "-parallelism")


def _extra(reading: UnitReading, name: str, extra: Mapping[str, Value], span: Span) -> None:
    if not is_wholly_known(dict(extra)):
        reading.is_late = True
        return
    commands = _known_texts(extra["commands"], span)
    for path in _known_texts(extra.get("required_var_files", ()), span):
        reading.arguments.append(("var-file", path, commands))
    for path in _known_texts(extra.get("optional_var_files", ()), span):
        if reading.session.is_file(os.path.join(reading.home, path)):
            reading.arguments.append(("var-file", path, commands))
    for key, value in sorted(entries(extra.get("env_vars")).items()):
        reading.environment[key] = _text(value, f"env_vars.{key}", span)
    words = list(_known_texts(extra.get("arguments", ()), span))
    while words:
        word = words.pop(0)
        flag, equals, value = word.partition("=")
        flag = "-" + flag.lstrip("-")
        if flag in ("-var", "-var-file"):
            text = value if equals else words.pop(0) if words else ""
            reading.arguments.append((flag[1:], text.strip("'"), commands))
        elif flag not in _FLAGS_WITHOUT_MEANING and word.strip():
            detail = f"The extra argument {word} of {name} is not passed on: use the options of planner."
            reading.remarks.append(warning("terragrunt.argument", "Unknown extra argument", detail, span))


def _exclude(reading: UnitReading, frame: Frame) -> None:
    block, span = _block(frame, "exclude"), _span(frame, "exclude")
    if block and block.get("if") is True:
        actions = _known_texts(block["actions"], span)
        reading.excludes = actions, block.get("exclude_dependencies") is True, span
    if _scalar(frame, "skip") is True:
        reading.excludes = ("all",), False, _span(frame, "skip")


def _errors(reading: UnitReading, frame: Frame) -> None:
    block, span = _block(frame, "errors"), _span(frame, "errors")
    for _, retry in sorted(entries(block.get("retry")).items()):
        patterns = _patterns(_known_texts(retry["retryable_errors"], span), span)
        times, pause = retry["max_attempts"], retry["sleep_interval_sec"]
        if times.__class__ is not int or pause.__class__ is not int:
            raise Failure(error("terragrunt.retry", "Not a number", "Expected whole numbers.", span))
        reading.retries.append(Retry(patterns, times, float(pause)))
    for name in entries(block.get("ignore")):
        detail = f"errors.ignore.{name} has no effect: planner does not ignore errors of units."
        reading.remarks.append(warning("terragrunt.ignore", "Errors are not ignored", detail, span))
    former = _scalar(frame, "retryable_errors")
    if former is not None:
        times, pause = _scalar(frame, "retry_max_attempts"), _scalar(frame, "retry_sleep_interval_sec")
        patterns = _patterns(_known_texts(former, _span(frame, "retryable_errors")), span)
        reading.retries.append(
            Retry(patterns, times if times.__class__ is int else 3, float(pause) if pause.__class__ is int else 5.0)
        )


def _patterns(patterns: tuple[str, ...], span: Span) -> tuple[str, ...]:
    for pattern in patterns:
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as problem:
            detail = f'"{pattern}" is not a regular expression: {problem}.'
            raise Failure(error("terragrunt.pattern", "Invalid pattern", detail, span)) from None
    return patterns


def _scalars(reading: UnitReading, frame: Frame) -> None:
    reading.keeps = _scalar(frame, "prevent_destroy") is True
    download = _scalar(frame, "download_dir")
    if download is not None:
        path = _text(download, "download_dir", _span(frame, "download_dir"))
        here = os.path.relpath(reading.home, reading.session.library.root)
        reading.download = os.path.join(os.path.normpath(os.path.join(reading.home, path)), "planner", here)
    arn = _scalar(frame, "iam_role")
    if arn not in (None, ""):
        seconds = _scalar(frame, "iam_assume_role_duration")
        session, token = (
            _scalar(frame, f"iam_{name}") or "" for name in ("assume_role_session_name", "web_identity_token")
        )
        span = _span(frame, "iam_role")
        reading.role = Role(
            _text(arn, "iam_role", span),
            _text(session, "iam_assume_role_session_name", span),
            seconds if seconds.__class__ is int else 0,
            _text(token, "iam_web_identity_token", span),
        )
    for name in _IGNORED:
        if _has(frame, name):
            detail = f"planner has no {name}s: the block {name} is not supported."
            reading.remarks.append(warning("terragrunt.ignored", "Block not supported", detail, _span(frame, name)))


def _inputs(reading: UnitReading, frame: Frame) -> None:
    unit_inputs(frame)  # reports errors in inputs before anything runs


def unit_inputs(frame: Frame) -> Value:
    """The inputs of the unit: an object, or an unknown value. Raises Failure."""
    value = frame.merged("inputs")
    if value.__class__ is Map:
        return dict(value.items)
    if value.__class__ is dict or unmark(value)[0].__class__ is Unknown:
        return value
    if is_null(value):
        return {}
    raise Failure(error("terragrunt.inputs", "Inputs must be an object", "Expected an object.", _span(frame, "inputs")))


def generated_files(reading: UnitReading, frame: Frame) -> list[GenerateBlock]:
    """The files that the `generate` and `remote_state` blocks of a unit define. Files of `generate` whose content
    depends on unknown outputs are left out; in this case, `reading.is_late` is set. Raises Failure."""
    result = []
    state = _block(frame, "remote_state")
    if state:
        state = entries(unmark_deep(state)[0])
        result.append(backend_file(state, _span(frame, "remote_state")))
    for name, block in sorted(entries(frame.merged("generate")).items()):
        if not is_wholly_known(block):
            reading.is_late = True
            continue
        made = generated(name, entries(unmark_deep(block)[0]), _span(frame, "generate", name))
        if made is not None:
            result.append(made)
    return result


# ---------------------------------------------------------------- helpers


def _frames(frame: Frame) -> Iterable[Frame]:
    if frame.before is not None:
        yield frame.before
    yield frame
    for include in reversed(list(frame.includes().values())):
        if include.strategy != "no_merge":
            yield include.frame


def _has(frame: Frame, name: str) -> bool:
    return any(name in one.root.attributes or name in one.root.blocks for one in _frames(frame))


def _span(frame: Frame, name: str, label: str = "") -> Span:
    """The place of an argument or block in a file or in the files that are merged with it. If none of them has it, the
    start of the file."""
    for one in _frames(frame):
        if name in one.root.attributes:
            return one.root.attributes[name].span
        for part in one.root.blocks.get(name, ()):
            if not label or part.label == label:
                return part.header
    return frame.root.span


def _block(frame: Frame, name: str) -> dict[str, Value]:
    return entries(frame.merged(name)) if _has(frame, name) else {}


def _scalar(frame: Frame, name: str) -> Any:
    if not _has(frame, name):
        return None
    value = frame.merged(name)
    return None if is_null(value) else value


def _text(value: Value, name: str, span: Span) -> str:
    value = unmark_deep(value)[0]
    if value.__class__ is Unknown:
        detail = f"{name} has to be known before planning, but depends on values that are not known yet."
        raise Failure(error("terragrunt.unknown", "Value is not known", detail, span))
    try:
        result = convert(value, STRING)
    except ConversionError as problem:
        raise Failure(error("terragrunt.type", "Unsuitable value", f"{name}: {problem}.", span)) from None
    return str(result)


def _texts(value: Value) -> tuple[str, ...]:
    items = value.items if value.__class__ in (List, Set) else value if value.__class__ is tuple else ()
    return tuple(item for item in items if item.__class__ is str)


def _known_texts(value: Value, span: Span) -> tuple[str, ...]:
    """The items of a list of strings; () for null. Raises Failure if the value is not such a list or contains unknown
    items."""
    items = value.items if value.__class__ in (List, Set) else value
    if is_null(value):
        return ()
    if items.__class__ is not tuple:
        raise Failure(error("terragrunt.type", "Unsuitable value", "Expected a list of strings.", span))
    return tuple(_text(item, "An item", span) for item in items)
