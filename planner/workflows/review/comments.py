"""The comment with a report. For each name of a report, there is one comment. It is found by a hidden marker and
updated by later reports; if there are several comments with the name, the older ones are collapsed. The first line
shows if a run is in progress or has ended without a report."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from planner.render.review.literal import code
from planner.workflows.batch.reports.github import MOST, escaped_text, workflow_command
from planner.workflows.review.hosts import CodeReview, Comment

_LOCKED = (
    "If the state is still locked, make sure that no run is active, then remove the lock: "
    "`planner force-unlock ID`, with the ID that the next run reports."
)
_LEFT = "\n\n*The rest does not fit into a comment.*\n"
_UNDER_WAY, _CUT = "> \N{HOURGLASS WITH FLOWING SAND} ", "> \N{OCTAGONAL SIGN} "
"""the beginnings of the lines about a run that is in progress and about a run that ended without a report"""
_OLDER = re.compile(
    r"(?:<details><summary>)?(?:Plan|Report) of an (?:older commit, [0-9a-f]{7,10}|earlier run)(?:</summary>)?\n+"
)
"""the line above the collapsed report of an earlier run"""
_REVISION = re.compile(r"revision `([0-9a-f]{7,10})`")
_TAGS = re.compile(r"</?(?:details|summary|sub)[^>]*>")


def put(review: CodeReview, name: str, text: str) -> str:
    """Write the report to the newest comment with this name or, if there is none, to a new comment. Older comments with
    the name are collapsed. Returns `updated` or `created`. Raises ServiceError."""
    existing = _existing(review, name)
    body = _fitting(review, f"{_marker(review, name)}\n{text}")
    for old in existing[:-1]:
        review.update(old.id, _folded(review, name, old))
    if existing:
        if existing[-1].body != body:
            review.update(existing[-1].id, body)
        return "updated"
    review.create(body)
    return "created"


def annotate_start(review: CodeReview, name: str, revision: str, address: str) -> None:
    """If there is a comment with this name, add a note to it: a run is in progress, and the report is from an earlier
    run. `address`: URL of the run's log, or "". Raises ServiceError."""
    existing = _existing(review, name)
    if existing:
        run = _run(revision)
        of = f" of {run}" if run else ""
        note = f"A run{of}{_log(address)} is in progress. The report below is from an earlier run."
        _put_note(review, name, existing[-1], f"{_UNDER_WAY}{note}", revision)


def annotate_cut(review: CodeReview, name: str, revision: str, address: str, ended: str) -> None:
    """Add a note to the newest comment with this name, or to a new one, that a run ended without a report. `address`:
    URL of the run's log, or "". `ended`: how the run ended, for example `was cancelled`. Raises ServiceError."""
    existing = _existing(review, name)
    run, log = _run(revision) or "this commit", _log(address)
    command, *words = name.split() or [""]
    of = " ".join(words if command in ("plan", "apply", "drift") else (command, *words))
    run += f" in {code(of)}" if of else ""
    if command == "apply":
        text = f"**There is no report of the apply of {run}: its run {ended}{log}.** It may have changed objects. "
        text += f"Plan again to see what is left to do. {_LOCKED}"
    else:
        text = (
            f"**There is no plan for {run}: its run {ended}{log}. Do not approve it with this comment; run it again.** "
        )
        text += f"Planning changes no objects. {_LOCKED}"
    if existing:
        _put_note(review, name, existing[-1], f"{_CUT}{text}", revision)
    else:
        review.create(_fitting(review, f"{_marker(review, name)}\n{_CUT}{text}\n"))


def _run(revision: str) -> str:
    return f"`{revision[:10]}`" if re.fullmatch(r"[0-9a-f]{7,64}", revision) else ""


def _log(address: str) -> str:
    return f" ([log]({address}))" if address else ""


def _existing(review: CodeReview, name: str) -> list[Comment]:
    """The comments with this name that the owner of the token wrote, oldest first."""
    start = _marker(review, name)
    return [one for one in review.comments() if one.is_ours and one.body.startswith(start)]


def _marker(review: CodeReview, name: str, kind: str = "report") -> str:
    text = f"planner {kind}: {quote(name, safe='/ ').replace('--', '%2D%2D')}"
    return f"<!-- {text} -->" if review.hides_html else f"[//]: # ({text.replace(':', '')})\n"


def _put_note(review: CodeReview, name: str, comment: Comment, note: str, revision: str) -> None:
    """Insert a line about a run at the beginning of a comment, and collapse the report below it. The line replaces an
    earlier line about a run."""
    start = _marker(review, name)
    rest = comment.body[len(start) :].lstrip("\n")
    if rest.startswith((_UNDER_WAY, _CUT)):
        rest = rest.partition("\n")[2].lstrip("\n")
        if older := _OLDER.match(rest):
            rest = rest[older.end() :].rstrip().removesuffix("</details>").rstrip()
    if rest:
        known = _REVISION.findall(rest)
        is_other = known and known[-1] != revision[: len(known[-1])]
        of = f"older commit, {known[-1]}" if is_other else "earlier run"
        kind = "Report" if name.split()[:1] == ["apply"] else "Plan"
        rest = f"\n<details><summary>{kind} of an {of}</summary>\n\n{rest}\n\n</details>\n"
    review.update(comment.id, _fitting(review, f"{start}\n{note}\n{rest}"))


def _folded(review: CodeReview, name: str, comment: Comment) -> str:
    start = _marker(review, name)
    rest = comment.body[len(start) :].lstrip("\n")
    title = next((line.lstrip("#> ") for line in rest.splitlines() if line.strip()), "")
    title = title.replace("&", "&amp;").replace("<", "&lt;").replace("`", "")
    head = f"{_marker(review, name, 'old report')}\n"
    return _fitting(review, f"{head}<details><summary>Outdated: {title}</summary>\n\n{rest}\n</details>\n")


def _fitting(review: CodeReview, body: str) -> str:
    """The text in the form that the host can show, shortened to the host's maximum length."""
    if not review.hides_html:
        body = _TAGS.sub("", body).replace("<code>", "`").replace("</code>", "`")
    return body if len(body) <= review.most else body[: review.most - len(_LEFT)].rsplit("\n", 1)[0] + _LEFT


# Annotations at lines of configuration: workflow commands that the runners of GitHub and Azure Pipelines read from the
# log.


_LEVELS = {"deny": "error", "broken": "error", "error": "error", "warn": "warning", "warning": "warning"}


def annotated_lines(document: Mapping[str, Any], environ: Mapping[str, str]) -> list[str]:
    """The annotations of the problems, findings and root causes that have a position in the repository: one line each,
    at most MOST lines, the most serious first. Empty on hosts other than GitHub and Azure Pipelines. `document`: the
    report as JSON."""
    write = _github if environ.get("GITHUB_ACTIONS") == "true" else _azure if environ.get("TF_BUILD") else None
    if write is None:
        return []
    base = document["about"].get("directory") or "."
    order = ("error", "warning", "notice")
    items = sorted(_annotated(document), key=lambda item: order.index(item[0]))
    lines = []
    for level, one, title, text in items:
        path = os.path.normpath(os.path.join(base, one["file"]))
        if not path.startswith("..") and not os.path.isabs(path):
            lines.append(write(level, path, one["line"], title, text))
    return lines[:MOST]


def _annotated(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], str, str]]:
    for one in document["diagnostics"]:
        if one.get("file"):
            yield _LEVELS[one["severity"]], one, one["summary"], one["detail"] or one["summary"]
    for one in document["policies"]["findings"]:
        if one.get("file"):
            title = f"{one['kind']} {one['code']}"
            yield _LEVELS.get(one["kind"], "notice"), one, title, f"{one['address']}: {one['message']}"
    for one in document["causes"]:
        if one.get("file"):
            effects = ", ".join(f"{verb} {number}" for verb, number in one["sets_off"].items())
            sides = (
                f": {one['before'] or 'nothing'} -> {one['after'] or 'nothing'}"
                if one["before"] or one["after"]
                else ""
            )
            yield "notice", one, f"Causes {effects}", f"{one['what']}{sides}"


def _github(level: str, path: str, line: int, title: str, text: str) -> str:
    return workflow_command(level, {"file": path, "line": str(line), "title": title}, text)


def _azure(level: str, path: str, line: int, title: str, text: str) -> str:
    def setting(value: str) -> str:
        return escaped_text(value).replace("]", "%5D").replace(";", "%3B")

    kind, text = "error" if level == "error" else "warning", escaped_text(f"{title}: {text}")
    return f"##vso[task.logissue type={kind};sourcepath={setting(path)};linenumber={line}]{text}"
