"""`explore -serve`: the page of a plan that follows the files, served to browsers of this machine.

The main thread plans and answers questions, one at a time, so that nothing of the process is shared between threads.
The threads of requests wait for it. Nothing is ever applied, and no request names a file or a program.
"""

from __future__ import annotations

import gc
import hmac
import json
import os
import queue
import re
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from socket import SHUT_RDWR
from threading import BoundedSemaphore, Condition, Event, Thread
from typing import TYPE_CHECKING, Any

from planner.api.making import Making, actions_of, compared
from planner.api.questions import Questions
from planner.api.validation import Validation
from planner.cli.commands import query, why
from planner.cli.commands.watch import SECONDS, PlanFiles
from planner.cli.flags import UsageError, parse
from planner.foundation.support.exact_json import dumps
from planner.foundation.support.signals import STOP
from planner.foundation.values.value import Unknown, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, defect, error
from planner.foundation.vocabulary.records import evolve
from planner.language.syntax.node_sets import VERBS
from planner.logic.programs.actions import NO_OP, Counts, verb_of
from planner.render.cause_line import root_lines
from planner.render.page.document import Page, page_json
from planner.render.page.of_plan import page_of_plan
from planner.render.page.page import document_html, hiding
from planner.render.plan import pending
from planner.render.terminal import Terminal
from planner.render.value import format_value

if TYPE_CHECKING:
    from planner.api.making import MadePlan, PlanComparison

LARGEST_REQUEST = 1 << 16
"""bytes"""
LONGEST_ANSWER = 1 << 18
"""characters"""
MOST_REQUESTS, MOST_SNAPSHOTS, MOST_ROWS = 24, 8, 500
BEAT = 10.0
"""seconds between two signs of life to a browser that waits for events"""
_WORD = re.compile(r'(?:[^\s"\[(]|"(?:\\.|[^"\\])*"|\[(?:[^\]"]|"(?:\\.|[^"\\])*")*\]|(?<=\S)\()+(?:\s\([^)]*\))?')

Body = dict[str, Any]


def serve(calls_of: Callable[[], Questions], kinds: tuple[str, ...], port: int, terminal: Terminal) -> int:
    """Serve the page until interrupted: 0. Raises Failure where the port is taken."""
    live = _LivePage(calls_of, kinds)
    try:
        server = _LiveServer(live, port)
    except OSError as problem:
        detail = f"Port {port} of the loopback interface: {problem.strerror or problem}."
        raise Failure(error("explore.port", "Cannot serve the page", detail)) from problem
    Thread(target=server.serve_forever, daemon=True).start()
    terminal.out(f"The page is at {server.address}. Ctrl-C ends this.")
    terminal.stdout.flush()
    try:
        live.run()
    except KeyboardInterrupt:
        pass
    finally:
        server.shutdown()
        server.server_close()
    return 0


class _LivePage:
    """The plan, its page and the snapshots. `run` and all work of `answer` happen in one thread."""

    def __init__(self, calls_of: Callable[[], Questions], kinds: tuple[str, ...]) -> None:
        self._calls_of, self._kinds = calls_of, kinds
        self._making = Making.of_command()
        self.title = f"Plan of {os.path.basename(os.path.realpath('.'))}"  # now: the directory may disappear
        self._calls: Questions | None = None
        self._made: MadePlan[Any] | None = None
        self._snapshots: dict[int, tuple[str, MadePlan[Any]]] = {}
        self._tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._hide: Callable[[str], str] = str
        self.changed = Condition()
        self.document: Body | None = None
        self.state: Body = {"version": 0, "planning": True, "problems": "", "difference": None, "at": ""}

    # ------------------------------------------------------------ planning

    def run(self) -> None:
        """Plan, answer questions, and plan again when a file was changed. Raises KeyboardInterrupt."""
        files = PlanFiles()
        while True:
            since = time.time_ns()
            self._plan()
            files.also(self._making, self._made, since)
            gc.collect()
            while not files.edits():
                if STOP.requested:
                    raise KeyboardInterrupt
                try:
                    self._tasks.get(timeout=SECONDS)()
                except queue.Empty:
                    continue
            time.sleep(SECONDS / 5)  # an editor may write several files
            files.edits()

    def _plan(self) -> None:
        """The next plan. Where it cannot be made the last good one stays, with the problems."""
        began = time.monotonic()
        self._publish(planning=True)
        problems: list[Diagnostic] = []
        try:
            calls = self._calls_of()
            self._making = Making(calls.options, owns_process=True)
            answer = self._making.plan_to_explain()
            problems += answer.diagnostics
            made = answer.complete
            if made is not None:
                self._show(_about(calls, made), made, problems)
        except Failure as failure:
            problems += failure.diagnostics
        except UsageError as problem:
            problems.append(error("cli.usage", str(problem), problem.detail))
        except Exception as problem:
            problems.append(defect(problem))  # the page goes on: the next save may not meet it
        shown = [self._hide(_line(one)) for one in dict.fromkeys(problems)]
        self._publish(planning=False, problems="\n".join(shown), at=f"in {time.monotonic() - began:.1f} s")

    def _show(self, calls: Questions, made: MadePlan[Any], problems: list[Diagnostic]) -> None:
        explored, more = calls.exploration(self._kinds)
        problems += [one for one in more if one not in problems]
        if explored is None:
            return
        page = page_of_plan(explored, self.title, "planner why -full")
        former, self._hide = self._hide, hiding(made.plan)
        difference = None
        if self._made is not None:
            difference = _hidden_document(_rows(compared(self._made, made)), _both(former, self._hide))
        version = self.state["version"] + 1
        self._calls, self._made, self.document = calls, made, {**page_json(page), "version": version}
        self._publish(version=version, difference=difference)

    def _publish(self, **state: Any) -> None:
        with self.changed:
            self.state = {**self.state, **state}
            self.changed.notify_all()

    def next_state(self, known: Body | None, is_over: Callable[[], bool]) -> Body:
        """The state as soon as it is not the known one or `is_over`, or after a while."""
        with self.changed:
            self.changed.wait_for(lambda: self.state is not known or is_over(), BEAT)
            return self.state

    # ------------------------------------------------------------ questions

    def answer(self, work: Callable[[], Body]) -> Body:
        """The result of work in the main thread. What is wrong with the question is a result, too."""
        done, results = Event(), list[Body]()

        def task() -> None:
            try:
                results.append(work())
            except Failure as failure:
                results.append({"text": "", "problems": "\n".join(map(_line, failure.diagnostics))})
            except UsageError as problem:
                results.append({"text": "", "problems": f"{problem}. {problem.detail}".rstrip()})
            except (KeyError, TypeError, ValueError, OverflowError):
                results.append({"text": "", "problems": "The question is not valid."})
            except Exception as problem:
                results.append({"text": "", "problems": _line(defect(problem))})
            finally:
                done.set()

        self._tasks.put(task)
        done.wait()
        document: Body = results[0] if results else {"text": "", "problems": "planner is ending."}
        return _hidden_document(document, self._hide)

    def variables(self) -> Body:
        """The input variables of the root module."""
        reports, problems = Validation(self._standing.options, owns_process=True).variables()
        shown = [
            {
                "name": one.name,
                "type": one.type,
                "sensitive": one.sensitive,
                "value": _default_text(one.given, one.sensitive),
            }
            for one in reports
        ]
        return {"variables": shown, "problems": "\n".join(map(_line, problems))}

    def question(self, body: Body) -> Body:
        """The answer to why, why-not, fix or query, as the command prints it."""
        kind, text = str(body["kind"]), str(body["text"]).strip()
        words = [str(word) for word in body.get("words", ())] or _words(text)
        out, err = StringIO(), StringIO()
        terminal = Terminal(StringIO(), out, err, colour=False, width=100)
        if kind == "query":
            arguments = parse([], query.ANSWER)
            if not words:
                raise UsageError("The query is empty")
            question = tuple(words) if words[0] in VERBS and len(words) > 1 else (text,)
            answers, problems = self._standing.answers(question)
            query.tell(answers, problems, arguments, terminal)
        elif kind in ("why", "why-not", "fix"):
            arguments = parse([], why.FLAGS)
            arguments.words = words
            arguments.values.update({"not": kind == "why-not", "fix": kind == "fix", "full": bool(body.get("full"))})
            why.answer(arguments, terminal, self._standing)
        else:
            raise UsageError("Unknown question")
        return {"text": _cut(out.getvalue()), "problems": _cut(err.getvalue())}

    def what_if(self, body: Body) -> Body:
        """The plan with other values of variables beside the present one."""
        given = tuple(f"{name}={value}" for name, value in sorted(dict(body["variables"]).items()))
        if not given:
            raise UsageError("No variable has another value")
        comparison, problems = self._standing.variation(given)
        text = "\n".join(map(_line, problems))
        if comparison is None:
            return {"text": "", "problems": text}
        hide = hiding(comparison.within.plan)
        names = {"one": "The present plan", "other": "With these values", "problems": text}
        return _hidden_document({**names, **_rows(comparison)}, hide)

    def keep(self, body: Body) -> Body:
        """Keep the present plan as a snapshot."""
        if self._made is None:
            raise UsageError("There is no plan yet")
        number, plan = max(self._snapshots, default=0) + 1, self._made.plan
        name = str(body.get("name", "")).strip()[:80] or f"{plan.timestamp[11:19]} UTC: {pending(Counts.of_plan(plan))}"
        self._snapshots[number] = name, self._made
        for old in sorted(self._snapshots)[:-MOST_SNAPSHOTS]:
            del self._snapshots[old]
        return self.snapshots()

    def snapshots(self) -> Body:
        """The kept plans, by number."""
        return {"snapshots": [[number, name] for number, (name, _) in sorted(self._snapshots.items())]}

    def compare(self, body: Body) -> Body:
        """Two plans side by side: the rows that differ. 0 is the present plan."""
        chosen = [self._snapshot(int(body[side])) for side in ("one", "other")]
        (one, without), (other, within) = chosen
        comparison = compared(without, within)
        hide = _both(hiding(without.plan), hiding(within.plan))
        return _hidden_document({"one": one, "other": other, **_rows(comparison)}, hide)

    def _snapshot(self, number: int) -> tuple[str, MadePlan[Any]]:
        if number == 0 and self._made is not None:
            return "The present plan", self._made
        if number not in self._snapshots:
            raise UsageError("There is no such snapshot")
        return self._snapshots[number]

    @property
    def _standing(self) -> Questions:
        if self._calls is None or self._made is None:
            raise UsageError("There is no plan yet")
        return self._calls


def _about(calls: Questions, made: MadePlan[Any]) -> Questions:
    """These calls about a plan that is there."""
    return Questions(evolve(calls.options, made=made), owns_process=True)


def _rows(comparison: PlanComparison) -> Body:
    """The rows of two plans side by side: object, both actions, cause, and values with both texts."""
    without, within = comparison.without, comparison.within
    actions = {**actions_of(without), **actions_of(within)}
    rows = []
    for one in comparison.differences[:MOST_ROWS]:
        lines = root_lines(one.because, one.name, actions) if one.because is not None else []
        verbs = [verb_of(action) if action != NO_OP else "" for action in (one.without, one.within)]
        cause = lines[0].removeprefix("because ") if lines else ""
        rows.append([one.name, *verbs, cause, [[v.what, v.without, v.within] for v in one.values]])
    counts = [pending(Counts.of_plan(made.plan)) for made in (without, within)]
    return {"rows": rows, "counts": counts, "more": len(comparison.differences) - len(rows)}


def _words(text: str) -> list[str]:
    """The words of a question: a fact is one, and blanks in keys and before parentheses do not separate."""
    return [text] if re.match(r"[a-z_][\w.]*\(", text) else _WORD.findall(text)


def _line(diagnostic: Diagnostic) -> str:
    """A diagnostic without lines of files, which may have values."""
    place = f"{diagnostic.subject.place}: " if diagnostic.subject is not None else ""
    return f"{diagnostic.severity.capitalize()}: {place}{diagnostic.summary}. {diagnostic.detail}".strip()


def _default_text(given: Any, is_sensitive: bool) -> str:
    if given is None or given.value is None or isinstance(given.value, Unknown):
        return ""
    plain, marks = unmark_deep(given.value)
    return "" if marks or is_sensitive else plain if isinstance(plain, str) else format_value(given.value, 0)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_ANSWER else f"{text[:LONGEST_ANSWER]}\n... ({len(text)} characters)"


def _both(one: Callable[[str], str], other: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: one(other(text))


def _hidden_document(document: Body, hide: Callable[[str], str]) -> Body:
    return {name: _hidden(item, hide) for name, item in document.items()}


def _hidden(value: Any, hide: Callable[[str], str]) -> Any:
    """A document without sensitive strings."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, Mapping):
        return {name: _hidden(item, hide) for name, item in value.items()}
    return [_hidden(item, hide) for item in value] if isinstance(value, list | tuple) else value


# ---------------------------------------------------------------- HTTP


class _LiveServer(ThreadingHTTPServer):
    """Listens on the loopback interface. The address has a token, without which everything is refused."""

    daemon_threads = True
    request_queue_size = MOST_REQUESTS

    def __init__(self, live: _LivePage, port: int) -> None:
        super().__init__(("127.0.0.1", port), _LiveHandler)
        self.live, self.token = live, secrets.token_urlsafe(24)
        self.hosts = {f"127.0.0.1:{self.server_port}", f"localhost:{self.server_port}"}
        self.address = f"http://127.0.0.1:{self.server_port}/{self.token}/"
        self.room = BoundedSemaphore(MOST_REQUESTS)
        self.waiting: dict[Any, None] = {}
        """connections without a complete request, and streams of events; the oldest is first"""

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread. If there is no room, the oldest waiting connection ends: slow clients block none."""
        is_free = self.room.acquire(blocking=False)
        if not is_free and (oldest := next(iter(self.waiting), None)) is not None:
            self.waiting.pop(oldest, None)
            with suppress(OSError):
                oldest.shutdown(SHUT_RDWR)
            with self.live.changed:
                self.live.changed.notify_all()
            is_free = self.room.acquire(timeout=1)
        if not is_free:
            self.shutdown_request(request)
            return
        self.waiting[request] = None
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.waiting.pop(request, None)
            self.room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that has gone is not a problem."""


class _LiveHandler(BaseHTTPRequestHandler):
    server: _LiveServer
    timeout = 30
    server_version, sys_version = "planner", ""

    def do_GET(self) -> None:
        route, live = self._route(), self.server.live
        if route == "":
            self._send("text/html; charset=utf-8", self._page().encode())
        elif route == "events":
            self._events()
        elif route == "plan":
            self._json(live.document or {})
        elif route == "variables":
            self._json(live.answer(live.variables))
        elif route == "snapshots":
            self._json(live.answer(live.snapshots))
        elif route is not None:
            self.send_error(404)

    def do_POST(self) -> None:
        route, live = self._route(is_writing=True), self.server.live
        work: Mapping[str, Callable[[Body], Body]] = {
            "question": live.question,
            "what-if": live.what_if,
            "keep": live.keep,
            "compare": live.compare,
        }
        if route is None:
            return
        if route not in work:
            self.send_error(404)
            return
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or int(length) > LARGEST_REQUEST:
            self.send_error(413)
            return
        try:
            body = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            self.send_error(400)
            return
        self.server.waiting.pop(self.connection, None)
        self._json(live.answer(lambda: work[route](body)))

    def _route(self, is_writing: bool = False) -> str | None:
        """The path behind the token; None when the request was refused. Pages of other sites have another origin, and
        names that lead here by rebinding are other hosts."""
        get, hosts = self.headers.get, self.server.hosts
        origin, site = get("Origin"), get("Sec-Fetch-Site")
        is_own = get("Host") in hosts and (origin is None or origin in {f"http://{host}" for host in hosts})
        is_own = is_own and site in (None, "none", "same-origin")
        if is_writing:
            is_own = is_own and origin is not None and get("Content-Type", "").split(";")[0] == "application/json"
        token, slash, route = self.path[1:].partition("/")
        if not is_own or not slash or not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self.send_error(403)
            return None
        if not is_writing and route != "events":
            self.server.waiting.pop(self.connection, None)
        return route

    def _page(self) -> str:
        live = self.server.live
        with live.changed:
            live.changed.wait_for(lambda: live.document is not None or not live.state["planning"])
        return document_html(live.document or empty_document(live.title), is_live=True)

    def _events(self) -> None:
        """The state now, and each time that it changes, until the browser has gone."""
        self.send_response(200)
        self._headers("text/event-stream")
        sent: Body | None = None
        while True:
            state = self.server.live.next_state(sent, lambda: self.connection not in self.server.waiting)
            text = b": beat\n\n" if state is sent else b"data: " + dumps(state).strip() + b"\n\n"
            sent = state
            try:
                self.wfile.write(text)
                self.wfile.flush()
            except OSError:
                return

    def _json(self, document: Body) -> None:
        self._send("application/json", dumps(document))

    def _send(self, kind: str, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self._headers(kind)
        self.wfile.write(content)

    def _headers(self, kind: str) -> None:
        known = {
            "Content-Type": kind,
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
        for name, value in known.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged: their addresses have the token."""


def empty_document(title: str) -> Body:
    """The document of a page before the first plan."""
    view = {"name": "plan", "title": "No plan yet", "is_reduced": False, "boxes": [["", "", -1, []]]}
    names = ("name", "label", "kind", "about", "box", "place")
    view["nodes"] = {**{name: [] for name in names}, "changes": {}, "facts": {}}
    view["edges"] = {name: [] for name in ("from", "to", "layers", "grounds")}
    page = Page(title, ("There is no plan yet.",), (), (("reference", ""), ("order", "")), ())
    return {**page_json(page), "views": [view]}
