"""The language server on a repository, next to another one: `python tests/bench/editors.py REPOSITORY [FILE...]`.

FILE are configuration files in the repository that are opened (without any: files of the largest modules). Prints for
each server, as Markdown: the time from its start to the first completion and to the first diagnostics, completion,
diagnostics after an edit that refers to an undeclared variable and after its removal, the symbols of the workspace, and
the memory of the process. OTHER_SERVER has the command of another server, such as `tofu-ls serve`. Nothing is written.
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from editor.client import Document, Editor, LspError

FILES = 4
"""that are opened if none are named"""
PATIENCE = 60.0
"""seconds until an answer counts as none"""
CAPABILITIES = {
    "textDocument": {"completion": {"completionItem": {"snippetSupport": True}}, "publishDiagnostics": {}},
    "workspace": {"workspaceFolders": True, "symbol": {}},
}
ROWS = {
    "initialize": "start to the answer to `initialize`",
    "first completion": "start to the first completion with items",
    "first diagnostics": "start to the first diagnostics",
    "completion": "completion after a keystroke",
    "processor": "CPU time of the server until that completion",
    "diagnostics": "diagnostics after an edit",
    "symbol": "symbols of the workspace",
    "symbols": "symbols that are found",
    "memory": "memory at the end",
}
BEGINNINGS = ("var.", "local.", "module.", "")


class Measured:
    """The figures of a server: seconds by row, and words in place of them."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}
        self.words: dict[str, str] = {}

    def shown(self, row: str) -> str:
        values = self.seconds.get(row)
        if not values:
            return self.words.get(row, "none")
        if len(values) == 1:
            return _time(values[0])
        late = statistics.quantiles(values, n=20)[-1]
        return f"{_time(statistics.median(values))}, p95 {_time(late)}{self.words.get(row, '')}"


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def measure(name: str, program: list[str], folder: Path, files: list[Path], rounds: int) -> Measured:
    """The figures of one server; those that it has given so far if a request is not answered."""
    result = Measured()
    began = time.perf_counter()
    try:
        editor = Editor(folder, (), {"capabilities": CAPABILITIES}, program)
    except (EOFError, LspError, TimeoutError) as problem:
        print(f"{name}: {_unanswered(problem, 'initialize')}", file=sys.stderr)
        return result
    try:
        _measure(editor, folder, files, rounds, began, result)
    except (BrokenPipeError, EOFError, LspError, TimeoutError) as problem:
        print(f"{name}: {_unanswered(problem, editor.requested)}", file=sys.stderr)
    finally:
        editor.process.kill()
        editor.process.wait()
    return result


def _unanswered(problem: Exception, request: str) -> str:
    why = {TimeoutError: "was not answered in time", EOFError: "ended the server"}.get(
        type(problem), f"failed: {problem}"
    )
    return f"{request} {why}"


def _measure(editor: Editor, folder: Path, files: list[Path], rounds: int, began: float, result: Measured) -> None:
    result.seconds["initialize"] = [time.perf_counter() - began]
    documents = [editor.open(files[0])]
    _first_answers(editor, documents[0], began, result)
    documents += [editor.open(path) for path in files[1:]]
    _settled(editor)
    for document in documents:
        _completions(document, result, rounds)
    for document in documents:
        _diagnostics(editor, document, result, rounds)
    result.words["memory"] = f"{_memory(editor.process.pid) / 1e6:.0f} MB"
    start = time.perf_counter()
    symbols = editor.request("workspace/symbol", {"query": "var"})
    result.seconds["symbol"] = [time.perf_counter() - start]
    result.words["symbols"] = str(len(symbols or ()))


def _first_answers(editor: Editor, document: Document, began: float, result: Measured) -> None:
    """Ask for completion until there is some; note when the first diagnostics come."""
    while time.perf_counter() < began + PATIENCE:
        if _complete(document, document.text, "var."):
            result.seconds["first completion"] = [time.perf_counter() - began]
            break
        time.sleep(0.05)
    while document.uri not in editor.diagnostics and time.perf_counter() < began + PATIENCE:
        _receive(editor, 1.0)
    if document.uri in editor.diagnostics:
        result.seconds["first diagnostics"] = [time.perf_counter() - began]


def _receive(editor: Editor, seconds: float) -> bool:
    try:
        editor.receive(seconds)
    except TimeoutError:
        return False
    return True


def _settled(editor: Editor) -> None:
    """Wait until nothing comes for some seconds."""
    end = time.perf_counter() + PATIENCE
    while time.perf_counter() < end and _receive(editor, 5.0):
        pass


def _complete(document: Document, text: str, beginning: str) -> int:
    """The number of completions in a new output at the end of a text."""
    document.change(f'{text}\noutput "bench_of_this" {{\n  value = {beginning}\n}}\n')
    answer: Any = document.ask("completion", f"  value = {beginning}|\n}}\n")
    items = answer["items"] if isinstance(answer, dict) else answer or ()
    return len(items)


def _completions(document: Document, result: Measured, rounds: int) -> None:
    text, empty = document.text, 0
    for number in range(rounds):
        start, before = time.perf_counter(), _processor(document.editor.process.pid)
        empty += not _complete(document, text, BEGINNINGS[number % len(BEGINNINGS)])
        result.seconds.setdefault("completion", []).append(time.perf_counter() - start)
        result.seconds.setdefault("processor", []).append(_processor(document.editor.process.pid) - before)
    document.change(text)
    document.text = text
    before = result.words.get("completion", "")
    count = empty + int(before.split()[1] if before else 0)
    if count:
        result.words["completion"] = f", {count} without items"


def _diagnostics(editor: Editor, document: Document, result: Measured, rounds: int) -> None:
    """The time until an undeclared variable is reported, and until the report is gone again."""
    text = document.text
    _settled(editor)
    for number in range(rounds):
        name = f"undeclared_{number}"
        start = time.perf_counter()
        document.change(f'{text}\noutput "bench_of_this" {{\n  value = var.{name}\n}}\n')
        if not _until(editor, document, name, True):
            result.words["diagnostics"] = ", not always"
            break
        result.seconds.setdefault("diagnostics", []).append(time.perf_counter() - start)
        start = time.perf_counter()
        document.change(text)
        if _until(editor, document, name, False):
            result.seconds["diagnostics"].append(time.perf_counter() - start)
    document.change(text)
    document.text = text


def _until(editor: Editor, document: Document, name: str, is_there: bool) -> bool:
    end = time.perf_counter() + 10
    while time.perf_counter() < end:
        known = editor.diagnostics.get(document.uri, ())
        if any(name in str(one["message"]) or _covers(one, document, name) for one in known) == is_there:
            return True
        _receive(editor, max(0.01, end - time.perf_counter()))
    return False


def _covers(problem: Any, document: Document, name: str) -> bool:
    """Whether a diagnostic is at the line of a name: the message of some servers does not have it."""
    lines = document.text.split("\n")
    line = problem["range"]["start"]["line"]
    return line < len(lines) and name in lines[line]


def _memory(process: int) -> int:
    """The largest resident memory that a process has had, in bytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def _processor(process: int) -> float:
    """The CPU time of a process in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def largest(folder: Path) -> list[Path]:
    """A file of each of the modules with most files: the one with most lines."""
    files = [path for path in folder.rglob("*.tf") if not any(part.startswith(".") for part in path.parts[1:])]
    counts = Counter(path.parent for path in files)
    modules = sorted(counts, key=lambda one: (-counts[one], one))[:FILES]
    return [max((p for p in files if p.parent == one), key=lambda p: (p.stat().st_size, p)) for one in modules]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("repository", type=Path)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("-rounds", type=int, default=20, help="edits of each file")
    parser.add_argument("-only-other", action="store_true")
    arguments = parser.parse_args()
    folder = arguments.repository.resolve()
    files = [path.resolve() for path in arguments.files] or largest(folder)
    servers = {} if arguments.only_other else {"planner lsp": [sys.executable, "-m", "planner", "lsp"]}
    if other := shlex.split(os.environ.get("OTHER_SERVER", "")):
        servers[Path(other[0]).name] = other
    figures = {name: measure(name, program, folder, files, arguments.rounds) for name, program in servers.items()}
    count = sum(1 for path in folder.rglob("*") if path.suffix in (".tf", ".tofu", ".tfvars"))
    print(f"{folder.name}: {count} files; opened: {', '.join(str(path.relative_to(folder)) for path in files)}\n")
    print(f"| | {' | '.join(figures)} |\n| --- |{' --- |' * len(figures)}")
    for row, title in ROWS.items():
        print(f"| {title} | {' | '.join(one.shown(row) for one in figures.values())} |")


if __name__ == "__main__":
    main()
