"""Reports on the pull request of a CI job: the calls that `comment` and `ci` share. Problems with the host are
diagnostics."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from planner.cli.flags import Flag
from planner.foundation.vocabulary.diagnostic import Diagnostic, ServiceError, error

if TYPE_CHECKING:
    from planner.workflows.review.hosts import CodeReview

CUT_OFF = "was cancelled, or lost its runner, before it had a report"
"""how a run ended of which nothing else is known"""
ABOUT = (Flag("name", "string", "The name of the comment, if a pull request has several.", "plan", "NAME"),)


def report_text(path: str) -> Callable[[int], str]:
    """The report in a file, for a comment of so many characters: a review document is written anew for each size,
    Markdown stays unchanged. Raises OSError and ValueError."""
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
    """Write the report: `created` or `updated`, "" where there is no pull request."""

    def write(review: CodeReview) -> str:
        from planner.workflows.review.comments import put

        return put(review, name, text(review.most))

    return _on_pull_request(environ, write)


def started(name: str, environ: Mapping[str, str]) -> list[Diagnostic]:
    """State that a run is in progress."""

    def write(review: CodeReview) -> str:
        from planner.workflows.review.comments import annotate_start
        from planner.workflows.review.hosts import run_address

        annotate_start(review, name, _revision(environ), run_address(environ))
        return ""

    return _on_pull_request(environ, write)[1]


def cut(name: str, environ: Mapping[str, str], ended: str = CUT_OFF) -> list[Diagnostic]:
    """State that the run ended without a report. `ended`: how, as in `was cancelled`."""

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
    """The files of a run's report, by the flag that names each."""
    names = {"markdown": "report.md", "html": "report.html", "review": "report.json"}
    return {flag: os.path.join(folder, name) for flag, name in names.items()}
