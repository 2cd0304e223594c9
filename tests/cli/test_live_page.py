"""`explore -serve`: who is answered, what is asked, and how the page follows the files. One server for all tests."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from render.page.browser import needs_browser, opened

from cli.conftest import Ran

MAIN = """
variable "size" {
  type    = number
  default = 1
}
variable "secret" {
  default   = "hunter2"
  sensitive = true
}
locals { twice = 2 * var.size }
resource "terraform_data" "first" { input = local.twice }
resource "terraform_data" "second" { input = [terraform_data.first.output, var.secret] }
output "out" { value = terraform_data.first.output }
variable "zones" {
  type    = set(string)
  default = ["a", "b"]
}
"""


class Served:
    """A server in a directory, and requests to it."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "planner", *words, "-serve"],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self.process.stdout is not None
        found = re.search(r"http://(127\.0\.0\.1:(\d+))(/\S+/)\n", self.process.stdout.readline())
        assert found is not None
        self.host, self.port, self.token = found[1], int(found[2]), found[3]
        self.address = f"http://{self.host}{self.token}"
        self.events = self.connected("GET", f"{self.token}events")
        self.state: Any = None

    def connected(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Any:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(
            method, path, body, {"Host": self.host, **{k.replace("_", "-"): v for k, v in headers.items()}}
        )
        return connection.getresponse()

    def status(self, method: str, path: str, body: bytes | None = None, **headers: str) -> int:
        response = self.connected(method, path, body, **headers)
        response.read()
        return int(response.status)

    def get(self, route: str) -> Any:
        return json.loads(self.connected("GET", self.token + route).read())

    def ask(self, route: str, **body: Any) -> Any:
        headers = {"Content_Type": "application/json", "Origin": f"http://{self.host}"}
        return json.loads(self.connected("POST", self.token + route, json.dumps(body).encode(), **headers).read())

    def until(self, holds: Callable[[Any], bool]) -> Any:
        """The first announced state that is so."""
        beats = 0
        while beats < 5:
            line = self.events.readline().decode()
            assert line
            beats += line.startswith(":")
            if line.startswith("data: ") and holds(state := json.loads(line[6:])):
                self.state = state
                return state
        raise AssertionError("no such state")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "main.tf").write_text(MAIN)
    made = Served(folder, "explore")
    made.until(lambda state: state["version"] == 1 and not state["planning"])
    yield made
    made.process.send_signal(signal.SIGINT)
    assert made.process.wait(30) == 0
    assert [path.name for path in folder.iterdir()] == ["main.tf"]  # nothing was applied


def test_who_is_answered(served: Served) -> None:
    at, host = served.token, served.host
    page = served.connected("GET", at)
    assert page.status == 200 and "connect-src &#x27;self&#x27;" in page.read().decode()
    assert page.headers["Referrer-Policy"] == "no-referrer" and page.headers["X-Frame-Options"] == "DENY"
    without_slash = served.connected("GET", at[:-1])
    assert (without_slash.status, without_slash.headers["Location"]) == (308, at)
    assert b"Open the address that planner printed" in served.connected("GET", "/").read()
    for path in ("/", "/x/", at[:-2], f"{at[:-2]}/", f"//{host}{at}", "/%00/"):
        assert served.status("GET", path) == 403, path
    for path in ("x", "../", "page.css", "main.tf", "question"):
        assert served.status("GET", at + path) == 404, path
    assert served.status("GET", at, Host="rebound.example:80") == 403
    assert served.status("GET", at, Origin="http://other.example") == 403
    assert served.status("GET", f"{at}plan", Sec_Fetch_Site="cross-site") == 403
    own = {"Origin": f"http://{host}", "Content_Type": "application/json"}
    assert served.status("POST", f"{at}question", b"{}", **{**own, "Content_Type": "text/plain"}) == 403
    assert served.status("POST", f"{at}question", b"{}", Content_Type="application/json") == 403
    assert served.status("POST", f"{at}apply", b"{}", **own) == 404
    assert served.status("POST", at[:-1], b"{}", **own) == 404
    assert served.status("POST", f"{at}question", b"[" * 5000, **own) == 400
    assert served.status("POST", f"{at}question", b"[]", **own) == 400
    assert served.status("POST", f"{at}question", b" " * 70_000, **own) == 413
    assert served.status("PUT", at) == 501


def test_questions(served: Served) -> None:
    def asked(kind: str, text: str) -> str:
        answer = served.ask("question", kind=kind, text=text)
        return str(answer["text"] + answer["problems"])

    assert "2 creations" in asked("why", "") and "terraform_data.first is created" in asked(
        "why", "terraform_data.first"
    )
    assert "terraform_data.second waits for terraform_data.first" in asked(
        "why", "terraform_data.second (expand) terraform_data.first (expand)"
    )
    assert "is created, not replaced" in asked("why-not", "replace terraform_data.first")
    assert "terraform_data.first" in asked("query", 'edge(X, "local.twice")')
    assert "local.twice" in asked("query", "deps terraform_data.first")
    for kind, text in (
        ("why", "nothing.here"),
        ("query", "edge(X"),
        ("query", ""),
        ("why-not", ""),
        ("fix", "replace"),
        ("x", "y"),
        ("why", "-not a b c d"),
    ):
        answer = served.ask("question", kind=kind, text=text)
        assert answer["problems"] and not answer["text"], (kind, text)
    assert (
        "not valid" in served.ask("question")["problems"]
        and "not valid" in served.ask("compare", one="x", other=0)["problems"]
        and "not valid" in served.ask("compare", one=float("inf"), other=0)["problems"]
    )
    assert "secret" in json.dumps(served.get("variables")) and "hunter2" not in json.dumps(served.get("variables"))
    shown = {one["name"]: one["value"] for one in served.get("variables")["variables"]}
    assert shown == {"secret": "", "size": "1", "zones": '["a", "b"]'}  # as they can be typed
    tried = served.ask("what-if", variables={"size": "3"})
    assert "terraform_data.first" in [row[0] for row in tried["rows"]]
    assert tried["counts"][0] == "2 to create"
    assert "number is required" in served.ask("what-if", variables={"size": "many"})["problems"]
    hidden = served.ask("what-if", variables={"secret": "hunter3"})
    assert "hunter" not in json.dumps(hidden) and "hunter2" not in json.dumps(served.get("plan"))


def test_slow_clients_and_streams_do_not_block_others(served: Served) -> None:
    at = f"GET {served.token}events HTTP/1.1\r\nHost: {served.host}\r\n\r\n".encode()
    for text in (b"GET / HT", at):
        clients = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(30)]
        for client in clients:
            with suppress(OSError):
                client.sendall(text)
        assert served.status("GET", served.token) == 200
        for client in clients:
            client.close()
    served.events = served.connected("GET", f"{served.token}events")  # the oldest streams ended


def test_the_page_follows_the_files(served: Served) -> None:
    kept = served.ask("keep")["snapshots"]
    assert len(kept) == 1 and "2 to create" in kept[0][1]
    main = served.folder / "main.tf"
    main.write_text(MAIN + 'resource "terraform_data" "third" {}\n')
    state = served.until(lambda state: state["version"] == 2)
    assert state["difference"]["rows"][0][:3] == ["terraform_data.third", "absent", "create"]
    main.write_text(MAIN.replace("local.twice", "local.once").replace("hunter2", "hunter2${"))
    state = served.until(lambda state: state["problems"] and not state["planning"])
    assert "main.tf:" in state["problems"] and "hunter" not in state["problems"] and state["version"] == 2
    assert "third" in json.dumps(served.get("plan"))  # the last plan without errors
    main.write_text(MAIN)
    served.until(lambda state: state["version"] == 3 and not state["planning"])
    assert served.ask("compare", one=1, other=0)["rows"] == []
    assert served.ask("plan-again") == {}
    again = served.until(lambda state: state["version"] == 4 and not state["planning"])
    assert again["difference"]["rows"] == [] and again["is_shown"]
    assert [name for _, name in served.ask("keep", name=" before ")["snapshots"]][1:] == ["before"]
    assert [number for number, _ in served.ask("drop", number=1)["snapshots"]] == [2]
    for number in range(8):
        removed = served.ask("keep", name=f"s{number}")["removed"]
    assert removed == ["before"]
    for number, text in ((1, "snapshot does not exist"), (0, "cannot be removed"), ("x", "not valid")):
        assert text in served.ask("drop", number=number)["problems"]


@pytest.mark.slow
@needs_browser
def test_in_a_browser(served: Served) -> None:
    from playwright.sync_api import expect

    with opened(served.address, allowed=served.address) as tab:
        expect(tab.locator("#state")).to_have_text(re.compile("Live: planned in"))
        tab.locator("summary", has_text="Questions").click()
        tab.get_by_label("About").fill("terraform_data.first")
        tab.get_by_label("About").press("Enter")
        expect(tab.locator(".answer")).to_contain_text("terraform_data.first is created")
        tab.locator("summary", has_text="Snapshots").click()
        tab.get_by_role("button", name="Keep this plan").click()
        tab.locator("summary", has_text="What if").click()
        tab.get_by_label("size").fill("4")
        tab.get_by_role("button", name="Compare with these values").click()
        expect(tab.locator("#details")).to_contain_text("4")
        main = served.folder / "main.tf"
        main.write_text(MAIN + 'resource "terraform_data" "fourth" {}\n')
        expect(tab.get_by_role("region", name="Since the last plan")).to_contain_text("terraform_data.fourth")
        expect(tab.locator(".summary")).to_contain_text("3 to create")
        tab.get_by_role("button", name="Compare", exact=True).click()
        expect(tab.locator("#details")).to_contain_text("not planned → create")
        tab.get_by_label("Name").fill("with a fourth")
        tab.get_by_role("button", name="Keep this plan").click()
        expect(tab.locator("#one")).to_contain_text("with a fourth")
        kept = tab.locator("#one option").count()
        tab.get_by_role("button", name="Remove this snapshot").click()
        expect(tab.locator("#one option")).to_have_count(kept - 1)
        main.write_text("resource {")
        expect(tab.locator("#problems")).to_contain_text("main.tf:1")
        main.write_text(MAIN)
        expect(tab.locator("#state")).to_have_text(re.compile("Live: planned in"))


@pytest.mark.slow
@needs_browser
def test_answers_and_typed_values_stay_when_the_plan_changes(tmp_path: Path) -> None:
    from playwright.sync_api import expect

    main, policy = tmp_path / "main.tf", tmp_path / ".planner" / "policies" / "names.dl"
    main.write_text(MAIN)
    served = Served(tmp_path, "explore")
    try:
        with opened(f"{served.address}#node=terraform_data.gone", allowed=served.address) as tab:
            expect(tab.locator("#said")).to_have_text('The plan has no "terraform_data.gone".')
            tab.locator("summary", has_text="What if").click()
            tab.get_by_label("size").fill("4")
            tab.locator("summary", has_text="Questions").click()
            tab.get_by_label("About").fill("terraform_data.third")
            tab.get_by_role("button", name="Answer").click()
            expect(tab.locator("#details .problem")).to_contain_text("Nothing to explain")
            main.write_text(MAIN + 'resource "terraform_data" "third" {}\n')
            expect(tab.get_by_role("region", name="Since the last plan")).to_contain_text("terraform_data.third")
            expect(tab.locator("#details .problem")).to_contain_text("Nothing to explain")
            expect(tab.get_by_label("size")).to_have_value("4")
            tab.get_by_role("button", name="Ask again").click()
            expect(tab.locator("#details .answer")).to_contain_text("terraform_data.third is created")
            policy.parent.mkdir(parents=True)
            policy.write_text('deny("named", A, "is denied") :- action(A, "create").\n')
            since = tab.get_by_role("region", name="Since the last plan")
            expect(since).to_contain_text("The plan is unchanged.")
            expect(since).to_contain_text("+ deny named: is denied")
            expect(since.get_by_role("button", name="terraform_data.third")).to_be_visible()
            expect(tab.locator("#about .denied")).to_have_text("3 denied, none undecided")
            policy.write_text('warn("named", A, "is denied") :- action(A, "create").\n')
            expect(since).to_contain_text("- deny named: is denied")
            tab.get_by_role("button", name="Plan again").click()
            expect(since).not_to_contain_text("deny named")
    finally:
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(30) == 0


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("kind", ["plan", "fleet"])
def test_a_page_that_is_opened_before_the_first_plan(tmp_path: Path, kind: str) -> None:
    from playwright.sync_api import expect

    main = tmp_path / "net" / "main.tf"
    main.parent.mkdir()
    main.write_text("resource {")
    batch = tmp_path / "planner.batch.hcl"
    batch.write_text("unit {")
    words = ["batch", "explore"] if kind == "fleet" else ["explore"]
    served = Served(tmp_path if kind == "fleet" else main.parent, *words)
    try:
        with opened(served.address, allowed=served.address) as tab:
            expect(tab.locator("#state")).to_have_text("Planning failed.")
            expect(tab.locator("#details")).not_to_contain_text("No changes.")
            expect(tab.locator("#asking")).to_be_visible()
            expect(tab.locator("#trying")).to_be_visible(visible=kind == "plan")
            main.write_text(MAIN)
            batch.write_text('unit "net" {\n  path = "net"\n}\n')
            expect(tab.locator("#state")).to_have_text(re.compile("Live: planned in"))
            expect(tab.locator("body")).to_contain_text("2 to create" if kind == "plan" else "2 to add")
            if kind == "fleet":
                expect(tab.locator(".below")).to_contain_text("net")
                main.write_text("resource {")
                since = tab.get_by_role("region", name="Since the last plan")
                expect(since).to_contain_text("failed; error: ")
                expect(tab.locator("#state")).to_have_text(re.compile("Live: planned in .*, with errors"))
                main.write_text(MAIN + 'resource "terraform_data" "third" {}\n')
                expect(since).to_contain_text("changes; Objects: 3 add")
    finally:
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(30) == 0


def test_what_cannot_be_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]) -> None:
    monkeypatch.chdir(tmp_path)
    assert "remove -out and -plan" in planner("explore", "-serve", "-out=x.html").err
    assert "No configuration in this directory" in planner("explore", "-serve").err
    (tmp_path / "main.tf").write_text("")
    assert "from 0 to 65535" in planner("explore", "-serve", "-port=70000").err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ran = planner("explore", "-serve", f"-port={taken.getsockname()[1]}")
    assert ran.code == 1 and "Cannot serve the page" in ran.err
    (tmp_path / "main.tfcomponent.hcl").write_text("")
    assert "This directory is a stack" in planner("explore", "-serve").err


STACK = """
required_providers {
  terraform = {
    source = "terraform.io/builtin/terraform"
  }
}
variable "name" { type = string }
component "one" {
  source = "./module"
  inputs = { name = var.name }
}
"""
MODULE = 'variable "name" {}\nresource "terraform_data" "a" { input = var.name }\n'
DEPLOYMENT = 'deployment "test" {\n  inputs = { name = "eu" }\n}\n'


@pytest.mark.parametrize("kind", ["fleet", "stack"])
def test_the_page_of_several_plans_follows_the_files(tmp_path: Path, kind: str) -> None:
    if kind == "fleet":
        words = ["batch", "explore", "-no-color"]
        files = {f"{name}/main.tf": 'resource "terraform_data" "a" {}\n' for name in ("net", "app")}
        files |= {f"{name}/.planner-unit": "" for name in ("net", "app")}
        edited, broken = "net/main.tf", 'resource "terraform_data" "a" { input = nothing.here }\n'
    else:
        words = ["stacks", "plan"]
        files = {"s.tfcomponent.hcl": STACK, "s.tfdeploy.hcl": DEPLOYMENT, "module/main.tf": MODULE}
        edited, broken = "s.tfcomponent.hcl", 'component "x" {\n'
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    if kind == "stack":
        subprocess.run([sys.executable, "-m", "planner", "stacks", "init"], cwd=tmp_path, check=True)
    served = Served(tmp_path, *words)
    try:
        served.until(lambda state: state["version"] > 0 and not state["planning"])
        assert "to add" in json.dumps(served.get("plan")) and served.get("plan")["live"] == "report"
        assert served.status("GET", f"{served.token}variables") == 404
        first, second = ("net", "app") if kind == "fleet" else ("component.one", "component.one")
        answer = served.ask("question", kind="query", text="unit(A, _)" if kind == "fleet" else "component(A)")
        assert first in answer["text"].split() and not answer["problems"]
        answer = served.ask("question", kind="why-not", text=f"{first} {second}")
        assert first in answer["text"] or "itself" in answer["problems"], answer
        answer = served.ask("question", kind="why", text="nothing-of-that-name")
        assert "nothing-of-that-name" in answer["problems"]
        assert "Unknown question" in served.ask("question", kind="fix", text=first)["problems"]
        assert "too long" in served.ask("question", kind="why", text="[" * 60_000)["problems"]
        assert "needs a name" in served.ask("question", kind="why", text=None)["problems"]
        assert served.ask("keep", name="before")["snapshots"] == [[1, "before"]]
        assert served.ask("compare", one=1, other=0)["rows"] == []
        assert served.status("GET", served.token, Host="rebound.example:80") == 403
        (tmp_path / edited).write_text(broken)
        served.until(lambda state: not state["planning"] and (state["problems"] or state["version"] > 1))
        shown = json.dumps([served.get("plan")["below"], served.state])
        assert "undeclared" in shown or "Error" in shown
        assert served.state["is_shown"] == (kind == "fleet")  # the page shows the other units
        assert served.state["problems"].startswith("Error: net: " if kind == "fleet" else "Error: s.tfcomponent.hcl:")
        rows = served.ask("compare", one=1, other=0)["rows"]
        if kind == "fleet":
            (row,) = rows
            assert row[:3] == ["net", "changes", "failed"] and ["Objects", "1 add", "none"] in row[4]
        else:
            assert rows == []
        (tmp_path / edited).write_text(files[edited])
        served.until(lambda state: not state["planning"] and not state["problems"])
        assert served.get("plan")["version"] > 1
        before = served.state["version"]
        served.ask("plan-again")
        served.until(lambda state: not state["planning"] and state["version"] > before)
        version = served.get("plan")["version"]
        (tmp_path / ".planner" / "policies").mkdir(parents=True, exist_ok=True)
        (tmp_path / ".planner" / "policies" / "own.dl").write_text(
            'warn("w", "", "is checked") :- action(_, "create").\n'
        )
        served.until(lambda state: not state["planning"] and state["version"] > version)
    finally:
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(30) == 0


def test_what_does_not_go_with_serving(planner: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    assert "-out and -serve" in planner("batch", "explore").err
    assert "-out and -serve" in planner("batch", "explore", "-serve", "-out=x").err
    assert "Option -port requires a port" in planner("batch", "explore", "-serve", "-port=70000").err
    assert "remove -html" in planner("stacks", "plan", "-serve", "-html=x").err
