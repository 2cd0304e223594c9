"""Doubles of the APIs of code hosts, as far as comments need them, over real HTTP: they keep comments in memory, demand
the token, and answer in pages. They are written from the documentation of the hosts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "t0ken"
ME, OTHER = 7, 8


class Host:
    """Comments as [id, author, text], in the order that they were written."""

    variables: dict[str, str] = {}
    """of the job, with {url} for the address of the double"""
    most = 65_536

    def __init__(self) -> None:
        self.comments: list[list[Any]] = []
        self.requests: list[str] = []
        self.fails = 0

    def texts(self) -> list[str]:
        return [text for _, _, text in self.comments]

    def add(self, author: int, text: str) -> None:
        self.comments.append([len(self.comments) + 1, author, text])

    def edit(self, id: int, text: str) -> None:
        (one,) = [one for one in self.comments if one[0] == id]
        assert one[1] == ME, "only the author edits a comment"
        one[2] = text

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> Any:
        """The answer, None for 404."""
        raise NotImplementedError

    def page(self, items: list[Any], query: dict[str, list[str]], size: str) -> list[Any]:
        number, count = int(query.get("page", ["1"])[0]), int(query[size][0])
        return items[(number - 1) * count : number * count]

    @contextmanager
    def serving(self) -> Iterator[dict[str, str]]:
        """The variables of a job."""
        host = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                parts = urlsplit(self.path)
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                host.requests.append(f"{self.command} {parts.path}")
                if TOKEN not in (self.headers.get("Authorization", "").split()[-1:] or [self.headers["PRIVATE-TOKEN"]]):
                    status, answer = 401, {"message": "no token"}
                elif host.fails:
                    host.fails -= 1
                    status, answer = 422, {"message": "no"}
                else:
                    answer = host.answer(self.command, parts.path, parse_qs(parts.query), body)
                    status = 404 if answer is None else 201 if self.command == "POST" else 200
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PATCH = do_PUT = handle_any  # noqa: N815

            def log_message(self, *arguments: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield {name: value.replace("{url}", url) for name, value in self.variables.items()}
        finally:
            server.shutdown()
            server.server_close()


class GitHubDouble(Host):
    variables = {
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_API_URL": "{url}",
        "GITHUB_TOKEN": TOKEN,
        "GITHUB_REF": "refs/pull/5/merge",
        "GITHUB_SHA": "abcdef0123456789",
        "GITHUB_RUN_ID": "99",
    }
    bot = True
    """the token is one of a job, whose owner is unknown; a user's otherwise"""

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> Any:
        if path == "/user":
            return None if self.bot else {"id": ME}
        if path == "/repos/o/r/commits/abcdef0123456789/pulls":
            return [{"number": 5}]
        if path == "/repos/o/r/issues/5/comments":
            if method == "POST":
                self.add(ME, body["body"])
                return {}
            users = {ME: {"id": ME, "type": "Bot" if self.bot else "User"}, OTHER: {"id": OTHER, "type": "User"}}
            items = [{"id": id, "user": users[author], "body": text} for id, author, text in self.comments]
            return self.page(items, query, "per_page")
        if (found := re.fullmatch(r"/repos/o/r/issues/comments/(\d+)", path)) and method == "PATCH":
            self.edit(int(found[1]), body["body"])
            return {}
        return None


class GitLabDouble(Host):
    variables = {
        "CI_API_V4_URL": "{url}/api/v4",
        "CI_PROJECT_ID": "3",
        "CI_MERGE_REQUEST_IID": "5",
        "CI_COMMIT_SHA": "abcdef0123456789",
        "CI_PROJECT_URL": "https://gitlab.test/o/r",
        "CI_JOB_URL": "https://gitlab.test/o/r/-/jobs/99",
        "GITLAB_TOKEN": TOKEN,
    }
    most = 1_000_000

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> Any:
        notes = "/api/v4/projects/3/merge_requests/5/notes"
        if path == "/api/v4/user":
            return {"id": ME}
        if path == "/api/v4/projects/3/repository/commits/abcdef0123456789/merge_requests":
            return [{"iid": 5}]
        if path == notes:
            if method == "POST":
                self.add(ME, body["body"])
                return {}
            assert query["sort"] == ["asc"]
            items = [
                {"id": id, "author": {"id": author}, "body": text, "system": False}
                for id, author, text in self.comments
            ]
            return self.page(items, query, "per_page")
        if (found := re.fullmatch(rf"{notes}/(\d+)", path)) and method == "PUT":
            self.edit(int(found[1]), body["body"])
            return {}
        return None


class BitbucketDouble(Host):
    variables = {
        "BITBUCKET_REPO_FULL_NAME": "o/r",
        "BITBUCKET_API_URL": "{url}/2.0",
        "BITBUCKET_PR_ID": "5",
        "BITBUCKET_TOKEN": TOKEN,
        "BITBUCKET_COMMIT": "abcdef0123456789",
        "BITBUCKET_GIT_HTTP_ORIGIN": "https://bitbucket.test/o/r",
        "BITBUCKET_BUILD_NUMBER": "99",
    }
    most = 32_768

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> Any:
        comments = "/2.0/repositories/o/r/pullrequests/5/comments"
        if path == "/2.0/user":
            return {"uuid": f"{{{ME}}}"}
        if path == comments:
            if method == "POST":
                self.add(ME, body["content"]["raw"])
                return {}
            items = [
                {"id": id, "user": {"uuid": f"{{{author}}}", "type": "user"}, "content": {"raw": text}}
                for id, author, text in self.comments
            ]
            return {"values": self.page(items, query, "pagelen")}
        if (found := re.fullmatch(rf"{comments}/(\d+)", path)) and method == "PUT":
            self.edit(int(found[1]), body["content"]["raw"])
            return {}
        return None


class AzureDouble(Host):
    variables = {
        "SYSTEM_TEAMFOUNDATIONCOLLECTIONURI": "{url}/org/",
        "SYSTEM_COLLECTIONURI": "{url}/org/",
        "SYSTEM_TEAMPROJECT": "a project",
        "BUILD_REPOSITORY_ID": "r1",
        "SYSTEM_PULLREQUEST_PULLREQUESTID": "5",
        "SYSTEM_ACCESSTOKEN": TOKEN,
        "BUILD_BUILDID": "99",
        "BUILD_REPOSITORY_URI": "https://dev.azure.test/org/p/_git/r",
        "BUILD_SOURCEVERSION": "abcdef0123456789",
    }
    most = 150_000

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> Any:
        threads = "/org/a%20project/_apis/git/repositories/r1/pullRequests/5/threads"
        if path == "/org/_apis/connectionData":
            return {"authenticatedUser": {"id": str(ME)}}
        if path == threads:
            assert query["api-version"]
            if method == "POST":
                self.add(ME, body["comments"][0]["content"])
                return {}
            return {
                "value": [
                    {"id": id, "comments": [{"id": 1, "author": {"id": str(author)}, "content": text}]}
                    for id, author, text in self.comments
                ]
            }
        if (found := re.fullmatch(rf"{threads}/(\d+)/comments/1", path)) and method == "PATCH":
            self.edit(int(found[1]), body["content"])
            return {}
        return None


HOSTS = (GitHubDouble, GitLabDouble, BitbucketDouble, AzureDouble)
