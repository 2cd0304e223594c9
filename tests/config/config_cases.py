"""Case files: the files of a root module and the diagnostics that loading it must give.

    -- main.tf --
    ...
    -- expected --
    error main.tf:2:3-2:7

Places are line:column, ends exclusive; an empty range counts as one column, as the JSON form of diagnostics shows it;
`-` is a diagnostic without a place. The expected lines are what OpenTofu 1.12.6 reports (`validate -json`).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.language.config.file_content import check_module_arguments
from planner.language.config.load import load_config
from planner.language.config.variables import collect_variables

CASES = Path(__file__).parent / "cases"


def read_case(path: Path) -> tuple[dict[str, str], list[str]]:
    """The files by name, and the expected lines."""
    files: dict[str, str] = {}
    name = ""
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.startswith("-- ") and line.rstrip().endswith(" --"):
            name = line.strip().removeprefix("-- ").removesuffix(" --")
            files[name] = ""
        else:
            files[name] += line
    return files, files.pop("expected", "").splitlines()


def write_files(directory: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def load_all(directory: Path) -> list[Diagnostic]:
    """Everything that can be said of the configuration without evaluating it."""
    given, problems = collect_variables(str(directory), (), {})
    config, found = load_config(str(directory), variables=given)
    problems = [*problems, *found]
    if config is not None:
        problems += check_module_arguments(config)
    return problems


def shown(diagnostics: Iterable[Diagnostic]) -> list[str]:
    """Diagnostics as case files write them, sorted."""
    return sorted(_line(d) for d in diagnostics)


def _line(diagnostic: Diagnostic) -> str:
    span = diagnostic.subject
    if span is None:
        return f"{diagnostic.severity} -"
    start, end = span.start_position, span.end_position
    column = end.column + (span.start == span.end)
    return f"{diagnostic.severity} {span.filename}:{start.line}:{start.column}-{end.line}:{column}"
