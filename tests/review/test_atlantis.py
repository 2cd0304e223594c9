"""Our workflow of Atlantis (docs/ci/atlantis/repos.yaml) in Atlantis itself, through a pull request: plan, a comment
that asks for the apply, apply. The code host is a double of Gitea's API. Needs ATLANTIS, the path of its program:
`go build -o atlantis .` in a clone of https://github.com/runatlantis/atlantis."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from apply.ssh_servers import free_port

ROOT = Path(__file__).parents[2]
ATLANTIS = os.environ.get("ATLANTIS", "")
MAIN = 'variable "size" {\n  default = %d\n}\nresource "terraform_data" "a" {\n  triggers_replace = var.size\n}\n'
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.skipif(not ATLANTIS, reason="needs ATLANTIS")]


class GiteaDouble:
    """One repository with one pull request, which is approved."""

    def __init__(self, repository: Path) -> None:
        self.repository, self.url = repository, ""
        self.comments: list[str] = []
        self.statuses: list[tuple[str, str]] = []

    def repo(self) -> dict[str, Any]:
        user = {"login": "acme", "username": "acme", "id": 1}
        return {
            "id": 1,
            "name": "infra",
            "full_name": "acme/infra",
            "owner": user,
            "clone_url": f"{self.url}/acme/infra.git",
        }

    def pull(self) -> dict[str, Any]:
        sha = git(self.repository, "rev-parse", "change").strip()
        side = {"repo": self.repo(), "repo_id": 1}
        return {
            "id": 1, "number": 1, "state": "open", "mergeable": True, "title": "A change", "body": "",
            "html_url": f"{self.url}/acme/infra/pulls/1", "user": {"login": "alice", "username": "alice", "id": 2},
            "head": {**side, "ref": "change", "sha": sha}, "base": {**side, "ref": "main", "sha": sha},
        }  # fmt: skip

    def answer(self, method: str, path: str, body: Any) -> Any:
        at = path.removeprefix("/api/v1").partition("?")[0].removeprefix("/repos/acme/infra")
        if at == "/version":
            return {"version": "1.22.0"}
        if at == "/pulls/1":
            return self.pull()
        if at == "/pulls/1/files":
            return [{"filename": "main.tf", "status": "changed"}]
        if at == "/pulls/1/reviews":
            return [{"id": 1, "state": "APPROVED", "user": {"login": "bob"}}]
        if at.startswith("/statuses/"):
            self.statuses.append((body["context"], body["state"]))
            return {}
        if at == "/issues/1/comments" and method == "POST":
            self.comments.append(body["body"])
            return {"id": len(self.comments), "body": body["body"]}
        return [] if method == "GET" else {}

    @contextmanager
    def serving(self) -> Iterator[None]:
        double = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                data = json.dumps(double.answer(self.command, self.path, body)).encode()
                self.send_response(201 if self.command == "POST" else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = do_PATCH = handle_any  # noqa: N815

            def log_message(self, *arguments: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{server.server_port}"
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()


def git(folder: Path, *words: str) -> str:
    author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    return subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def until(holds: Callable[[], Any], log: Path) -> None:
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline, log.read_text()[-4000:]
        time.sleep(0.1)


def test_a_pull_request(tmp_path: Path) -> None:
    repository, state = tmp_path / "infra", tmp_path / "state.tfstate"
    repository.mkdir()
    git(repository, "init", "-q", "-b", "main")
    (repository / "backend.tf").write_text(f'terraform {{\n  backend "local" {{\n    path = "{state}"\n  }}\n}}\n')
    (repository / "main.tf").write_text(MAIN % 1)
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "first")
    git(repository, "checkout", "-q", "-b", "change")
    (repository / "main.tf").write_text(MAIN % 2)
    git(repository, "commit", "-q", "-a", "-m", "second")
    bins = tmp_path / "bin"
    bins.mkdir()
    for name in ("planner", "terraform"):  # Atlantis asks a program of this name for its version
        (bins / name).write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m planner "$@"\n')
        (bins / name).chmod(0o755)
    double = GiteaDouble(repository)
    with double.serving(), atlantis(tmp_path, bins, double, repository) as (send, log):
        send("pull_request", {"action": "opened", "number": 1, "pull_request": double.pull()})
        until(lambda: double.comments, log)
        (comment,) = double.comments
        assert "Ran Plan for" in comment and "\n### Plan: 1 to add, 0 to change, 0 to destroy" in comment, comment
        assert "```diff" not in comment and "Apply: `atlantis apply -d .` · Plan again: `atlantis plan -d .`" in comment
        assert "🟢 Nothing is destroyed or replaced, and no policy objects." in comment
        until(lambda: ("atlantis/plan", "success") in double.statuses, log)
        assert not state.exists()
        send(
            "pull_request_comment",
            {
                "action": "created",
                "comment": {"id": 9, "body": "atlantis apply", "user": {"login": "bob"}},
                "repository": double.repo(),
                "issue": {"number": 1},
            },
        )
        until(lambda: len(double.comments) > 1, log)
        assert "Apply complete! Resources: 1 added" in double.comments[1], double.comments[1]
        until(lambda: ("atlantis/apply", "success") in double.statuses, log)
        assert "terraform_data" in state.read_text()


@contextmanager
def atlantis(
    folder: Path, bins: Path, double: GiteaDouble, repository: Path
) -> Iterator[tuple[Callable[[str, Any], None], Path]]:
    """The server; gives a function that sends it an event, and its log."""
    port, log = free_port(), folder / "log"
    words = {
        "port": port, "data-dir": folder / "data", "atlantis-url": f"http://127.0.0.1:{port}", "repo-allowlist": "*",
        "gitea-base-url": double.url, "gitea-user": "atlantis", "gitea-token": "t0ken",
        "repo-config": ROOT / "docs/ci/atlantis/repos.yaml", "log-level": "debug",
        "markdown-template-overrides-dir": ROOT / "docs/ci/atlantis/templates",
    }  # fmt: skip
    home = folder / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        f'[url "file://{repository}"]\n  insteadOf = {_with_token(double.url)}/acme/infra.git\n'
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "PLANNER_", "ATLANTIS"))}
    environment = {**kept, "HOME": str(home), "PATH": f"{bins}:{os.environ['PATH']}"}
    with open(log, "wb") as output:
        command = [ATLANTIS, "server", *(f"--{name}={value}" for name, value in words.items())]
        server = subprocess.Popen(command, env=environment, cwd=folder, stdout=output, stderr=output)

    def send(kind: str, event: Any) -> None:
        headers = {"X-Gitea-Event": kind, "X-Gitea-Event-Type": kind, "Content-Type": "application/json"}
        address = f"http://127.0.0.1:{port}/events"
        request = urllib.request.Request(address, json.dumps(event).encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert answer.status == 200

    try:
        until(lambda: "Atlantis started" in log.read_text(), log)
        yield send, log
    finally:
        server.terminate()
        server.wait(30)
        shutil.rmtree(folder / "data", ignore_errors=True)


def _with_token(url: str) -> str:
    return url.replace("http://", "http://atlantis:t0ken@")
