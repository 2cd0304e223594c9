"""The comment of a report: one for each name, found by a hidden marker and updated in place. Older comments of the same
name are folded. While a run is under way, or when it was cut, its first line states that."""

from __future__ import annotations

import re
from urllib.parse import quote

from planner.workflows.review.hosts import CodeReview, Comment

_LEFT = "\n\n*The rest has no room in a comment.*\n"
_NOTE = "> \N{HOURGLASS WITH FLOWING SAND} "
_TAGS = re.compile(r"</?(?:details|summary|sub)[^>]*>")


def put(review: CodeReview, name: str, text: str) -> str:
    """Write the report: in the existing comment, or a new one. Returns `updated` or `created`. Raises ServiceError."""
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
    """State in the existing comment that a run has begun, so the report in it is an earlier one. Raises
    ServiceError."""
    existing = _existing(review, name)
    if existing:
        _put_note(
            review, name, existing[-1], f"A run{_of(revision, address)} is under way. Below is an earlier report."
        )


def annotate_cut(review: CodeReview, name: str, revision: str, address: str, detail: str = "") -> None:
    """State in the comment that a run ended without a report. Raises ServiceError."""
    existing = _existing(review, name)
    text = f"**The run{_of(revision, address)} ended without a report.** {detail}".rstrip()
    if existing:
        _put_note(review, name, existing[-1], f"{text} Below is an earlier report.")
    else:
        review.create(_fitting(review, f"{_marker(review, name)}\n{_NOTE}{text}\n"))


def _of(revision: str, address: str) -> str:
    words = f" of `{revision[:10]}`" if re.fullmatch(r"[0-9a-f]{7,64}", revision) else ""
    return f"{words} ([log]({address}))" if address else words


def _existing(review: CodeReview, name: str) -> list[Comment]:
    """The comments of a name that others cannot edit, the oldest first."""
    start = _marker(review, name)
    return [one for one in review.comments() if one.is_ours and one.body.startswith(start)]


def _marker(review: CodeReview, name: str, kind: str = "report") -> str:
    text = f"planner {kind}: {quote(name, safe='/ ').replace('--', '%2D%2D')}"
    return f"<!-- {text} -->" if review.hides_html else f"[//]: # ({text.replace(':', '')})\n"


def _put_note(review: CodeReview, name: str, comment: Comment, note: str) -> None:
    start = _marker(review, name)
    rest = comment.body[len(start) :].lstrip("\n")
    if rest.startswith(_NOTE):
        rest = rest.partition("\n")[2].lstrip("\n")
    review.update(comment.id, _fitting(review, f"{start}\n{_NOTE}{note}\n\n{rest}"))


def _folded(review: CodeReview, name: str, comment: Comment) -> str:
    start = _marker(review, name)
    rest = comment.body[len(start) :].lstrip("\n")
    title = next((line.lstrip("#> ") for line in rest.splitlines() if line.strip()), "")
    title = title.replace("&", "&amp;").replace("<", "&lt;").replace("`", "")
    head = f"{_marker(review, name, 'old report')}\n"
    return _fitting(review, f"{head}<details><summary>Outdated: {title}</summary>\n\n{rest}\n</details>\n")


def _fitting(review: CodeReview, body: str) -> str:
    """The text as the host can show it, of at most the characters that it takes."""
    if not review.hides_html:
        body = _TAGS.sub("", body).replace("<code>", "`").replace("</code>", "`")
    return body if len(body) <= review.most else body[: review.most - len(_LEFT)].rsplit("\n", 1)[0] + _LEFT
