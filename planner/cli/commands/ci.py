"""`ci`: runs a command in a CI job, and reports on the pull request. `comment`: writes a report as a comment."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from planner.cli.flags import Flag
from planner.foundation.vocabulary.diagnostic import Diagnostic, ServiceError, error

if TYPE_CHECKING:
    from planner.workflows.review.hosts import CodeReview


import shlex
import signal
import subprocess
import sys
from typing import Any

from planner.cli import index
from planner.cli.finish import finish
from planner.cli.flags import Arguments, UsageError, command
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.records import evolve
from planner.render.diagnostics import show
from planner.render.terminal import Terminal

_SUMMARY = 1_000_000

"""maximum size of a job's summary in bytes; GitHub accepts 1 MiB"""

CUT_OFF = "was cancelled, or lost its runner, before it wrote a report"
"""the default description of a run that ended without a report"""
ABOUT = (Flag("name", "string", "The name of the comment, if a pull request has several.", "plan", "NAME"),)


@command(
    "[options] -- COMMAND [ARGUMENTS]",
    """Runs another command of planner in a CI job:

  planner ci -comment -- plan -policy=policies
  planner ci -comment -- batch plan
  planner ci -- drift

It runs `planner init` first if needed, then the command without prompts, and writes the report to .planner/report:
report.md, report.html, report.json, and for `plan` the saved plan `tfplan` (for `batch plan` the directory `plans`).
With -comment the report becomes a comment on the pull request: see `planner comment`. On GitHub runners the report is
also the job summary, and the step has the outputs changes (true or false), exit-code, plan-file and report. On GitHub
runners and in Azure Pipelines, problems and causes are also printed as annotations of their lines.

The exit code is that of the command, except that 2 (changes) becomes 0 unless -fail-on-changes is given.""",
    (
        Flag("comment", "bool", "Write the report as a comment on the pull request."),
        *ABOUT,
        Flag(
            "arguments",
            "string",
            "Further arguments of the command, in one string, quoted as in a shell.",
            value="WORDS",
        ),
        Flag("init", "bool", "Do not run `planner init` first.", True),
        Flag(
            "into",
            "string",
            "Write the report and the plan to this directory.",
            os.path.join(".planner", "report"),
            "DIR",
        ),
        Flag("fail-on-changes", "bool", "Exit with 2 if the plan has changes or drift."),
    ),
)
def ci(arguments: Arguments, terminal: Terminal) -> int:
    """Returns the command's exit code, with two exceptions: 0 instead of 2 if -fail-on-changes is not set, and 1 if a
    signal ended the command."""
    command, words = _command(arguments.words)
    words += _split(arguments["arguments"])
    folder = arguments["into"]
    _prepare(folder)
    files = {name: path for name, path in run_files(folder).items() if name in _flags(command)}
    plan_file = _plan_file(command, folder)
    for path in files.values():
        if os.path.exists(path):
            os.unlink(path)
    name = arguments["name"]
    if arguments["comment"]:
        _warn(started(name, os.environ), terminal)
    code = 0
    if arguments["init"] and "init" not in words and _needs_init(command):
        code = _run(["init", "-input=false"])
    if not code:
        added = [f"-{flag}={path}" for flag, path in files.items()]
        if plan_file:
            added.append(f"-out={plan_file}")
        added += [text for flag, text in _AUTOMATIC.items() if flag in _flags(command)]
        code = _run([*command.split(), *added, *words])
    return _report(arguments, terminal, files, plan_file, code)


_AUTOMATIC = {"input": "-input=false", "detailed-exitcode": "-detailed-exitcode"}

"""{name: flag} of the flags that `ci` inserts before the user's flags if the command accepts them"""


def _prepare(folder: str) -> None:
    """Create the directory of reports. Git ignores this directory, because a saved plan contains values. Raises
    Failure."""
    try:
        os.makedirs(folder, exist_ok=True)
        if not os.listdir(folder):
            with open(os.path.join(folder, ".gitignore"), "w", encoding="utf-8") as file:
                file.write("*\n")
    except OSError as problem:
        raise Failure(error("ci.folder", "Cannot write reports", f"{folder}: {problem.strerror or problem}.")) from None


def _report(arguments: Arguments, terminal: Terminal, files: dict[str, str], plan_file: str, code: int) -> int:
    path = next((files[form] for form in ("review", "markdown") if os.path.exists(files.get(form, ""))), "")
    name = arguments["name"]
    if arguments["comment"]:
        if path:
            _, problems = reported(name, report_text(path), os.environ)
        else:
            ended = f"failed with exit code {code}" if code >= 0 else f"was killed by signal {-code}"
            ended = "was cancelled" if code in (-2, -15) else ended
            problems = cut(name, os.environ, ended)
        _warn(problems, terminal)
    if path.endswith(".json"):
        _annotate(path, terminal)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary and os.path.exists(files.get("markdown", "")):
        with open(files["markdown"], encoding="utf-8") as file:
            _append(summary, file.read()[:_SUMMARY])
    if outputs := os.environ.get("GITHUB_OUTPUT"):
        saved = plan_file if plan_file and os.path.exists(plan_file) else ""
        known = {
            "changes": "true" if code == 2 else "false",
            "exit-code": str(code),
            "plan-file": saved,
            "report": path,
        }
        _append(outputs, "".join(f"{key}={value}\n" for key, value in known.items()))
    if code < 0:
        return 1
    return 0 if code == 2 and not arguments["fail-on-changes"] else code


def _command(words: list[str]) -> tuple[str, list[str]]:
    """Split the words into the name of a command and its arguments. Raises UsageError if they do not begin with a
    command."""
    for count in (2, 1):
        name = " ".join(words[:count])
        if len(words) >= count and name in index.COMMANDS and name not in index.FAMILIES:
            return name, words[count:]
    raise UsageError("Missing command", "Write the command after two dashes: planner ci -comment -- plan")


def _split(text: str) -> list[str]:
    """The words of a text, split as in a shell. Raises UsageError."""
    try:
        return shlex.split(text)
    except ValueError as problem:
        raise UsageError("Wrong value for option -arguments", f"{problem}: {text!r}") from None


def _flags(command: str) -> frozenset[str]:
    return frozenset(flag.name for flag in index.load(command).flags)


def _plan_file(command: str, folder: str) -> str:
    return os.path.join(folder, {"plan": "tfplan", "batch plan": "plans"}[command]) if command in _SAVING else ""


_SAVING = ("plan", "batch plan")


def _needs_init(command: str) -> bool:
    """Whether the command works on a single configuration, which is in the working directory. (Batch commands
    initialize their units themselves.)"""
    return command.split()[0] not in ("batch", "stacks", "init", "rules", "comment", "ci", "fmt", "sign")


def _run(words: list[str]) -> int:
    """Run the command in a process, with signals forwarded. Returns the exit code of the command, or the negative
    number of the signal that was forwarded or that ended the process."""
    command = [sys.executable, "-m", "planner", *words]
    process = subprocess.Popen(command)
    interrupted = []

    def forward(number: int, frame: Any) -> None:
        interrupted.append(number)
        process.send_signal(number)

    before = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        code = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return -abs(interrupted[0]) if interrupted else code


def _annotate(path: str, terminal: Terminal) -> None:
    from planner.workflows.review.comments import annotated_lines

    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    for line in annotated_lines(document, os.environ):
        terminal.out(line)


def _append(path: str, text: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)


def _warn(problems: list[Diagnostic], terminal: Terminal) -> None:
    """Print errors that occurred while the comment was written. They are printed as warnings, because they do not
    affect the result of the run."""
    show([evolve(one, severity="warning") for one in problems], terminal)


@command(
    "[options] [FILE]",
    """Writes a report as a comment on the pull request of this CI job. FILE is a review (the JSON of -review=FILE,
which is shortened to the size that the host allows) or Markdown. The comment of an earlier run is updated in place;
when there are several, the older ones are folded.

The host is recognized by the environment variables of its runner. Each host needs a token that may write comments:
GITHUB_TOKEN, GITLAB_TOKEN, BITBUCKET_TOKEN, SYSTEM_ACCESSTOKEN (Azure). If the runner does not provide the number of
the pull request, set PLANNER_PULL_REQUEST. A job without a pull request writes no comment and succeeds.

-start states in the existing comment that a run is in progress, and -cut that it ended without a report. `planner ci`
runs another command and does all of this.""",
    (
        *ABOUT,
        Flag("start", "bool", "State that a run is in progress."),
        Flag("cut", "bool", "State that the run ended without a report."),
    ),
)
def comment(arguments: Arguments, terminal: Terminal) -> int:
    path = arguments.at_most_one_word("Only one report can be written at a time.")
    if (path is not None) + arguments["start"] + arguments["cut"] != 1:
        raise UsageError("Missing report", "Name the file of the report, or use -start or -cut.")
    name = arguments["name"]
    if arguments["start"]:
        return finish(started(name, os.environ), terminal)
    if path is None:
        return finish(cut(name, os.environ), terminal)
    try:
        text = report_text(path)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        return finish([error("ci.report", "Cannot read the report", f"{path}: {reason}.")], terminal)
    done, problems = reported(name, text, os.environ)
    terminal.out(f"The comment was {done}." if done else "No pull request is known, so no comment was written.")
    return finish(problems, terminal)


# Reports on a CI job's pull request, for `comment` and `ci`; problems of the host are returned as diagnostics.


def report_text(path: str) -> Callable[[int], str]:
    """A function whose parameter is a maximum number of characters. It returns a review as Markdown within this limit;
    the content of a Markdown file is returned unchanged. Raises OSError and ValueError for an unreadable or invalid
    file."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if not text.lstrip().startswith("{"):
        return lambda most: text
    from planner.render.review.markdown import markdown

    document = json.loads(text)
    if not isinstance(document, dict) or "decisions" not in document:
        raise ValueError("not a review (planner schema review)")
    return lambda most: markdown(document, most - 500)


def reported(name: str, text: Callable[[int], str], environ: Mapping[str, str]) -> tuple[str, list[Diagnostic]]:
    """Write a report as a comment. Returns `created` or `updated` ("" without a pull request, and on errors), and
    errors."""

    def write(review: CodeReview) -> str:
        from planner.workflows.review.comments import put

        return put(review, name, text(review.most))

    return _on_pull_request(environ, write)


def started(name: str, environ: Mapping[str, str]) -> list[Diagnostic]:
    """Note in the comment that a run is in progress."""

    def write(review: CodeReview) -> str:
        from planner.workflows.review.comments import annotate_start
        from planner.workflows.review.hosts import run_address

        annotate_start(review, name, _revision(environ), run_address(environ))
        return ""

    return _on_pull_request(environ, write)[1]


def cut(name: str, environ: Mapping[str, str], ended: str = CUT_OFF) -> list[Diagnostic]:
    """Note in the comment that the run ended without a report. `ended`: a description of how the run ended, for example
    `was cancelled`."""

    def write(review: CodeReview) -> str:
        from planner.workflows.review.comments import annotate_cut
        from planner.workflows.review.hosts import run_address

        annotate_cut(review, name, _revision(environ), run_address(environ), ended)
        return ""

    return _on_pull_request(environ, write)[1]


def _on_pull_request(environ: Mapping[str, str], work: Callable[[CodeReview], str]) -> tuple[str, list[Diagnostic]]:
    from planner.workflows.review.hosts import review_of

    try:
        review = review_of(environ)
        return (work(review), []) if review is not None else ("", [])
    except ServiceError as problem:
        return "", [error("ci.comment", "The comment could not be written", f"{problem.text}.")]


def _revision(environ: Mapping[str, str]) -> str:
    from planner.render.review.links import code_host

    return code_host(environ).revision


def run_files(folder: str) -> dict[str, str]:
    """{flag: path} of the report files that a run writes into the directory."""
    names = {"markdown": "report.md", "html": "report.html", "review": "report.json"}
    return {flag: os.path.join(folder, name) for flag, name in names.items()}
