"""The server for assistants, driven by the client of the SDK over stdio and HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

import planner

pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="the SDK of the protocol is not installed")

MODULE = """
variable "image" {
  default = "v1"
}

variable "password" {
  default   = "hunter2"
  sensitive = true
}

resource "terraform_data" "a" {
  input = { image = var.image, password = var.password }
}

resource "terraform_data" "b" {
  input = terraform_data.a.id
}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "main.tf").write_text(MODULE)
    planner.load(tmp_path / "net").plan().apply()
    return tmp_path


Call = Callable[..., Awaitable[Any]]


def with_client(root: Path, flags: list[str], work: Callable[[Any, Call], Awaitable[None]]) -> None:
    """Work with a session of the client and a function that calls a tool."""
    import mcp  # here, because every test process collects this file, and the SDK is large
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async def main() -> None:
        parameters = StdioServerParameters(
            command=sys.executable, args=["-P", "-m", "planner", "mcp", *flags], cwd=str(root), env=dict(os.environ)
        )
        async with stdio_client(parameters) as streams, mcp.ClientSession(*streams) as session:
            await session.initialize()

            async def call(name: str, **arguments: Any) -> Any:
                result = await session.call_tool(name, arguments)
                assert "hunter2" not in result.content[0].text
                return json.loads(result.content[0].text)

            await work(session, call)

    asyncio.run(asyncio.wait_for(main(), 120))


def test_tools(root: Path) -> None:
    (root / "net" / "setup.py").write_text("open('run', 'w')\n")

    async def work(session: Any, call: Call) -> None:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert "apply" not in tools and all(tool.description for tool in tools.values())
        assert {"validate", "plan", "why", "what_if", "query", "blast", "drift", "policy_check"} <= set(tools)
        assert (await call("validate", directory="net"))["valid"]
        changed = {"directory": "net", "variables": {"image": "v2"}}
        plan = await call("plan", **changed)
        assert plan["plan"] == "0 to add, 1 to change, 0 to destroy"
        (change,) = plan["changes"]
        assert change["certain"] and change["causes"] == [
            {"what": "var.image", "before": '"v1"', "now": '"v2"', "at": "main.tf:3"}
        ]
        assert "var.image" in (await call("why", words=["terraform_data.a"], **changed))["text"]
        assert (await call("why_not", words=["replace", "terraform_data.a"], **changed))["text"]
        differences = await call("what_if", directory="net", changed_variables={"image": "v3"})
        assert differences["differences"][0]["object"] == "terraform_data.a"
        rows = await call("query", text='action(X, "update")', **changed)
        assert rows["rows"] == [["terraform_data.a"]]
        assert (await call("blast", address="terraform_data.a", directory="net"))["rows"]
        assert (await call("drift", directory="net"))["drift"] == []
        assert "dependent" in (await call("relations", relation="edge"))["documentation"]
        assert "edge" in (await call("relations"))["relations"]
        slice = await call("graph_slice", vertex="terraform_data.a (expand)", directory="net")
        assert ["terraform_data.b (expand)", "terraform_data.a (expand)"] in slice["edges"]
        findings = await call("policy_check", directory="net", policies=["builtin:no_provisioners"])
        assert findings["findings"] == []
        copied = await call("query", text='planned("terraform_data.a", "output.password", V)', directory="net")
        assert copied["rows"] == [["(sensitive value)"]]
        for name, arguments in (
            ("plan", {"directory": ".."}),
            ("plan", {"directory": "/etc"}),
            ("policy_check", {"directory": "net", "policies": ["../../x"]}),
            ("policy_check", {"directory": "net", "policies": ["net/setup.py"]}),
            ("plan", {"directory": "a\0b"}),
            ("why", {"words": ["terraform_data.gone"], "directory": "net"}),
            ("query", {"text": "edge(", "directory": "net"}),
        ):
            assert (await call(name, **arguments))["errors"][0]["summary"]
        assert not (root / "run").exists()

    with_client(root, [], work)


def test_answers_are_bounded(root: Path) -> None:
    (root / "big").mkdir()
    (root / "big" / "main.tf").write_text(
        """
variable "text" {
  default = ""
}

resource "terraform_data" "a" {
  count = 300
  input = { text = var.text }
}
"""
    )

    async def work(session: Any, call: Call) -> None:
        many = await call("plan", directory="big")
        assert len(many["changes"]) == 100 and many["note"] == "Only the first 100 of 300 changes are included."
        long = {"directory": "big", "variables": {"text": "x" * 30_000}}
        rows = await call("query", text='planned(A, "input.text", V)', **long)
        assert len(rows["rows"]) == 4 and rows["note"] == "Only the first 4 of 300 rows are included."

    with_client(root, [], work)


def test_apply_only_where_it_is_allowed_and_expected(root: Path) -> None:
    async def work(session: Any, call: Call) -> None:
        changed = {"directory": "net", "variables": {"image": "v2"}}
        other = await call("plan", directory="net", variables={"image": "v3"})  # has the same counts
        refused = await call("apply", expected=other["digest"], **changed)
        assert refused["errors"][0]["summary"] == "The plan has changed"
        expected = (await call("plan", **changed))["digest"]
        assert (await call("apply", expected=expected, **changed))["changed"] == 1

    with_client(root, ["-allow-apply"], work)


def test_http_needs_the_token(root: Path) -> None:
    command = [sys.executable, "-P", "-m", "planner", "mcp", "-http=0"]
    with subprocess.Popen(command, cwd=root, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            match = re.search(r"at (http://\S+) with the token (\S+)\.", server.stderr.readline())
            assert match is not None
            body = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "initialize",
                "params": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "clientInfo": {"name": "test", "version": "1"},
                },
            }

            def send(token: str) -> int:
                headers = {
                    "Content-Type": "application/json",
                    "Accept": "application/json, text/event-stream",
                    "Authorization": f"Bearer {token}",
                }
                request = urllib.request.Request(match[1], json.dumps(body).encode(), headers)
                with urllib.request.urlopen(request, timeout=60) as response:
                    return int(response.status)

            assert send(match[2]) == 200
            with pytest.raises(HTTPError) as caught:
                send("wrong")
            assert caught.value.code == 401
        finally:
            server.terminate()


@pytest.mark.parametrize(
    ("kind", "given", "passes"),
    [
        ("http", b"Bearer secret", True),
        ("http", b"Bearer other", False),
        ("http", b"", False),
        ("websocket", b"Bearer secret", True),
        ("websocket", b"", False),
        ("lifespan", b"", True),
    ],
)
def test_what_needs_the_token(kind: str, given: bytes, passes: bool) -> None:
    from planner.api.mcp import with_token

    called: list[str] = []
    sent: list[dict[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        called.append(scope["type"])

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(b"authorization", given)] if given else []
    asyncio.run(with_token(app, "secret")({"type": kind, "headers": headers}, None, send))
    assert called == [kind] * passes
    assert [message["type"] for message in sent] == (
        [] if passes else ["http.response.start", "http.response.body"] if kind == "http" else ["websocket.close"]
    )
