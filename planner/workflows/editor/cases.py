"""Cases run from the editor, with the texts as they are there."""

from __future__ import annotations

from planner.answers.policy.packs import gather
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, has_errors
from planner.logic.datalog.tools.suite import run
from planner.operations import rule_files, rule_tests
from planner.render.rules import tested_text
from planner.render.terminal import Paint
from planner.workflows.editor.rule_index import Texts, folder_files


def ran(path: str, opened: Texts, name: str) -> tuple[bool, str]:
    """Whether a case of a file passes (all of them if none is named), and what there is to say."""
    text = opened.get(path, "")
    files = folder_files(path, opened)
    try:
        rules = rule_files.about((path, text), files)
        program, problems = rule_files.load(rules, rule_files.choose([*rules, (path, text)]))
        if program is None:
            return False, _told(problems)
        cases, problems = rule_tests.cases_of(program, path, text, gather(tuple(rules)))
        if has_errors(problems):
            return False, _told(problems)
        chosen = [case for case in cases if name in ("", case.name)]
        if not chosen:
            return False, f"There is no case {name!r} in {path}."
        outcomes = run(program, chosen, rule_tests.CASE_SECONDS)
    except Failure as failure:
        return False, _told(failure.diagnostics)
    tested = rule_tests.Tested({path: outcomes})
    return tested.passed, tested_text(tested, Paint(False))


def _told(problems: list[Diagnostic] | tuple[Diagnostic, ...]) -> str:
    return "\n".join(f"{problem.subject or ''} {problem.summary}: {problem.detail}".strip() for problem in problems)
