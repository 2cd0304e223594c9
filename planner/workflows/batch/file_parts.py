"""The blocks of a fleet's file and of those that it includes, and what each may contain."""

from __future__ import annotations

import os
from glob import glob

from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Expr
from planner.language.config.reading import Problems, expr_of, read
from planner.language.syntax.body import Block, BodySchema, ExpectedBlock
from planner.language.syntax.files import load_file
from planner.workflows.batch.file_recipe import ARGUMENTS, BLOCKS

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
"""files that one may include"""


@frozen
class BatchFileParts:
    """What the files contain. `text` is all that was read, `also` the files besides the first."""

    text: str
    blocks: list[Block]
    locals: dict[str, Expr] = field(factory=dict)
    also: tuple[str, ...] = ()


def gathered(path: str, root: str, problems: Problems) -> BatchFileParts | None:
    """The parts of a file and of what it includes; None when the first one cannot be read."""
    texts: list[str] = []
    blocks: list[Block] = []
    local: dict[str, Expr] = {}
    waiting = [(os.path.abspath(path), os.path.relpath(path))]
    read_already: list[str] = []
    while waiting:
        file, shown = waiting.pop(0)
        if file in read_already:
            continue
        if len(read_already) >= MOST:
            problems.error("includes", "Too many files", f"A fleet's file includes at most {MOST} others.")
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
                        detail = f"The local value {name} stands at {local[name].span} already."
                        problems.error("duplicate_local", "Duplicate local value", detail, attribute.name_span)
                    local[name] = expr_of(attribute, problems)
            else:
                blocks.append(block)
    return BatchFileParts("\0".join(texts), blocks, local, tuple(read_already[1:]))


def _included(pattern: str, file: str, root: str, span: Span, problems: Problems) -> list[tuple[str, str]]:
    """The files that a pattern means, as seen from the file that includes them. They have to be below the root."""
    folder, real = os.path.dirname(file), os.path.realpath(root)
    found = sorted(glob(os.path.join(folder, pattern), recursive=True)) if "\0" not in pattern else []
    files = [name for name in found if os.path.isfile(name)]
    if not files:
        problems.error("no_include", "Nothing to include", f"No file is called {pattern} here.", span)
    allowed = []
    for name in files:
        if not os.path.realpath(name).startswith(f"{real}{os.sep}"):
            detail = f"{name} lies outside {root}, and only files below the fleet's root are included."
            problems.error("include_outside", "File lies outside", detail, span)
            continue
        allowed.append((os.path.normpath(name), os.path.relpath(name)))
    return allowed
