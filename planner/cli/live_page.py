"""`explore -serve`: a page about a plan. The page is updated when files change, and answers questions."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from planner.api.installation import Validation
from planner.api.making import Making, actions_of, compared
from planner.api.questions import Questions
from planner.cli.commands import query, why
from planner.cli.commands.watch import SECONDS, PlanFiles
from planner.cli.flags import UsageError, parse
from planner.cli.live_server import MOST_ROWS, Body, LiveDocument, hidden_document, line_of
from planner.foundation.support.signals import STOP
from planner.foundation.values.expression_text import literal, whole_text
from planner.foundation.values.value import Unknown, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.records import evolve
from planner.language.syntax.node_sets import VERBS
from planner.logic.programs.actions import NO_OP, verb_of, verbs
from planner.render.page.document import page_json
from planner.render.page.of_plan import object_counts, page_of_plan
from planner.render.page.page import hiding
from planner.render.terminal import Terminal
from planner.render.what_if import cause_lines, difference_head

if TYPE_CHECKING:
    from planner.api.making import MadePlan, PlanComparison


class LivePage(LiveDocument):
    """A plan and its page. The work that is passed to `answer` runs in the thread of `run`."""

    def __init__(self, calls_of: Callable[[], Questions], kinds: tuple[str, ...]) -> None:
        self._calls_of, self._kinds = calls_of, kinds
        # read at the start, because the directory may disappear later
        super().__init__(f"Plan of {os.path.basename(os.path.realpath('.'))}")
        self.reads["variables"] = self.variables
        self.writes["what-if"] = self.what_if
        self._making = Making.of_command()
        self._calls: Questions | None = None
        self._made: MadePlan[Any] | None = None

    # ------------------------------------------------------------ planning

    def run(self) -> None:
        """Plan, answer questions, and plan again after each change of a file. Raises KeyboardInterrupt."""
        files = PlanFiles()
        while True:
            since = time.time_ns()
            self.plan(self._plan)
            files.also(self._making, self._made, since)
            gc.collect()
            while not self.pause(SECONDS) and not files.edits():
                if STOP.requested:
                    raise KeyboardInterrupt
            time.sleep(SECONDS / 5)  # an editor may write several files at once
            files.edits()

    def _plan(self, problems: list[Diagnostic]) -> None:
        """Make the next plan and its page."""
        calls = self._calls_of()
        self._making = Making(calls.options, owns_process=True)
        answer = self._making.plan_to_explain()
        problems += answer.diagnostics
        if answer.complete is not None:
            self._show(_about(calls, answer.complete), answer.complete, problems)

    def _show(self, calls: Questions, made: MadePlan[Any], problems: list[Diagnostic]) -> None:
        explored, more = calls.exploration(self._kinds)
        problems += [one for one in more if one not in problems]
        if explored is None:
            return
        page = page_of_plan(explored, self.title, "planner why -full")
        former, self.hide = self.hide, hiding(made.plan)
        difference = None
        if self._made is not None:
            difference = hidden_document(_rows(compared(self._made, made)), _both(former, self.hide))
        version = self.state["version"] + 1
        self._calls, self._made, self.document = calls, made, {**page_json(page), "version": version}
        self.publish(version=version, difference=difference)

    # ------------------------------------------------------------ questions

    def variables(self) -> Body:
        """The root module's input variables."""
        reports, problems = Validation(self._standing.options, owns_process=True).variables()
        shown = [
            {
                "name": one.name,
                "type": one.type,
                "description": one.description,
                "sensitive": one.sensitive,
                "value": _default_text(one.given, one.sensitive),
            }
            for one in reports
        ]
        return {"variables": shown, "problems": "\n".join(map(line_of, problems))}

    def ask(self, kind: str, text: str, words: list[str], is_full: bool, terminal: Terminal) -> None:
        if kind == "query":
            arguments = parse([], query.ANSWER)
            if not words:
                raise UsageError("The query is empty", 'For example: action(A, "create")')
            question = tuple(words) if words[0] in VERBS and len(words) > 1 else (text,)
            answers, problems = self._standing.answers(question)
            query.tell(answers, problems, arguments, terminal)
        elif kind in ("why", "why-not", "fix"):
            if kind != "why" and (not words or (words[0] in verbs() and len(words) == 1)):
                raise UsageError("This question needs an address", "Name an object of the plan, such as output.NAME.")
            arguments = parse([], why.FLAGS)
            arguments.words = words
            arguments.values.update({"not": kind == "why-not", "fix": kind == "fix", "full": is_full})
            why.answer(arguments, terminal, self._standing)
        else:
            raise UsageError("Unknown question")

    def what_if(self, body: Body) -> Body:
        """The differences between the current plan and a plan with other values of variables. Raises UsageError."""
        given = tuple(f"{name}={value}" for name, value in sorted(dict(body["variables"]).items()))
        if not given:
            raise UsageError("No variable has a different value", "Enter a value first.")
        comparison, problems = self._standing.variation(given)
        text = "\n".join(map(line_of, problems))
        if comparison is None:
            return {"text": "", "problems": text}
        hide = _both(hiding(comparison.without.plan), hiding(comparison.within.plan))
        names = {"one": "The current plan", "other": "With these values", "problems": text}
        return hidden_document({**names, **_rows(comparison)}, hide)

    def current(self) -> tuple[str, MadePlan[Any]]:
        if self._made is None:
            raise UsageError("There is no plan yet")
        plan = self._made.plan
        return f"{plan.timestamp[11:19]} UTC: {object_counts(plan)}", self._made

    def differences(self, without: MadePlan[Any], within: MadePlan[Any]) -> Body:
        return hidden_document(_rows(compared(without, within)), _both(hiding(without.plan), hiding(within.plan)))

    @property
    def _standing(self) -> Questions:
        if self._calls is None or self._made is None:
            raise UsageError("There is no plan yet")
        return self._calls


def _about(calls: Questions, made: MadePlan[Any]) -> Questions:
    """An object that answers questions about this plan without planning again."""
    return Questions(evolve(calls.options, made=made), owns_process=True)


def _rows(comparison: PlanComparison) -> Body:
    """The differences between two plans, in the form of `LiveDocument.differences`."""
    without, within = comparison.without, comparison.within
    actions = {**actions_of(without), **actions_of(within)}
    heads: dict[str, set[str]] = {}
    for one in comparison.differences:
        heads.setdefault(difference_head(one, actions), set()).update(cause_lines(one, actions)[:1])
    rows = []
    for one in comparison.differences[:MOST_ROWS]:
        both = ((one.without, one.was_planned), (one.within, one.is_planned))
        shown = ["absent" if not is_in else verb_of(action) if action != NO_OP else "" for action, is_in in both]
        head = difference_head(one, actions)
        cause = (next(iter(heads[head])) if len(heads[head]) == 1 else head).removeprefix("because ")
        cause = cause.replace("no longer because ", "no longer: ", 1)
        rows.append([one.name, *shown, cause, [[v.what, v.without, v.within] for v in one.values]])
    counts = [object_counts(made.plan) for made in (without, within)]
    return {"rows": rows, "counts": counts, "more": len(comparison.differences) - len(rows)}


def _default_text(given: Any, is_sensitive: bool) -> str:
    if given is None or given.value is None or isinstance(given.value, Unknown):
        return ""
    plain, marks = unmark_deep(given.value)
    return "" if marks or is_sensitive else plain if isinstance(plain, str) else literal(whole_text(plain))


def _both(one: Callable[[str], str], other: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: one(other(text))
