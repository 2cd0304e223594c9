"""The files that a fleet's file generates in units, with a mark; those that nobody asks for any more go."""

from __future__ import annotations

import os

from planner.foundation.support.disk import read_whole, replace_file
from planner.foundation.support.fast_json import orjson
from planner.language.config.reading import Problems
from planner.workflows.batch import FOLDER
from planner.workflows.batch.file_recipe import GeneratedFile
from planner.workflows.batch.generated_marks import ends_with_mark
from planner.workflows.batch.record import make_folder

MARK = "Written by planner from planner.batch.hcl, and written again with every run."
_LIST = os.path.join(FOLDER, "generated.json")


def has_mark(path: str) -> bool:
    """Whether planner wrote a file."""
    return ends_with_mark(path, MARK)


def write_files(root: str, wanted: dict[str, GeneratedFile], problems: Problems) -> None:
    """Write files, by their paths as seen from the root; what is in the way is reported."""
    before = _listed(root)
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
        problems.error("generated", "Generated files cannot be looked after", detail)


def _write(path: str, shown: str, file: GeneratedFile, problems: Problems) -> None:
    data = f"{file.comment}{MARK}\n{file.text}".encode("utf-8", "surrogatepass")
    if os.path.lexists(path) and not has_mark(path):
        if file.if_exists == "skip":
            return
        if file.if_exists == "error":
            detail = f"{shown} is there already, and planner did not write it. if_exists says what to do."
            problems.error("exists", "A file would be overwritten", detail, file.span)
            return
    try:
        if not os.path.islink(path) and read_whole(path) == data:
            return
    except OSError:
        pass
    if os.path.islink(path):
        os.unlink(path)  # what it leads to is somebody else's
    replace_file(path, data)


def _listed(root: str) -> set[str]:
    try:
        found = orjson.loads(read_whole(os.path.join(root, _LIST)))
    except (OSError, orjson.JSONDecodeError):
        return set()
    paths = found if isinstance(found, list) else []
    return {p for p in paths if isinstance(p, str) and not os.path.isabs(p) and ".." not in p.split("/")}
