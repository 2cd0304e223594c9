"""The server of live pages for `explore -serve`, `batch explore -serve` and `stacks plan -serve`.

The server serves only browsers on this machine. The main thread plans, and answers one question at a time. Threads that
handle requests wait for the main thread, and do not use planner's data. The server never applies a plan, and requests
cannot name files or programs."""

from __future__ import annotations

import hmac
import json
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
from typing import Any

from planner.cli.flags import UsageError
from planner.foundation.support.exact_json import dumps
from planner.foundation.support.watch import changes
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, defect, error
from planner.render.page.document import Page, page_json
from planner.render.page.page import document_html
from planner.render.terminal import Terminal

_INPUTS = ("policies", "rules", "batch-policies", "batch-rules")
"""directories in .planner that plans of fleets and stacks read"""
LARGEST_REQUEST = 1 << 16
"""maximum size of a request, in bytes"""
LONGEST_QUESTION = 2000
"""maximum length of a question, in characters"""
LONGEST_ANSWER = 1 << 18
"""maximum length of an answer, in characters"""
MOST_SNAPSHOTS, MOST_ROWS = 8, 500
_NO_SNAPSHOT = "The snapshot does not exist"
_WORD = re.compile(r'(?:[^\s"\[(]|"(?:\\.|[^"\\])*"|\[(?:[^\]"]|"(?:\\.|[^"\\])*")*\]|(?<=\S)\()+(?:\s\([^)]*\))?')
MOST_REQUESTS = 24
BEAT = 10.0
"""seconds between two keep-alive messages to a browser"""

Body = dict[str, Any]


class LiveDocument:
    """The document, the state and the responses of a served page. Work that is passed to `answer` runs in the thread
    that called `run`. `first`: additional members of the document before the first plan."""

    first: Body = {}

    def __init__(self, title: str) -> None:
        self.title = title
        self.reads: dict[str, Callable[[], Body]] = {}
        """{path: function that answers GET}"""
        self.writes: dict[str, Callable[[Body], Body]] = {}
        """{path: function that answers POST}"""
        self.changed = Condition()
        self.document: Body | None = None
        self.state: Body = {
            "version": 0,
            "planning": True,
            "problems": "",
            "difference": None,
            "at": "",
            "is_shown": False,
        }
        self.tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.hide: Callable[[str], str] = str
        self.failed: list[str] = []
        """errors of units in the last plan, one per line"""

        self.reads["snapshots"] = self.snapshots
        for name in ("question", "keep", "drop", "compare"):
            self.writes[name] = getattr(self, name)
        self.writes["plan-again"] = self.plan_again
        self._is_due = False
        self._snapshots: dict[int, tuple[str, Any]] = {}

    def run(self) -> None:
        """Plan, and plan again whenever files change. Raises KeyboardInterrupt."""
        raise NotImplementedError

    def pause(self, seconds: float) -> bool:
        """Answer requests for this number of seconds. Returns True as soon as a request requires a new plan, otherwise
        False at the end of this time."""
        self._is_due, end = False, time.monotonic() + seconds
        while not self._is_due and (left := end - time.monotonic()) > 0:
            try:
                self.tasks.get(timeout=left)()
            except queue.Empty:
                break
        return self._is_due

    def plan_again(self, _: Body) -> Body:
        """Handle the page's request to plan again, which is needed for changes outside the files of the plan."""
        self._is_due = True
        return {}

    def publish(self, **state: Any) -> None:
        with self.changed:
            self.state = {**self.state, **state}
            self.changed.notify_all()

    def plan(self, make: Callable[[list[Diagnostic]], None]) -> None:
        """Call `make`, which appends diagnostics. While it runs, the page shows that planning is in progress;
        afterwards, the page shows the diagnostics. After a failure, the page keeps its former document."""
        began, version = time.monotonic(), self.state["version"]
        self.publish(planning=True)
        problems: list[Diagnostic] = []
        try:
            make(problems)
        except Failure as failure:
            problems += failure.diagnostics
        except UsageError as problem:
            problems.append(error("cli.usage", str(problem), problem.detail))
        except Exception as problem:
            problems.append(defect(problem))  # the page is still served, because the next plan may succeed
        shown = [self.hide(text) for text in dict.fromkeys([*map(line_of, problems), *self.failed])]
        seconds, is_shown = f"in {time.monotonic() - began:.1f} s", self.state["version"] > version
        self.publish(planning=False, problems="\n".join(shown), at=seconds, is_shown=is_shown)

    def next_state(self, known: Body | None, is_over: Callable[[], bool]) -> Body:
        """Wait until the state differs from `known` or `is_over` returns True, but at most BEAT seconds. Returns the
        state."""
        with self.changed:
            self.changed.wait_for(lambda: self.state is not known or is_over(), BEAT)
            return self.state

    def answer(self, work: Callable[[], Body]) -> Body:
        """Run `work` in the main thread and return its result. If it raises an exception, the result has `problems`."""
        done, results = Event(), list[Body]()

        def task() -> None:
            try:
                results.append(work())
            except Failure as failure:
                results.append({"text": "", "problems": "\n".join(map(line_of, failure.diagnostics))})
            except UsageError as problem:
                results.append({"text": "", "problems": f"{problem}. {problem.detail}".rstrip()})
            except (KeyError, TypeError, ValueError, OverflowError):
                results.append({"text": "", "problems": "The question is not valid."})
            except Exception as problem:
                results.append({"text": "", "problems": line_of(defect(problem))})
            finally:
                done.set()

        self.tasks.put(task)
        done.wait()
        document: Body = results[0] if results else {"text": "", "problems": "planner is shutting down."}
        return hidden_document(document, self.hide)

    # ------------------------------------------------------------ questions

    def question(self, body: Body) -> Body:
        """The output of a command that answers a question. Raises UsageError and Failure."""
        text = str(body["text"] or "").strip()
        if len(text) > LONGEST_QUESTION:
            raise UsageError("The question is too long", f"A question has at most {LONGEST_QUESTION} characters.")
        words = [str(word) for word in body.get("words", ())] or _words(text)
        out, err = StringIO(), StringIO()
        terminal = Terminal(StringIO(), out, err, colour=False, width=100)
        self.ask(str(body["kind"]), text, words, bool(body.get("full")), terminal)
        return {"text": _cut(out.getvalue()), "problems": _cut(err.getvalue())}

    def ask(self, kind: str, text: str, words: list[str], is_full: bool, terminal: Terminal) -> None:
        """Print the answer to a question. `kind`: why, why-not, fix or query. `words`: the words of `text`. Raises
        UsageError and Failure."""
        raise NotImplementedError

    # ------------------------------------------------------------ snapshots

    def current(self) -> tuple[str, Any]:
        """The default name for a snapshot of the current plan, and the plan. Raises UsageError if there is no plan."""
        raise NotImplementedError

    def differences(self, without: Any, within: Any) -> Body:
        """The differences between two plans: {"rows": [[object, its action in each plan ("absent" without it), cause,
        [[name of a value, its text in each plan]]]], "counts": each plan's objects by action, "more": the number of
        rows that are left out because there are more than MOST_ROWS}."""
        raise NotImplementedError

    def keep(self, body: Body) -> Body:
        """Keep the current plan as a snapshot. If there are too many snapshots, the oldest is removed. Returns all
        snapshots, and the names of those `removed`."""
        usual, plan = self.current()
        number = max(self._snapshots, default=0) + 1
        self._snapshots[number] = str(body.get("name") or "").strip()[:80] or usual, plan
        removed = [self._snapshots.pop(old)[0] for old in sorted(self._snapshots)[:-MOST_SNAPSHOTS]]
        return {**self.snapshots(), "removed": removed}

    def drop(self, body: Body) -> Body:
        number = int(body["number"])
        if number not in self._snapshots:
            raise UsageError("Choose a snapshot: the current plan cannot be removed" if number == 0 else _NO_SNAPSHOT)
        del self._snapshots[number]
        return self.snapshots()

    def snapshots(self) -> Body:
        """All snapshots, as {"snapshots": [[number, name]]}."""
        return {"snapshots": [[number, name] for number, (name, _) in sorted(self._snapshots.items())]}

    def compare(self, body: Body) -> Body:
        """The differences between two snapshots, with their names. Number 0 is the current plan."""
        (one, without), (other, within) = (self._snapshot(int(body[side])) for side in ("one", "other"))
        return {"one": one, "other": other, **self.differences(without, within)}

    def _snapshot(self, number: int) -> tuple[str, Any]:
        if number == 0:
            return "The current plan", self.current()[1]
        if number not in self._snapshots:
            raise UsageError(_NO_SNAPSHOT)
        return self._snapshots[number]


Ask = Callable[[str, str, list[str], bool, Terminal], None]
"""prints the answer to a question: (kind, text, words of the text, whether to answer in full, terminal)"""


class LiveReport(LiveDocument):
    """The page of a fleet or stack. `make` returns the page (None on failure), the HTML below the page, diagnostics,
    and a string with the errors of each failed unit."""

    first: Body = {"live": "report", "below": '<div class="below"></div>'}

    def __init__(
        self, title: str, make: Callable[[], tuple[Page | None, str, list[Diagnostic], list[str]]], ask: Ask
    ) -> None:
        super().__init__(title)
        self._make, self._ask = make, ask

    def run(self) -> None:
        """Plan, answer questions, and plan again when a file in the directory changes. Raises KeyboardInterrupt."""
        for _ in changes(["."], hidden={".planner": _INPUTS}, pause=self.pause):
            self.plan(self._renew)

    def ask(self, kind: str, text: str, words: list[str], is_full: bool, terminal: Terminal) -> None:
        if kind not in ("why", "why-not", "query"):
            raise UsageError("Unknown question")
        if not (text if kind == "query" else words):
            raise UsageError("This question needs a name", "Name one or two units or components.")
        self._ask(kind, text, words, is_full, terminal)

    def current(self) -> tuple[str, Any]:
        if self.document is None:
            raise UsageError("There is no plan yet")
        return f"{time.strftime('%H:%M:%S', time.gmtime())} UTC: {self.document['title']}", self.document

    def differences(self, without: Body, within: Body) -> Body:
        (one, shown), (other, shown_later) = _outcomes(without), _outcomes(within)
        rows = []
        for unit in sorted(one.keys() | other.keys()):
            (was, facts), (now, later) = one.get(unit, ("absent", {})), other.get(unit, ("absent", {}))
            values = [
                [word, facts.get(word, "none"), later.get(word, "none")]
                for word in sorted(facts.keys() | later.keys())
                if facts.get(word) != later.get(word)
            ]
            if was != now or values:
                rows.append([unit, shown.get(was, was), shown_later.get(now, now), "", values])
        counts = [document["summary"][0] for document in (without, within)]
        return {"rows": rows[:MOST_ROWS], "counts": counts, "more": max(0, len(rows) - MOST_ROWS)}

    def _renew(self, problems: list[Diagnostic]) -> None:
        self.failed = []
        page, below, more, self.failed = self._make()
        problems += more
        if page is not None:
            version = self.state["version"] + 1
            self.document = {**page_json(page), "version": version, "live": "report", "below": below}
            self.publish(version=version)


def _outcomes(document: Body) -> tuple[dict[str, tuple[str, dict[str, str]]], dict[str, str]]:
    """From the page of a report: {unit: (its action, the facts to compare)}, and {action: its displayed name}."""
    nodes, strings = document["views"][0]["nodes"], document["strings"]
    planned = {change[0]: change[1] for change in document["changes"]}
    outcomes = {}
    for node, name in enumerate(nodes["name"]):
        unit, facts = strings[name], dict(nodes["facts"].get(str(node), ()))
        kept = {word: facts[word] for word in ("Objects", "Planned", "Deferred", "error") if word in facts}
        outcomes[unit] = planned.get(unit, ""), kept
    return outcomes, {action: words for action, _, _, words in document["actions"]}


def serve(live: LiveDocument, port: int, terminal: Terminal) -> int:
    """Serve until interrupted, then return 0. Raises UsageError for an invalid port, and Failure if the server cannot
    use the port."""
    if not 0 <= port <= 65535:
        raise UsageError("Option -port requires a port", "A port must be a number from 0 to 65535.")
    try:
        server = LiveServer(live, port)
    except OSError as problem:
        detail = f"Port {port} of the loopback interface: {problem.strerror or problem}."
        raise Failure(error("explore.port", "Cannot serve the page", detail)) from problem
    Thread(target=server.serve_forever, daemon=True).start()
    terminal.out(f"The page is at {server.address}\nPress Ctrl-C to stop.")
    terminal.stdout.flush()
    try:
        live.run()
    except KeyboardInterrupt:
        pass
    finally:
        server.shutdown()
        server.server_close()
    return 0


def quiet_terminal() -> Terminal:
    """A terminal that discards output."""
    return Terminal(StringIO(), StringIO(), StringIO(), colour=False, width=100)


def _words(text: str) -> list[str]:
    """The words of a text, split at spaces outside of instance keys. A fact such as `edge(a, b)` is a single word."""
    return [text] if re.match(r"[a-z_][\w.]*\(", text) else _WORD.findall(text)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_ANSWER else f"{text[:LONGEST_ANSWER]}\n... ({len(text)} characters)"


def line_of(diagnostic: Diagnostic) -> str:
    """A diagnostic on one line, without source code, which may contain values."""
    place = f"{diagnostic.subject.place}: " if diagnostic.subject is not None else ""
    return f"{diagnostic.severity.capitalize()}: {place}{diagnostic.summary}. {diagnostic.detail}".strip()


def hidden_document(document: Body, hide: Callable[[str], str]) -> Body:
    return {name: _hidden(item, hide) for name, item in document.items()}


def _hidden(value: Any, hide: Callable[[str], str]) -> Any:
    """A copy of a JSON document in which `hide` has replaced sensitive strings."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, Mapping):
        return {name: _hidden(item, hide) for name, item in value.items()}
    return [_hidden(item, hide) for item in value] if isinstance(value, list | tuple) else value


# ---------------------------------------------------------------- HTTP


class LiveServer(ThreadingHTTPServer):
    """Listens on the loopback interface. The address contains a token, which every request needs."""

    daemon_threads = True
    request_queue_size = MOST_REQUESTS

    def __init__(self, live: LiveDocument, port: int) -> None:
        super().__init__(("127.0.0.1", port), _LiveHandler)
        self.live, self.token = live, secrets.token_urlsafe(24)
        self.hosts = {f"127.0.0.1:{self.server_port}", f"localhost:{self.server_port}"}
        self.address = f"http://127.0.0.1:{self.server_port}/{self.token}/"
        self.room = BoundedSemaphore(MOST_REQUESTS)
        self.waiting: dict[Any, None] = {}
        """connections without a complete request, and event streams, oldest first"""

    def process_request(self, request: Any, client_address: Any) -> None:
        """Handle a request in a thread. If there are too many connections, the oldest waiting connection is closed, so
        that slow clients do not block others."""
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
        """Ignore errors of connections that the browser has closed."""


class _LiveHandler(BaseHTTPRequestHandler):
    server: LiveServer
    timeout = 30
    server_version, sys_version = "planner", ""
    error_message_format = "<!DOCTYPE html>\n<title>%(code)d %(message)s</title>\n<p>%(message)s. %(explain)s\n"

    def do_GET(self) -> None:
        route, live = self._route(), self.server.live
        if route == "":
            self._send("text/html; charset=utf-8", self._page().encode())
        elif route == "events":
            self._events()
        elif route == "plan":
            self._json(live.document or {})
        elif route is not None and route in live.reads:
            self._json(live.answer(live.reads[route]))
        elif route is not None:
            self.send_error(404)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send an error. The body of the response explains what to do, for people who open the address in a browser."""
        if code == 403:
            explain = "Open the address that planner printed, with its token. Each server has a new token."
        super().send_error(code, message, explain)

    def do_POST(self) -> None:
        route, live = self._route(is_writing=True), self.server.live
        if route is None:
            return
        if route not in live.writes:
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
        self._json(live.answer(lambda: live.writes[route](body)))

    def _route(self, is_writing: bool = False) -> str | None:
        """The path after the token; None if the request was refused or redirected. Requests from pages of other sites
        have a different origin, and requests after DNS rebinding have a different host name."""
        get, hosts = self.headers.get, self.server.hosts
        origin, site = get("Origin"), get("Sec-Fetch-Site")
        is_own = get("Host") in hosts and (origin is None or origin in {f"http://{host}" for host in hosts})
        is_own = is_own and site in (None, "none", "same-origin")
        if is_writing:
            is_own = is_own and origin is not None and get("Content-Type", "").split(";")[0] == "application/json"
        token, slash, route = self.path[1:].partition("/")
        if not is_own or not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self.send_error(403)
            return None
        if not slash and is_writing:
            self.send_error(404)
            return None
        if not slash:
            self.send_response(308)
            self.send_header("Location", f"/{token}/")
            self.send_header("Content-Length", "0")
            self._headers("text/plain")
            return None
        if not is_writing and route != "events":
            self.server.waiting.pop(self.connection, None)
        return route

    def _page(self) -> str:
        live = self.server.live
        with live.changed:
            live.changed.wait_for(lambda: live.document is not None or not live.state["planning"])
        document = live.document or {**empty_document(live.title), **live.first}
        return document_html(document, document.get("below", ""), is_live=True)

    def _events(self) -> None:
        """Send the state now, and after each change until the browser disconnects."""
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
        """Log nothing, because the address of a request contains the token."""


def empty_document(title: str) -> Body:
    """The JSON document of a page before the first plan."""
    view = {"name": "none", "title": "No plan yet", "is_reduced": False, "boxes": [["", "", -1, []]]}
    names = ("name", "label", "kind", "about", "box", "place")
    view["nodes"] = {**{name: [] for name in names}, "changes": {}, "facts": {}}
    view["edges"] = {name: [] for name in ("from", "to", "layers", "grounds")} | {"reads": [[], []]}
    page = Page(title, ("There is no plan yet.",), (), (("reference", ""), ("order", "")), ())
    return {**page_json(page), "views": [view]}
