"""Reads the blocks of a fleet's file and of the files that it includes, and defines the allowed content of each
block."""

from __future__ import annotations

import os
from glob import glob

from planner.foundation.support.disk import read_whole, replace_file
from planner.foundation.support.exact_json import orjson
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.directory import is_module
from planner.language.config.model import Expr
from planner.language.config.reading import Problems, expr_of, read
from planner.language.syntax.body import Block, BodySchema, ExpectedBlock
from planner.language.syntax.files import load_file
from planner.workflows.batch import FOLDER
from planner.workflows.batch.file_recipe import ARGUMENTS, BLOCKS, GeneratedFile
from planner.workflows.batch.model import Unit
from planner.workflows.batch.record import make_folder
from planner.workflows.batch.root_modules import UNKNOWN, StackFolder, stack_folder, units_of

FILE = BodySchema(
    {},
    (
        ExpectedBlock("unit", ("name",)),
        ExpectedBlock("units", ("pattern",)),
        ExpectedBlock("group", ("name",)),
        ExpectedBlock("template", ("name",)),
        ExpectedBlock("removed", ("unit",)),
        ExpectedBlock("include", ("file",)),
        ExpectedBlock("locals"),
    ),
)
_COMMON = {"tags": False, "variables": False, "var_files": False, "workspace": False, **ARGUMENTS}
UNIT = BodySchema(
    {**_COMMON, "path": False, "inputs": False, "depends_on": False, "for_each": False, "template": False}, BLOCKS
)
UNITS = BodySchema(_COMMON, BLOCKS)
GROUP = BodySchema(
    {
        "for_each": False,
        "units": True,
        "tags": False,
        "variables": False,
        "var_files": False,
        "inputs": False,
        **ARGUMENTS,
    },
    BLOCKS,
)
REMOVED = BodySchema({"action": True})
_NOTHING = BodySchema()
MOST = 1000
"""maximum number of included files"""


@frozen
class BatchFileParts:
    """The content of a fleet's file and of the files that it includes. `text`: the text of all these files, separated
    by null characters. `also`: the paths of the included files."""

    text: str
    blocks: list[Block]
    locals: dict[str, Expr] = field(factory=dict)
    also: tuple[str, ...] = ()


def gathered(path: str, root: str, problems: Problems) -> BatchFileParts | None:
    """The parts of a file and of the files that it includes; None if one of the files is invalid, or if an error is
    found before an included file is read. Errors in the last file, such as duplicate locals, are only added to
    `problems`."""
    texts: list[str] = []
    blocks: list[Block] = []
    local: dict[str, Expr] = {}
    waiting = [(os.path.abspath(path), os.path.relpath(path))]
    read_already: list[str] = []
    while waiting:
        file, shown = waiting.pop(0)
        if file in read_already:
            continue
        if len(read_already) > MOST:
            problems.error("includes", "Too many files", f"A fleet file can include at most {MOST} other files.")
            break
        read_already.append(file)
        body, source, wrong = load_file(file, shown)
        problems.extend(wrong)
        if body is None or problems.has_errors:
            return None
        texts.append(source.text)
        for block in read(body, FILE, problems).blocks:
            if block.type == "include":
                read(block.body, _NOTHING, problems)
                waiting += _included(block.labels[0].value, file, root, block.header_span, problems)
            elif block.type == "locals":
                attributes, wrong = block.body.just_attributes()
                problems.extend(wrong)
                for name, attribute in attributes.items():
                    if name in local:
                        detail = f"The local value {name} is already declared at {local[name].span}."
                        problems.error("duplicate_local", "Duplicate local value", detail, attribute.name_span)
                    local[name] = expr_of(attribute, problems)
            else:
                blocks.append(block)
    return BatchFileParts("\0".join(texts), blocks, local, tuple(read_already[1:]))


def _included(pattern: str, file: str, root: str, span: Span, problems: Problems) -> list[tuple[str, str]]:
    """The files below the root that match a pattern, as (path, path for messages). The pattern is relative to the
    including file."""
    folder, real = os.path.dirname(file), os.path.realpath(root)
    result = sorted(glob(os.path.join(folder, pattern), recursive=True)) if "\0" not in pattern else []
    files = [name for name in result if os.path.isfile(name)]
    if not files:
        problems.error("no_include", "Nothing to include", f"No file matches {pattern} here.", span)
    allowed = []
    for name in files:
        if not os.path.realpath(name).startswith(f"{real}{os.sep}"):
            detail = f"{name} lies outside {root}, and only files below the fleet's root are included."
            problems.error("include_outside", "File outside of the fleet", detail, span)
            continue
        allowed.append((os.path.normpath(name), os.path.relpath(name)))
    return allowed


# Files that a fleet's file generates in units. Generated files have a mark, and are removed when they are no longer
# generated.


MARK = "Written by planner from planner.batch.hcl, and written again with every run."
_LIST = os.path.join(FOLDER, "generated.json")


def has_mark(path: str) -> bool:
    """Whether planner wrote a file, so that planner may overwrite it."""
    return ends_with_mark(path, MARK)


def write_files(root: str, wanted: dict[str, GeneratedFile], problems: Problems) -> None:
    """Write generated files (`wanted`: {path relative to the root: file}), and remove files of earlier runs that are no
    longer generated. Reports an error if a file without the mark already exists, unless `if_exists` permits this."""
    before = _generated_files(root)
    if not wanted and not before:
        return
    for path, file in sorted(wanted.items()):
        try:
            _write(os.path.join(root, path), path, file, problems)
        except OSError as problem:
            detail = f"{path}: {problem.strerror or problem}."
            problems.error("generated", "A file cannot be generated", detail, file.span)
    try:
        for path in sorted(before - wanted.keys()):
            whole = os.path.join(root, path)
            if has_mark(whole):
                os.unlink(whole)
        if set(wanted) != before:
            make_folder(root)
            replace_file(os.path.join(root, _LIST), orjson.dumps(sorted(wanted)))
    except OSError as problem:
        detail = f"{problem.filename or _LIST}: {problem.strerror or problem}."
        problems.error("generated", "Generated files cannot be tracked", detail)


def _write(path: str, shown: str, file: GeneratedFile, problems: Problems) -> None:
    data = f"{file.comment}{MARK}\n{file.text}".encode("utf-8", "surrogatepass")
    if os.path.lexists(path) and not has_mark(path):
        if file.if_exists == "skip":
            return
        if file.if_exists == "error":
            detail = f"{shown} exists already, and planner did not write it. Set if_exists to overwrite or skip."
            problems.error("exists", "A file would be overwritten", detail, file.span)
            return
    try:
        if not os.path.islink(path) and read_whole(path) == data:
            return
    except OSError:
        pass
    if os.path.islink(path):
        os.unlink(path)  # keep the link's target unchanged
    replace_file(path, data)


def _generated_files(root: str) -> set[str]:
    try:
        result = orjson.loads(read_whole(os.path.join(root, _LIST)))
    except (OSError, orjson.JSONDecodeError):
        return set()
    paths = result if isinstance(result, list) else []
    return {p for p in paths if isinstance(p, str) and not os.path.isabs(p) and ".." not in p.split("/")}


# Stacks in a fleet's file: a `unit` block for a stack represents all of its deployments.


def stack_of(root: str, folder: str) -> StackFolder | None:
    """The stack in the directory of a block. None if the directory has no stack, or if it is a root module."""
    path = os.path.join(root, folder)
    return stack_folder(path) if os.path.isdir(path) and not is_module(path) else None


def deployed(unit: Unit, stack: StackFolder, span: Span, problems: Problems) -> list[Unit]:
    """The units for the deployments of a stack, based on the `unit` of the block that names the stack. A single unit if
    the deployments are unknown."""
    if unit.variables or unit.var_files or unit.workspace:
        refuse_values(unit.name, span, problems)
    result = units_of(unit.name, unit.folder, stack.deployments or (UNKNOWN,)).values()
    return [evolve(unit, name=one.name, called=one.called, deployment=one.deployment) for one in result]


def refuse_values(name: str, span: Span, problems: Problems) -> None:
    """Report a block that sets variables or inputs for a stack."""
    detail = (
        f"{name} is a stack: the inputs of its deployments come from its own files (locals, stores, upstream_input). "
        "Remove variables, var_files, inputs and workspace."
    )
    problems.error("stack_inputs", "Stacks do not accept values", detail, span)


def warn_of_group(name: str, span: Span, problems: Problems) -> None:
    """Report a group that sets variables or variable files for a deployment."""
    detail = f"{name} is a deployment of a stack, and variables of groups apply only to root modules."
    problems.warning("stack_inputs", "Stacks do not accept values", detail, span)


# Ownership of a generated file: the first line ends with the mark of the program that wrote it.

MOST_OF_MARK = 4096
"""maximum number of bytes of the first line to examine"""


def ends_with_mark(path: str, mark: str) -> bool:
    """Whether the first line of a file ends with a mark; False for links."""
    if os.path.islink(path):
        return False
    try:
        line = read_whole(path).split(b"\n", 1)[0][:MOST_OF_MARK]
    except OSError:
        return False
    return line.decode("utf-8", "replace").strip().endswith(mark)
