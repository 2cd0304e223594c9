"""planner for assistants: a server of the Model Context Protocol, over stdio or HTTP (extra `mcp`).

The server's tools answer questions about the configurations below a directory. The tools change nothing, except for
the tool `apply`, which exists only if the user allows it. Answers have a limited size and never contain sensitive
values."""

from __future__ import annotations

import hmac
import json
import os
import secrets
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

from planner.api.changes import Change, OutputChange
from planner.api.configuration import Configuration, load
from planner.api.model import Cause, Explanation
from planner.api.plan import Plan
from planner.api.session import Stop, in_thread
from planner.api.values import without
from planner.foundation.support.exact_json import dumps
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.release import RELEASE

if TYPE_CHECKING:
    from mcp.server import MCPServer

MAX_ENTRIES = 100
"""maximum number of changes, rows or vertices in an answer"""
MAX_SECONDS = 20.0
"""the time limit for evaluating a query, in seconds"""
MAX_CHARACTERS = 20_000
"""maximum length of a string in an answer"""
MAX_OF_ALL = 100_000
"""maximum total number of characters of an answer's entries; the first entry is always included"""
INSTRUCTIONS = """Answers about OpenTofu configurations: what a plan would change and why, with rules and lines as
evidence. Nothing is changed. Directories are relative to the directory in which the server was started. If an
explanation is not certain, its causes are candidates: report them as such."""

Answer = dict[str, Any]


def server(root: str, allow_apply: bool = False) -> MCPServer:
    """The MCP server for the configurations below the directory `root`. The server offers the tool `apply` only if
    `allow_apply` is true. Raises ImportError if the extra `mcp` is not installed."""
    from mcp.server import MCPServer
    from mcp.types import ToolAnnotations

    made = MCPServer("planner", version=RELEASE, instructions=INSTRUCTIONS, log_level="ERROR")
    tools = _Tools(os.path.realpath(root))
    for work in tools.reading():
        made.tool(annotations=ToolAnnotations(read_only_hint=True))(work)
    if allow_apply:
        made.tool(annotations=ToolAnnotations(destructive_hint=True))(tools.apply)
    return made


def with_token(app: Any, token: str) -> Any:
    """An ASGI application that passes only requests with the header `Authorization: Bearer TOKEN` to `app`. Other HTTP
    requests get the response 401, and other connections are closed."""
    wanted = f"Bearer {token}".encode()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "lifespan" or hmac.compare_digest(given, wanted):
            await app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    return guarded


class _Tools:
    """The tools of the server. Assistants see the names, parameters and docstrings of these functions."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._key = secrets.token_bytes(32)

    def _digest(self, plan: Plan) -> str:
        """A digest of a plan with all its values except the timestamp. It is computed with a secret key of the server,
        so that it does not reveal values."""
        document = {name: part for name, part in plan.to_json().items() if name != "timestamp"}
        return hmac.new(self._key, dumps(document), "sha256").hexdigest()[:32]

    def reading(self) -> tuple[Callable[..., Awaitable[Answer]], ...]:
        plans = (self.plan, self.why, self.why_not, self.what_if, self.query, self.blast, self.drift)
        return (self.validate, *plans, self.relations, self.graph_slice, self.policy_check)

    async def validate(self, directory: str = ".", variables: Answer | None = None) -> Answer:
        """Errors and warnings about a configuration alone, with file and line."""

        def work(stop: Stop) -> Answer:
            problems = self._load(directory, variables).validate()
            return {"valid": not any(d.is_error for d in problems), "diagnostics": _diagnostics(problems)}

        return await _answer(work)

    async def plan(
        self,
        directory: str = ".",
        variables: Answer | None = None,
        targets: list[str] | None = None,
        since: str = "",
    ) -> Answer:
        """The changes that applying a configuration would make, each with its action and its root causes (the inputs
        that changed, with former and current values where they are known). `since`: a git revision to compare with if
        the former values are not recorded."""

        def work(stop: Stop) -> Answer:
            with self._load(directory, variables).plan(targets=targets or (), since=since, stop=stop) as plan:
                return _summary(plan, self._digest(plan))

        return await _answer(work)

    async def why(self, words: list[str], directory: str = ".", variables: Answer | None = None) -> Answer:
        """The proof of a result: the rules, and the lines in files from which the facts come. `words`: an address (why
        the object at this address changes); two vertices (why the first waits for the second); ["unknown",
        "aws_vpc.a.id"]; ["replace", ADDRESS]."""
        return await self._prove(words, directory, variables, False)

    async def why_not(self, words: list[str], directory: str = ".", variables: Answer | None = None) -> Answer:
        """Why an object is not replaced (["replace", ADDRESS]) or not updated (["update", ADDRESS]), or why the first
        of two vertices does not wait for the second."""
        return await self._prove(words, directory, variables, True)

    async def what_if(
        self,
        directory: str = ".",
        variables: Answer | None = None,
        changed_variables: Answer | None = None,
        replace: list[str] | None = None,
        destroy: bool = False,
    ) -> Answer:
        """How the plan would differ with other values of variables (`changed_variables`), with a forced replacement, or
        as a plan to destroy everything. `variables` apply to both plans."""

        def work(stop: Stop) -> Answer:
            with self._load(directory, variables).plan(stop=stop) as plan:
                rows = plan.what_if(changed_variables, replace=replace or (), destroy=destroy).differences
                shown = [
                    {"object": d.name, "now": d.before, "then": d.after, **_reasons(d.explanation)}
                    for d in rows[:MAX_ENTRIES]
                ]
                return _limit_size({"differences": shown}, len(rows), "differences")

        return await _answer(work)

    async def query(self, text: str, directory: str = ".", variables: Answer | None = None) -> Answer:
        """The answer to a query about a plan. `text` is a Datalog query over the relations of the plan, for example
        `edge(X, "aws_vpc.main (expand)")` or `action(X, A), A != "no-op"`, or a set expression such as
        `rdeps("aws_vpc.main (expand)")`. The tool `relations` lists the relations."""

        return await self._rows((text,), directory, variables)

    async def blast(self, address: str, directory: str = ".", variables: Answer | None = None) -> Answer:
        """Everything that depends on an object, by distance, with the planned action of each dependent."""
        return await self._rows(("blast", address), directory, variables)

    async def drift(self, directory: str = ".", variables: Answer | None = None) -> Answer:
        """The objects that differ from the state, because they were changed outside of planner."""

        def work(stop: Stop) -> Answer:
            with self._load(directory, variables).plan(mode="refresh-only", stop=stop) as plan:
                shown = [
                    {
                        "address": c.address,
                        "action": c.action,
                        "recorded": _plain(c.before, plan.secrets),
                        "real": _plain(c.after, plan.secrets),
                    }
                    for c in plan.drift[:MAX_ENTRIES]
                ]
                return _limit_size({"drift": shown}, len(plan.drift), "drift")

        return await _answer(work)

    async def relations(self, relation: str = "") -> Answer:
        """The relations that queries and policies can read: the documentation of one relation with its columns, or all
        names with the first line of their documentation."""

        def work(stop: Stop) -> Answer:
            from planner.logic.graph.build import graph_program

            known = graph_program().predicates
            if relation and relation not in known:
                raise Failure(error("query.unknown", "Unknown relation", f"There is no relation {relation}."))
            if relation:
                return {"name": relation, "documentation": known[relation].doc}
            return {"relations": {n: one.doc.partition("\n")[0] for n, one in sorted(known.items()) if one.doc}}

        return await _answer(work)

    async def graph_slice(
        self, vertex: str, directory: str = ".", depth: int = 1, variables: Answer | None = None
    ) -> Answer:
        """The part of the dependency graph around a vertex, as edges from dependents to dependencies. Vertices are
        named as in `planner graph`, for example `aws_vpc.main (expand)`."""

        def work(stop: Stop) -> Answer:
            graph = self._load(directory, variables).graph()
            if vertex not in graph.vertices:
                near = [name for name in graph.vertices if vertex in name][:10]
                raise Failure(error("graph.vertex", "Unknown vertex", f"There is no {vertex}. Similar: {near}"))
            around = {vertex}
            for _ in range(max(1, min(depth, 10))):
                around |= {name for edge in graph.reduced if around & set(edge) for name in edge}
            edges = [list(edge) for edge in graph.reduced if set(edge) <= around]
            return _limit_size({"edges": edges[:MAX_ENTRIES]}, len(edges), "edges")

        return await _answer(work)

    async def policy_check(
        self, directory: str = ".", policies: list[str] | None = None, variables: Answer | None = None
    ) -> Answer:
        """The verdicts of policies about a plan: the policies of the directory, and `policies` (directories and files
        of rules below the server's directory, or builtin:NAME from the library, but no Python files, because these
        would be executed)."""

        def work(stop: Stop) -> Answer:
            named = [one if one.startswith("builtin:") else self._policies(one) for one in policies or ()]
            with self._load(directory, variables).plan(stop=stop) as plan:
                findings = plan.judge(named).findings
                shown = [
                    {"verdict": f.kind, "policy": f.code, "address": f.address, "message": f.message}
                    for f in findings[:MAX_ENTRIES]
                ]
                return _limit_size({"findings": shown}, len(findings), "findings")

        return await _answer(work)

    async def apply(self, directory: str = ".", variables: Answer | None = None, expected: str = "") -> Answer:
        """Apply a configuration. `expected` is the `digest` that this server's tool `plan` returned for the same
        directory and variables; if the plan has changed since then, nothing is applied."""

        def work(stop: Stop) -> Answer:
            with self._load(directory, variables).plan(stop=stop) as plan:
                if not hmac.compare_digest(self._digest(plan).encode(), expected.encode("utf-8", "replace")):
                    detail = f"The current plan does not have the digest {expected!r}. The current plan is: "
                    detail += f"{_headline(plan)}. Nothing was applied: show the current plan first."
                    raise Failure(error("api.expected", "The plan has changed", detail))
                result = plan.apply(stop=stop)
                return {
                    "added": result.added,
                    "changed": result.changed,
                    "destroyed": result.destroyed,
                    "outputs": _plain(dict(result.outputs), plan.secrets),
                }

        return await _answer(work)

    # ---------------------------------------------------------------- parts

    async def _rows(self, words: tuple[str, ...], directory: str, variables: Answer | None) -> Answer:
        def work(stop: Stop) -> Answer:
            with self._load(directory, variables).plan(stop=stop) as plan:
                rows = plan.query(*words, seconds=MAX_SECONDS)
                shown = [[_plain(cell, plan.secrets) for cell in row] for row in rows[:MAX_ENTRIES]]
                return _limit_size({"columns": list(rows.columns), "rows": shown}, len(rows), "rows")

        return await _answer(work)

    async def _prove(self, words: list[str], directory: str, variables: Answer | None, negated: bool) -> Answer:
        def work(stop: Stop) -> Answer:
            with self._load(directory, variables).plan(stop=stop) as plan:
                proof = plan.why_not(*words) if negated else plan.why(*words)
                return {
                    "text": _cut(without(proof.text, plan.secrets)),
                    "goal": list(proof.goal),
                    "rules": list(proof.rules),
                }

        return await _answer(work)

    def _load(self, directory: str, variables: Answer | None) -> Configuration:
        return load(self._path(directory), variables=variables)

    def _policies(self, name: str) -> str:
        path = self._path(name)
        if path.endswith(".py"):
            detail = (
                f"{name} is a Python file, which would be executed. To use it as a policy, name it in "
                "PLANNER_POLICIES or the CLI configuration."
            )
            raise Failure(error("api.python", "A Python file", detail))
        return path

    def _path(self, name: str) -> str:
        if "\0" in name:
            raise Failure(error("api.directory", "No such directory", f"{name!r} is not a path."))
        path = os.path.realpath(os.path.join(self._root, name))
        if path != self._root and not path.startswith(self._root.rstrip("/") + "/"):
            raise Failure(error("api.outside", "Outside of the directory", f"{name} is not below {self._root}."))
        return path


async def _answer(work: Callable[[Stop], Answer]) -> Answer:
    """The answer of a tool: the result of `work`, or the diagnostics of a Failure as `errors`."""
    try:
        return await in_thread(work)
    except Failure as failure:
        return {"errors": _diagnostics(failure.diagnostics)}


def _summary(plan: Plan, digest: str) -> Answer:
    changes = [_change(c.address, c) for c in plan.changes[:MAX_ENTRIES]]
    outputs = [_change(f"output.{o.name}", o) for o in plan.outputs if o.action != "no-op"][:MAX_ENTRIES]
    document = {"plan": _headline(plan), "digest": digest, "changes": changes, "outputs": outputs}
    if plan.diagnostics:
        document["warnings"] = _diagnostics(plan.diagnostics)
    return _limit_size(document, len(plan.changes), "changes")


def _headline(plan: Plan) -> str:
    return f"{plan.counts.add} to add, {plan.counts.change} to change, {plan.counts.remove} to destroy"


def _change(name: str, change: Change | OutputChange) -> Answer:
    return {"object": name, "action": change.action, **_reasons(change.explanation)}


def _reasons(explanation: Explanation) -> Answer:
    if not explanation.roots:
        return {}
    return {"causes": [_cause(root) for root in explanation.roots[:10]], "certain": explanation.certain}


def _cause(cause: Cause) -> Answer:
    place = f"{cause.file}:{cause.line}" if cause.file else ""
    known = {"what": cause.what, "before": _cut(cause.before), "now": _cut(cause.value), "at": place}
    return {name: value for name, value in known.items() if value}


def _diagnostics(diagnostics: Any) -> list[Answer]:
    shown: list[Diagnostic] = list(diagnostics)[:MAX_ENTRIES]
    return [
        {
            "severity": d.severity,
            "summary": d.summary,
            "detail": _cut(d.detail),
            "at": d.subject.place if d.subject else "",
        }
        for d in shown
    ]


def _limit_size(document: Answer, total: int, what: str) -> Answer:
    left = MAX_OF_ALL
    for number, entry in enumerate(document[what]):
        left -= len(json.dumps(entry))
        if left < 0:
            document[what] = document[what][: max(number, 1)]
            break
    if total > len(document[what]):
        document["note"] = f"Only the first {len(document[what])} of {total} {what} are included."
    return document


def _plain(value: Any, secrets: Iterable[str]) -> Any:
    """A value for JSON. Sensitive and unknown parts are replaced by descriptions, and long lists and strings are
    shortened."""
    if isinstance(value, dict):
        return {name: _plain(item, secrets) for name, item in value.items()}
    if isinstance(value, list):
        more = [f"({len(value) - MAX_ENTRIES} more)"] if len(value) > MAX_ENTRIES else []
        return [*(_plain(item, secrets) for item in value[:MAX_ENTRIES]), *more]
    return value if value is None or isinstance(value, bool | int | float) else _cut(without(str(value), secrets))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}... ({len(text)} characters)"
