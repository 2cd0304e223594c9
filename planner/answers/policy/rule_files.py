"""Reads users' rule files and cases, and checks them together with the product's rules. Work that may take arbitrarily
long runs in a process with limits of time and memory."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from planner.answers.policy import rulebook
from planner.answers.policy.manifest import MANIFEST
from planner.answers.policy.packs import gather
from planner.answers.policy.sources import policy_files
from planner.foundation.support.disk import read_whole
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors, warning
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.span import Source, Span
from planner.language.syntax.rule_parse import parse_rules
from planner.language.syntax.rule_syntax import Declaration, Directive, RuleSyntax, TypeDeclaration, Want
from planner.logic.datalog.engine.cache import load_program
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language.link import expand_alternatives
from planner.logic.datalog.language.model import atoms
from planner.logic.datalog.tools.suite import bounded

LOAD_SECONDS = 30.0
"""time limit for parsing, checking and compiling the rules of a program, in seconds"""
MOST_DIAGNOSTICS = 100
"""maximum number of diagnostics that are shown"""
MOST_BYTES = 4 << 20
"""maximum size of all files together, in bytes"""

_REASONS = {
    errno.EFBIG: f"The rule files are too large: together they must not exceed {MOST_BYTES >> 20} MiB",
    errno.EINVAL: "It is not a regular file",
}

Files = list[tuple[str, str]]
T = TypeVar("T")


LONGEST_LINE = 100_000
"""maximum length of a line in characters; the length is limited because diagnostics count columns and quote lines"""
OWN_FOLDER = os.path.join(".planner", "rules")
"""the directory with the rules of a configuration"""


def default_words() -> list[str]:
    """The directory with the configuration's rules if it exists, otherwise the working directory."""
    return [OWN_FOLDER] if os.path.isdir(OWN_FOLDER) else ["."]


# ---------------------------------------------------------------- reading


def read_files(words: Iterable[str], endings: tuple[str, ...]) -> tuple[Files, list[Diagnostic]]:
    """((name, text) of files, problems). The files are sorted and contain no duplicates. A directory means all files in
    and below it with these endings, except hidden files and directories. For rules (`.dl`), the whole pack that
    contains a named file or directory, and the packs below it, are included."""
    files: dict[str, str] = {}
    problems: list[Diagnostic] = []
    words = [*words]
    for root in _packs_among(words) if endings == (".dl",) else ():
        more, wrong = pack_files(root)
        files.update(more)
        problems += wrong
    left = MOST_BYTES - sum(map(len, files.values()))
    for path in _paths(words, endings, problems):
        if path in files:
            continue
        try:
            data = read_whole(path, left)
            left -= len(data)
            files[path] = _text(data)
        except UnicodeDecodeError as problem:
            detail = f"The file is not valid UTF-8: invalid byte at offset {problem.start}."
            problems.append(error("file.encoding", f"Cannot read {path}", detail))
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or str(problem)
            reason = _REASONS.get(getattr(problem, "errno", 0), reason)
            problems.append(error("file.unreadable", f"Cannot read {path}", f"{reason}."))
    return list(files.items()), problems


def _packs_among(words: Iterable[str]) -> list[str]:
    """The directories of the packs that contain a named file or directory, or that are below a named directory."""
    roots: dict[str, None] = {}
    for word in words:
        at = os.path.normpath(word)
        root = pack_root(at if os.path.isdir(at) else os.path.dirname(at))
        roots.update(dict.fromkeys([root] if root is not None else []))
        if not os.path.isdir(at):
            continue
        for folder, folders, names in os.walk(at):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            if MANIFEST in names:
                roots[os.path.normpath(folder)] = None
    return list(roots)


def _paths(words: Iterable[str], endings: tuple[str, ...], problems: list[Diagnostic]) -> Iterator[str]:
    for word in words:
        path = os.path.normpath(word)
        if not os.path.isdir(path):
            yield path
            continue
        paths = []
        for folder, folders, names in os.walk(path):
            folders[:] = [name for name in folders if not name.startswith(".")]
            paths += [os.path.normpath(os.path.join(folder, n)) for n in names if n.endswith(endings) and n[0] != "."]
        if not paths:
            detail = f"There is no file with the ending {' or '.join(endings)} in {path}."
            problems.append(error("rules.no_files", "Nothing to read", detail))
        yield from sorted(paths)


def _text(data: bytes) -> str:
    """The text of a file. Raises ValueError if a line is too long."""
    text = data.decode("utf-8")
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > LONGEST_LINE:
            raise ValueError(f"Line {number} has more than {LONGEST_LINE} characters")
    return text


# ---------------------------------------------------------------- loading


def _names(file: tuple[str, str]) -> tuple[set[str], set[str]]:
    """(declared predicates and types, used predicates and types) of a file of rules or cases."""
    declared: set[str] = set()
    mentioned: set[str] = set()
    for statement in parse_rules(*file)[0].statements:
        if isinstance(statement, RuleSyntax):
            bodies, _ = expand_alternatives(statement)
            mentioned |= {statement.head.predicate, *(atom.predicate for body in bodies for atom, _ in atoms(body))}
        elif isinstance(statement, Want):
            mentioned |= {*(atom.predicate for atom in statement.atoms), *(name.text for name in statement.none)}
        elif isinstance(statement, Directive):
            mentioned |= {name.text for name in statement.names}
        elif isinstance(statement, Declaration):
            declared.add(statement.name.text)
            mentioned |= {name.text for name in statement.inputs}
            mentioned |= {f".type {column.type.text}" for column in statement.columns}
        elif isinstance(statement, TypeDeclaration):
            declared.add(f".type {statement.name.text}")
            mentioned.add(f".type {statement.base.text}")
    return declared, mentioned


def choose(files: Files) -> str:
    """The product's program that declares most of the predicates which the files use without declaring them."""
    names = [_names(file) for file in files if file[0].endswith((".dl", ".case"))]
    wanted = {name for _, mentioned in names for name in mentioned} - {name for own, _ in names for name in own}
    known = {name: len(wanted & set(rulebook.program(name).predicates)) for name in rulebook.PROGRAMS}
    return max(known, key=lambda name: known[name])  # if several programs have the same count, the first is chosen


def about(case: tuple[str, str], rules: Files) -> Files:
    """The files that a case file tests. The first of them is the rule file with the same name as the case file. The
    others are the rule files that declare relations which this rule file or the cases read, directly or indirectly, all
    files that are not rule files, and the files of other packs. If no rule file has the same name, all files are
    returned."""
    namesake = f"{case[0].removesuffix('.case')}.dl"
    names = {file[0]: _names(file) for file in rules if file[0].endswith(".dl")}
    if namesake not in names:
        return rules
    wanted = names[namesake][1] | _names(case)[1]
    needed = {namesake}
    while more := {path for path, (declared, _) in names.items() if path not in needed and declared & wanted}:
        needed |= more
        wanted |= {name for path in more for name in names[path][1]}
    root = pack_root(os.path.dirname(namesake))
    for file, _text in rules:  # add files other than rules, and files of packs from which the case file's pack imports
        if not file.endswith(".dl") or (root is not None and not is_below(file, root)):
            needed.add(file)
    return [file for file in rules if file[0] in needed]


def load(files: Files, name: str) -> tuple[RuleProgram | None, list[Diagnostic]]:
    """(program, diagnostics): the product's program `name` together with these files; None if there are errors. The
    files must not change the declarations of the program."""
    core = rulebook.program(name).files
    names = {file for file, _text in core}
    # a user's file may have the name of a product file
    own = [(f"./{file}" if file in names else file, text) for file, text in files]
    try:
        packs = gather(tuple(own))
    except Failure as failure:
        return None, failure.diagnostics
    program, diagnostics = load_program([*core, *packs.rules], names, packs.made, None, packs.spaces)
    if program is not None:
        diagnostics = [*diagnostics, *packs.check(program)]
    return program, [d for d in diagnostics if d.is_error or d.subject is None or d.subject.filename not in names]


@frozen
class CheckedFiles:
    """The name of the program with which files were checked, and the problems that were found."""

    program: str
    diagnostics: list[Diagnostic]


def check(rules: Files, name: str = "", cases: Files | None = None) -> CheckedFiles:
    """Check rules together with the product's program of this name. If `name` is "", the program is chosen for which
    the rules and `cases` are written (see `choose`)."""

    def work() -> tuple[str, list[Diagnostic]]:
        named = name or choose([*rules, *(cases or ())])
        return named, first(load(rules, named)[1])

    try:
        if name:
            rulebook.program(name)  # raises Failure for an unknown program
        named, diagnostics = limited(work)
    except Failure as failure:
        return CheckedFiles(name, failure.diagnostics)
    core = rulebook.program(named).files
    return CheckedFiles(named, placed(diagnostics, [*rules, *core]))


def first(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics. If there are more than MOST_DIAGNOSTICS, the result contains only the first of them, errors
    before warnings, and a diagnostic with the number of the others."""
    more = len(diagnostics) - MOST_DIAGNOSTICS
    if more <= 0:
        return diagnostics
    kept = sorted(diagnostics, key=lambda d: not d.is_error)[:MOST_DIAGNOSTICS]
    make = error if has_errors(kept) else warning
    return [*kept, make("rules.more", "Not everything is shown", f"{more} more errors and warnings are not shown.")]


def limited(work: Callable[[], T]) -> T:
    """The result of `work`, which loads rules. Raises Failure if `work` exceeds the limits of time or memory."""

    def guarded() -> T:
        try:
            return work()
        except RecursionError:
            raise Failure(_too_much("depth")) from None

    return bounded(guarded, LOAD_SECONDS, _too_much)


def _too_much(what: str) -> Diagnostic:
    limit = {
        "time": f"within {LOAD_SECONDS:g} seconds",
        "memory": "in the memory that is available to them",
        "depth": "because something in them is nested too deeply",
    }[what]
    detail = f"The rules could not be read and checked {limit}. Make the files smaller, or the rules simpler."
    return error(f"rules.{what}", "Rules too large", detail)


def placed(diagnostics: Iterable[Diagnostic], files: Iterable[tuple[str, str]]) -> list[Diagnostic]:
    """The diagnostics from another process, with their source texts added, because the other process leaves the texts
    out."""
    sources = {name: Source(name, text) for name, text in files}
    sources |= {f"./{name}": Source(f"./{name}", source.text) for name, source in sources.items()}
    return [
        evolve(d, subject=Span(sources[d.subject.filename], d.subject.start, d.subject.end)) if d.subject else d
        for d in diagnostics
    ]


# ---------------------------------------------------------------- packs


def pack_root(folder: str) -> str | None:
    """The innermost pack directory that contains a directory; None if there is none."""
    at = os.path.abspath(folder)
    while not os.path.isfile(os.path.join(at, MANIFEST)):
        if os.path.dirname(at) == at:
            return None
        at = os.path.dirname(at)
    return os.path.normpath(os.path.relpath(at)) if not os.path.isabs(folder) else at


def pack_files(root: str) -> tuple[Files, list[Diagnostic]]:
    """(files of a pack and of the packs from which it imports, problems)."""
    try:
        return [(os.path.normpath(name), text) for name, text in policy_files([root])], []
    except Failure as failure:
        return [], failure.diagnostics


def is_below(path: str, root: str) -> bool:
    """Whether a file is in a directory or below it."""
    return root == os.curdir or path.startswith(f"{root}{os.sep}")
