"""Policies and facts in Python, in addition to rule files.

from planner import policy

@policy.relation("team_of(address: symbol, team: symbol)")
def team_of(plan):
    "The team that owns an object."
    yield "aws_s3_bucket.logs", "core"

@policy.deny("no_owner")
def no_owner(plan):
    for change in plan.changes:
        if change.after and "owner" not in change.after.get("tags", {}):
            yield change.address, f"{change.address} has no owner"

The functions of a file receive the plan and yield rows; the rows are evaluated, recorded and proved like the facts of a
rule file, and rules may read the relations. A file is run only if it is named by `-policy=FILE.py`, the organisation's
settings or a program, never because it is in a directory or a pack.

A function that uses a value which is known only after apply is undecided. If the function defines a policy, the policy
then denies the object, and the message states the reason. If the function defines a relation, the function ends at the
use of the value, and policies that read the relation deny the plan (policies that warn are undecided until the apply).
A comparison with `is` or `match` also counts as a use, and a use has these effects even if the function catches the
exception. After the test `policy.is_unknown(value)`, the function continues, and the tested object is denied as
undecided unless the policy itself denies it. If a policy in a rule file depends on an unknown value, its verdict is
decided during the apply.

A file that fails, exits or takes longer than a minute causes an error, and the plan cannot be applied. `print` in a
file writes to standard error, because standard output may be a document. Modules cannot be imported from the directory
of the file."""

from __future__ import annotations

import inspect
import os
import re
import reprlib
import sys
from collections.abc import Callable, Iterable, Sequence, Set
from typing import TYPE_CHECKING, Any, TypeVar

from planner.answers.policy.judge import PARTLY_KNOWN
from planner.answers.policy.standing_policies import organisation, own
from planner.api.arguments import Paths, paths
from planner.api.undecided import UndecidedError, Uses, recorded_uses, refuse_unknown, run_file
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.language.syntax.rule_parse import parse_rules
from planner.language.syntax.rule_syntax import quote
from planner.logic.datalog.ask.limit import TimeLimitError, within

if TYPE_CHECKING:
    from planner.operations.plan import MadePlan

Work = TypeVar("Work", bound=Callable[..., Iterable[Any]])
_MARK = "__planner_policy__"
_DECLARED = re.compile(r"\s*([a-z]\w*)\s*\((.*)\)\s*", re.S)
_MAX_ROWS = 200_000
SECONDS = 60.0
"""time limit for a file and its functions, in seconds"""


_PROBLEMS = (Exception, SystemExit, GeneratorExit, TimeLimitError)
"""exceptions that make a policy fail; SystemExit is included, because otherwise an exit would end the process as if
nothing were denied"""


def relation(declaration: str) -> Callable[[Work], Work]:
    """Marks a function as the source of a relation that rules may read. `declaration` has the form of the text after
    `.decl`; the docstring of the function is the relation's documentation. The function receives the plan and yields
    rows: tuples of str, int and bool."""
    return _marker("relation", declaration)


def deny(code: str) -> Callable[[Work], Work]:
    """Marks a function as a policy that denies: it yields (address, message) for each denial."""
    return _marker("deny", code)


def warn(code: str) -> Callable[[Work], Work]:
    """Marks a function as a policy that warns: it yields (address, message) for each warning."""
    return _marker("warn", code)


def _marker(kind: str, text: str) -> Callable[[Work], Work]:
    if not isinstance(text, str):
        example = "team_of(address: symbol)" if kind == "relation" else "no_owner"
        raise TypeError(f'the decorator needs a string: write @policy.{kind}("{example}")')

    def mark(work: Work) -> Work:
        if not inspect.isfunction(work):
            raise TypeError(f"@policy.{kind} can only decorate functions, but {work!r} is not one")
        setattr(work, _MARK, (kind, text))
        return work

    return mark


View = Callable[[Any], Any]
"""converts a MadePlan to the plan that policy functions receive"""


def all_policies(folder: str, policies: Paths, view: View) -> dict[str, Any]:
    """Fields of OperationOptions that name all policies: the policies in the directory `folder`, those in `policies`
    (relative to `folder`), and the policies of the organisation. `view`: as in `python_policies`."""
    given = paths("policies", policies)
    named = [one if one.startswith("builtin:") else os.path.join(folder, one) for one in given]
    standing = organisation("policies", os.environ)
    return {
        "policies": tuple(dict.fromkeys((*own(folder), *named))),
        "standing_policies": standing,
        "more_policies": python_policies((*named, *standing), folder, view),
    }


def python_policies(
    words: Sequence[str], directory: str, view: View
) -> Callable[[MadePlan[Any]], tuple[tuple[str, str], ...]] | None:
    """A function that runs the Python files among `words` (paths relative to `directory`) for a plan, and returns the
    rows that they yield as rule files (name, content). The function may raise Failure. The result is None if there are
    no Python files. `view`: converts the plan to the object that policy functions receive."""
    files = [os.path.normpath(os.path.join(directory, word)) for word in words if word.endswith(".py")]
    if not files:
        return None

    def rule_files(made: MadePlan[Any]) -> tuple[tuple[str, str], ...]:
        bases = _rule_prefixes(files)
        return tuple((f"{file}.dl", _rules(file, bases[file], view(made))) for file in dict.fromkeys(files))

    return rule_files


def _rule_prefixes(files: Sequence[str]) -> dict[str, str]:
    """{file: prefix of the names of its rules}. Prefixes are numbered if several files have the same name."""
    bases: dict[str, str] = {}
    for file in dict.fromkeys(files):
        name = base = re.sub(r"\W", "_", os.path.basename(file).removesuffix(".py"))
        number = 1
        while base in bases.values():
            number += 1
            base = f"{name}_{number}"
        bases[file] = base
    return bases


def _rules(file: str, base: str, plan: Any) -> str:
    try:
        with within(SECONDS):
            return _rules_in_time(file, base, plan)
    except TimeLimitError:
        detail = f"{file} took longer than {SECONDS:g} seconds."
        raise Failure(error("policy.python", "A Python policy failed", detail)) from None


def _rules_in_time(file: str, base: str, plan: Any) -> str:
    try:
        names = run_file(file, {"print": _print})
    except TimeLimitError:
        raise
    except _PROBLEMS as problem:
        raise _failure(file, "", problem) from problem
    functions = [(name, one) for name, one in names.items() if hasattr(one, _MARK)]
    if not functions:
        detail = f"{file} has no function with a decorator of planner.policy."
        raise Failure(error("policy.python", "No policies in the file", detail))
    parts = [f"// The rows of the functions of {os.path.basename(file)} for one plan."]
    for name, function in functions:
        parts.append(_rows(file, base, name, function, plan))
    return "\n".join(parts) + "\n"


def _rows(file: str, base: str, name: str, function: Any, plan: Any) -> str:
    """Run a function of a policy file. Returns the rows that it yields, in the rule language."""
    kind, text = getattr(function, _MARK)
    doc = " ".join((inspect.getdoc(function) or "").split())
    line = function.__code__.co_firstlineno
    origin = f"{os.path.basename(file)}:{line}"
    head, predicate = "", kind
    if kind == "relation":
        match = _DECLARED.fullmatch(text)
        if match is None:
            raise _failure(
                file, name, ValueError(f"{text!r} is not a valid declaration, such as team_of(address: symbol)")
            )
        predicate = match[1]
        columns = ", ".join(part.partition(":")[0].strip() for part in match[2].split(","))
        head = f"/// {predicate}({columns}): {doc or 'rows of a Python function'} ({origin}).\n.decl {text.strip()}\n"
    rows: list[tuple[Any, ...]] = []
    with recorded_uses() as uses:
        try:
            _collect(function(plan), kind, rows, uses)
        except UndecidedError as problem:
            uses = uses or {("", str(problem)): True}
        except (Failure, TimeLimitError):
            raise
        except _PROBLEMS as problem:
            if not any(uses.values()):
                raise _failure(file, name, problem) from problem
    prefix = () if kind == "relation" else (text,)
    facts = [(predicate, row) for row in rows]
    if kind == "relation":
        facts += [(PARTLY_KNOWN, (predicate, what)) for (_, what), is_used in uses.items() if is_used]
    else:
        facts += [("deny", row) for row in _undecided_denials(uses, {row[0] for row in rows if kind == "deny"})]
    lines = []
    for number, (relation, row) in enumerate(facts, 1):
        try:
            cells = ", ".join(_cell(value) for value in (*prefix, *row))
        except TypeError as problem:
            raise _failure(file, name, problem) from None
        reason = quote(f"the function {name} yields it ({origin})".replace("{", "(").replace("}", ")"))
        lines.append(f'@name("{base}.{name}.{number}")\n@reason({reason})\n{relation}({cells}).')
    written = head + "\n".join(lines)
    _, problems = parse_rules(origin, written)
    if any(problem.is_error for problem in problems):
        raise _failure(file, name, ValueError(problems[0].summary))
    return written


def _collect(yielded: Any, kind: str, rows: list[tuple[Any, ...]], uses: Uses) -> None:
    """Append the rows that a function yields to `rows`. For a relation, no rows are appended after the first use of an
    unknown value. Exceptions of the function propagate."""
    if yielded is None:
        raise TypeError("the function returned None: yield rows, or return a list of rows")
    for row in yielded:
        cells = tuple(row) if isinstance(row, tuple | list) else (row,)
        for cell in cells:
            refuse_unknown(cell)
        if kind != "relation":
            _check_finding(row, cells)
        elif any(uses.values()):
            return
        rows.append(cells)
        if len(rows) > _MAX_ROWS:
            raise ValueError(f"more than {_MAX_ROWS} rows")


def _undecided_denials(uses: Uses, denied: Set[str]) -> list[tuple[str, str]]:
    """Denials because a policy used unknown values, as (address, message). A value that was only tested by is_unknown
    causes no denial if the policy itself denies the object."""
    return [
        (address, f"The policy cannot decide before the apply: {what}")
        for (address, what), is_used in uses.items()
        if is_used or address not in denied
    ]


def _check_finding(row: Any, cells: tuple[Any, ...]) -> None:
    """Raises TypeError if the row does not have the form (address, message)."""
    if len(cells) != 2 or not all(isinstance(cell, str) for cell in cells):
        raise TypeError(f"{reprlib.repr(row)} is not a row of a policy: yield two strings (address, message)")


def _print(*values: Any, file: Any = None, **options: Any) -> None:
    """Replaces `print` in policy files: standard output may be a document or the protocol of a server."""
    print(*values, file=sys.stderr if file is None else file, **options)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return quote(value)
    raise TypeError(f"{value!r} is not a value of a column: use str, int and bool")


def _failure(file: str, name: str, problem: BaseException) -> Failure:
    where = f"{name} in {file}" if name else file
    detail = f"{where}: {type(problem).__name__}: {problem}."
    if isinstance(problem, SystemExit):
        detail = f"{where}: the file called exit. A policy without findings must return normally."
    return Failure(error("policy.python", "A Python policy failed", detail))
