"""Writes a plan's review to files: Markdown, an HTML page, JSON."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from planner.cli.flags import Arguments, Flag, UsageError
from planner.foundation.vocabulary.diagnostic import Diagnostic, error, has_errors
from planner.foundation.vocabulary.records import evolve

if TYPE_CHECKING:
    from planner.answers.policy.model import Verdict
    from planner.api.making import Applied, Chains, MadePlan
    from planner.render.review.subject import ReviewSubject

FORMS = ("markdown", "html", "review")
LINKS = (
    Flag(
        "link",
        "string",
        "The address for links to lines, with {file}, {line} and {revision} (default: the CI service's address).",
        value="URL",
    ),
    Flag("page", "string", "The address at which the page will be published, for links to it.", value="URL"),
)
REVIEW = (
    Flag("markdown", "string", "Write the review as Markdown for a comment on a pull request.", value="FILE"),
    Flag("html", "string", "Write the review as an HTML page.", value="FILE"),
    Flag("review", "string", "Write the review as JSON (planner schema review).", value="FILE"),
    *LINKS,
)


class Review:
    """The files that the flags of a command name, and the subject of the review. Raises UsageError and Failure for
    invalid flags. `prints`: whether the command also prints the review. `directory`: the directory to which file names
    are relative."""

    def __init__(self, arguments: Arguments, kind: str = "plan", prints: bool = False, directory: str = ".") -> None:
        self.files = {form: path for form in FORMS if (path := arguments.get(form))}
        if "-" in self.files.values():
            raise UsageError(
                "A review needs a file", "Name a file, not -: standard output is for the command's result."
            )
        self._read: dict[str, Any] = {}
        self.subject: ReviewSubject | None = _subject(arguments, kind, directory) if self.files or prints else None

    def __bool__(self) -> bool:
        """Whether any file is requested."""
        return bool(self.files)

    def chains(self, made: MadePlan[Any] | None, plan_file: str = "") -> Chains | None:
        """The causes of a plan's changes. None if the review does not need causes, because no file is requested, the
        plan failed, or `plan_file` contains its review."""
        if not self.files or made is None or made.plan.errored or self._file_review(made, plan_file):
            return None
        from planner.api.making import chains_of

        return chains_of(made)

    def record(
        self, made: MadePlan[Any], problems: Iterable[Diagnostic], verdict: Verdict | None, chains: Chains | None
    ) -> dict[str, Any] | None:
        """The review for a plan file; None if no review is requested."""
        if self.subject is None or not self.files:
            return None
        from planner.render.review.of_plan import plan_review, recordable

        subject = _judged(self.subject, problems, verdict)
        subject = subject if made.loaded.options.judges else evolve(subject, checked=())
        return recordable(plan_review(made, subject, chains))

    def _file_review(self, made: MadePlan[Any], plan_file: str) -> Any:
        """The review in a plan file. None if there is no plan file, if it contains no review, and with -since."""
        if not plan_file or self.subject is None or self.subject.about["since"]:
            return None
        if plan_file not in self._read:
            from planner.api.making import saved_review

            self._read[plan_file] = saved_review(made, plan_file)
        return self._read[plan_file]

    def write(
        self, made: MadePlan[Any] | None, problems: Iterable[Diagnostic], verdict: Verdict | None = None, **known: Any
    ) -> list[Diagnostic]:
        """Write the files. Returns diagnostics. `known`: further arguments of _document."""
        document = self._document(made, problems, verdict, **known)
        return self.write_document(document) if document is not None else []

    def write_applied(
        self, made: MadePlan[Any], applied: Applied, problems: Iterable[Diagnostic], **known: Any
    ) -> list[Diagnostic]:
        """Write the files about an applied plan. Returns diagnostics. `known`: further arguments of _document."""
        counts, succeeded = applied.counts, not has_errors(applied.diagnostics)
        result = {"succeeded": succeeded, "added": counts.add, "changed": counts.change, "destroyed": counts.remove}
        result |= {"invoked": counts.invoke} if counts.invoke else {}
        document = self._document(made, [*problems, *applied.diagnostics], result=result, **known)
        if document is None:
            return []
        from planner.render.page.page import hiding
        from planner.render.review.results import with_outputs, with_results

        hide, known = hiding(made.plan), applied.state.outputs if applied.state is not None else {}
        document = with_results(document, succeeded, applied.outcomes, hide)
        outputs = [evolve(one, after=known[one.name].value) for one in made.plan.outputs if one.name in known]
        return self.write_document(with_outputs(document, outputs if succeeded else (), hide))

    def _document(
        self,
        made: MadePlan[Any] | None,
        problems: Iterable[Diagnostic],
        verdict: Verdict | None = None,
        chains: Chains | None = None,
        plan_file: str = "",
        is_part: bool = False,
        **more: Any,
    ) -> dict[str, Any] | None:
        """The document; None if no review is requested. `plan_file`: the saved plan. The review stored in it is used,
        unless only some changes are shown (`is_part`). `more`: further fields of the subject."""
        if self.subject is None:
            return None
        from planner.render.review.of_plan import failed_review, plan_review

        about = {**self.subject.about, **(_plan_file(plan_file) if plan_file else {})}
        subject = _judged(evolve(self.subject, about=about, **more), problems, verdict)
        if made is None:
            return failed_review(subject)
        if not made.loaded.options.judges and made.plan.policy is None:
            subject = evolve(subject, checked=())
        if not is_part and (record := self._file_review(made, plan_file)) is not None:
            from planner.render.review.of_plan import recorded_review

            if (document := recorded_review(record, subject)) is not None:
                return document
        return plan_review(made, subject, chains)

    def write_verdict(self, verdict: Verdict, problems: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Write the files about a verdict without a plan. Returns diagnostics."""
        if self.subject is None:
            return []
        from planner.render.review.document import bare_document
        from planner.render.verdicts import count_verdicts

        return self.write_document(bare_document(count_verdicts(verdict), _judged(self.subject, problems, verdict)))

    def write_document(self, document: dict[str, Any]) -> list[Diagnostic]:
        """Write the document in all requested formats. Returns an error for each file that cannot be written."""
        problems = []
        for form, path in self.files.items():
            try:
                with open(path, "w", encoding="utf-8", errors="replace") as file:
                    file.write(_text(form, document))
            except (OSError, ValueError) as problem:
                reason = getattr(problem, "strerror", None) or problem
                problems.append(error("review.unwritable", "Cannot write the review", f"{path}: {reason}."))
        return problems


def _text(form: str, document: dict[str, Any]) -> str:
    if form == "markdown":
        from planner.render.review.markdown import markdown

        return markdown(document)
    if form == "html":
        from planner.render.review.page import page

        return page(document)
    from planner.cli.finish import json_text

    return json_text(document)


def _subject(arguments: Arguments, kind: str, directory: str) -> ReviewSubject:
    from planner.cli.options import revision
    from planner.render.review.links import links
    from planner.render.review.subject import ReviewSubject

    page = arguments.get("page", "")
    if page and not page.startswith(("https://", "http://")):
        raise UsageError("Option -page needs an address", f"{page} does not begin with https:// or http://.")
    addresses = links(arguments.get("link", ""), directory, os.environ, page)
    ref, commit = revision(arguments)
    about = {"directory": addresses.base, "revision": addresses.revision, "since": ref, "since_commit": commit}
    return ReviewSubject(kind, about, addresses)


def _judged(subject: ReviewSubject, problems: Iterable[Diagnostic], verdict: Verdict | None) -> ReviewSubject:
    """A copy of the subject with diagnostics, and with the findings of a verdict."""
    if verdict is None:
        return evolve(subject, diagnostics=list(problems))
    from planner.answers.policy.model import TITLES
    from planner.render.verdicts import judged

    codes = {code for code, _ in TITLES.values()}
    others = [one for one in problems if one.code not in codes]  # the review lists findings of policies separately
    return evolve(
        subject, diagnostics=others, findings=verdict.findings, judged=judged(verdict), checked=tuple(verdict.codes)
    )


def _plan_file(path: str) -> dict[str, str]:
    """The name and the SHA-256 digest of a plan file; empty if it cannot be read."""
    from hashlib import sha256

    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return {}
    return {"plan_file": os.path.basename(path), "plan_digest": sha256(data).hexdigest()}
