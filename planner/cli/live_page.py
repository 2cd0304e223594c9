"""`explore -serve`: a page about a plan that is updated when files change, and answers questions."""

from __future__ import annotations

import gc
import os
import queue
import re
import time
from collections.abc import Callable
from io import StringIO
from typing import TYPE_CHECKING, Any

from planner.api.installation import Validation
from planner.api.making import Making, actions_of, compared
from planner.api.questions import Questions
from planner.cli.commands import query, why
from planner.cli.commands.watch import SECONDS, PlanFiles
from planner.cli.flags import UsageError, parse
from planner.cli.live_server import Body, LiveDocument, hidden_document, line_of
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

LONGEST_ANSWER = 1 << 18
"""maximum length of an answer, in characters"""
MOST_SNAPSHOTS, MOST_ROWS = 8, 500
_NO_SNAPSHOT = "The snapshot does not exist"
_WORD = re.compile(r'(?:[^\s"\[(]|"(?:\\.|[^"\\])*"|\[(?:[^\]"]|"(?:\\.|[^"\\])*")*\]|(?<=\S)\()+(?:\s\([^)]*\))?')


class LivePage(LiveDocument):
    """A plan, its page, and snapshots. The work of `answer` runs in the thread of `run`."""

    def __init__(self, calls_of: Callable[[], Questions], kinds: tuple[str, ...]) -> None:
        self._calls_of, self._kinds = calls_of, kinds
        # read now, because the directory may disappear
        super().__init__(f"Plan of {os.path.basename(os.path.realpath('.'))}")
        self.reads = {"variables": self.variables, "snapshots": self.snapshots}
        self.writes = {
            "question": self.question,
            "what-if": self.what_if,
            "keep": self.keep,
            "drop": self.drop,
            "compare": self.compare,
            "plan-again": self.plan_again,
        }
        self._making, self._is_due = Making.of_command(), False
        self._calls: Questions | None = None
        self._made: MadePlan[Any] | None = None
        self._snapshots: dict[int, tuple[str, MadePlan[Any]]] = {}

    # ------------------------------------------------------------ planning

    def run(self) -> None:
        """Plan, answer questions, and plan again after each change of a file. Raises KeyboardInterrupt."""
        files = PlanFiles()
        while True:
            since = time.time_ns()
            self.plan(self._plan)
            files.also(self._making, self._made, since)
            gc.collect()
            self._is_due = False
            while not self._is_due and not files.edits():
                if STOP.requested:
                    raise KeyboardInterrupt
                try:
                    self.tasks.get(timeout=SECONDS)()
                except queue.Empty:
                    continue
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

    def question(self, body: Body) -> Body:
        """The output of why, why -not, why -fix or query."""
        kind, text = str(body["kind"]), str(body["text"]).strip()
        words = [str(word) for word in body.get("words", ())] or _words(text)
        out, err = StringIO(), StringIO()
        terminal = Terminal(StringIO(), out, err, colour=False, width=100)
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
            arguments.values.update({"not": kind == "why-not", "fix": kind == "fix", "full": bool(body.get("full"))})
            why.answer(arguments, terminal, self._standing)
        else:
            raise UsageError("Unknown question")
        return {"text": _cut(out.getvalue()), "problems": _cut(err.getvalue())}

    def what_if(self, body: Body) -> Body:
        """The plan with other values of variables, compared with the current plan."""
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

    def plan_again(self, _: Body) -> Body:
        """Plan again, because something other than the plan's files changed."""
        self._is_due = True
        return {}

    def keep(self, body: Body) -> Body:
        """Keep the current plan as a snapshot; above the maximum, the oldest is removed."""
        if self._made is None:
            raise UsageError("There is no plan yet")
        number, plan = max(self._snapshots, default=0) + 1, self._made.plan
        name = str(body.get("name", "")).strip()[:80] or f"{plan.timestamp[11:19]} UTC: {object_counts(plan)}"
        self._snapshots[number] = name, self._made
        removed = [self._snapshots.pop(old)[0] for old in sorted(self._snapshots)[:-MOST_SNAPSHOTS]]
        return {**self.snapshots(), "removed": removed}

    def drop(self, body: Body) -> Body:
        number = int(body["number"])
        if number not in self._snapshots:
            raise UsageError("Choose a snapshot: the current plan cannot be removed" if number == 0 else _NO_SNAPSHOT)
        del self._snapshots[number]
        return self.snapshots()

    def snapshots(self) -> Body:
        """[[number, name]] of all snapshots."""
        return {"snapshots": [[number, name] for number, (name, _) in sorted(self._snapshots.items())]}

    def compare(self, body: Body) -> Body:
        """Two plans side by side, only with differing rows. Number 0 is the current plan."""
        chosen = [self._snapshot(int(body[side])) for side in ("one", "other")]
        (one, without), (other, within) = chosen
        comparison = compared(without, within)
        hide = _both(hiding(without.plan), hiding(within.plan))
        return hidden_document({"one": one, "other": other, **_rows(comparison)}, hide)

    def _snapshot(self, number: int) -> tuple[str, MadePlan[Any]]:
        if number == 0 and self._made is not None:
            return "The current plan", self._made
        if number not in self._snapshots:
            raise UsageError(_NO_SNAPSHOT)
        return self._snapshots[number]

    @property
    def _standing(self) -> Questions:
        if self._calls is None or self._made is None:
            raise UsageError("There is no plan yet")
        return self._calls


def _about(calls: Questions, made: MadePlan[Any]) -> Questions:
    """A copy of the calls, with questions about an existing plan."""
    return Questions(evolve(calls.options, made=made), owns_process=True)


def _rows(comparison: PlanComparison) -> Body:
    """{"rows": [[object, action in each plan ("absent" without the object), cause, [[name of a value, its text in each
    plan]]]], "counts": each plan's objects by action, "more": number of other rows}"""
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


def _words(text: str) -> list[str]:
    """The words of a text, split at spaces outside of keys and not before parentheses, so that a fact is one word."""
    return [text] if re.match(r"[a-z_][\w.]*\(", text) else _WORD.findall(text)


def _default_text(given: Any, is_sensitive: bool) -> str:
    if given is None or given.value is None or isinstance(given.value, Unknown):
        return ""
    plain, marks = unmark_deep(given.value)
    return "" if marks or is_sensitive else plain if isinstance(plain, str) else literal(whole_text(plain))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_ANSWER else f"{text[:LONGEST_ANSWER]}\n... ({len(text)} characters)"


def _both(one: Callable[[str], str], other: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: one(other(text))
