"""The pull request of a CI job on GitHub, GitLab, Bitbucket or Azure DevOps, with its comments. The host and the token
are determined by environment variables of the job."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from planner.foundation.clients.http import Http, Retries
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import frozen

PULL_REQUEST = "PLANNER_PULL_REQUEST"
"""environment variable with the number of the pull request, for runners that do not set a variable with the number"""
_PAGES = 100
"""maximum number of pages of comments to read"""


@frozen
class Comment:
    """A comment of a review. `is_ours`: whether the owner of the token wrote it, so that this job can edit it."""

    id: str
    body: str
    is_ours: bool


class CodeReview:
    """A pull request or merge request."""

    most = 65_536
    """maximum number of characters in a comment"""
    hides_html = True
    """whether HTML comments are hidden and `<details>` works"""

    def __init__(self, base: str, headers: Mapping[str, str], number: str) -> None:
        self.base, self.number = base, number
        self._headers = {"Accept": "application/json", "Content-Type": "application/json", **headers}
        self._http = Http(retries=Retries(2, 0.5, 5.0))

    def comments(self) -> list[Comment]:
        """All comments, oldest first. Raises ServiceError."""
        raise NotImplementedError

    def create(self, body: str) -> None:
        """Add a comment. Raises ServiceError."""
        raise NotImplementedError

    def update(self, id: str, body: str) -> None:
        """Replace the text of a comment. Raises ServiceError."""
        raise NotImplementedError

    def _ask(self, method: str, url: str, content: Any = None, may_fail: bool = False) -> Any:
        """The response to a request, as parsed JSON; with `may_fail`, None if the host responds with an error. Raises
        ServiceError."""
        body = json.dumps(content).encode() if content is not None else b""
        answer = self._http.ask(method, url, self._headers, body)
        if 200 <= answer.status < 300:
            return answer.json()
        if may_fail:
            return None
        raise ServiceError(f"{method} {url.partition('?')[0]}: {answer.status} {answer.reason}: {answer.text[:300]}")

    def _pages(self, url: str, size: str) -> Iterator[Any]:
        for page in range(1, _PAGES + 1):
            answer = self._ask("GET", f"{url}?{size}=100&page={page}")
            items = answer if isinstance(answer, list) else answer.get("values", [])
            yield from items
            if len(items) < 100:
                return


class GitHub(CodeReview):
    """A pull request on GitHub or GitHub Enterprise."""

    def comments(self) -> list[Comment]:
        me = self._ask(
            "GET", f"{self.base.partition('/repos/')[0]}/user", may_fail=True
        )  # forbidden for tokens of jobs
        items = self._pages(f"{self.base}/issues/{self.number}/comments", "per_page")
        return [Comment(str(one["id"]), one["body"] or "", _is_ours(one.get("user") or {}, me)) for one in items]

    def create(self, body: str) -> None:
        self._ask("POST", f"{self.base}/issues/{self.number}/comments", {"body": body})

    def update(self, id: str, body: str) -> None:
        self._ask("PATCH", f"{self.base}/issues/comments/{id}", {"body": body})


def _is_ours(user: Mapping[str, Any], me: Mapping[str, Any] | None) -> bool:
    """Whether a GitHub user owns the token. `me`: the owner; None for a job's own token, whose owner is an unknown
    bot."""
    return bool(user.get("id") == me.get("id") if me else user.get("type") == "Bot")


class GitLab(CodeReview):
    """A merge request on GitLab."""

    most = 1_000_000

    def comments(self) -> list[Comment]:
        me = self._ask("GET", f"{self.base.partition('/projects/')[0]}/user", may_fail=True)
        notes = [one for one in self._pages(self._notes, "sort=asc&per_page") if not one.get("system")]
        return [Comment(str(one["id"]), one["body"], bool(me) and one["author"]["id"] == me["id"]) for one in notes]

    @property
    def _notes(self) -> str:
        return f"{self.base}/merge_requests/{self.number}/notes"

    def create(self, body: str) -> None:
        self._ask("POST", self._notes, {"body": body})

    def update(self, id: str, body: str) -> None:
        self._ask("PUT", f"{self._notes}/{id}", {"body": body})


class Bitbucket(CodeReview):
    """A pull request on Bitbucket Cloud."""

    most = 32_768
    hides_html = False

    @property
    def _url(self) -> str:
        return f"{self.base}/pullrequests/{self.number}/comments"

    def comments(self) -> list[Comment]:
        me = self._ask("GET", f"{self.base.partition('/repositories/')[0]}/user", may_fail=True)
        items = [one for one in self._pages(self._url, "pagelen") if not one.get("deleted")]
        return [
            Comment(
                str(one["id"]),
                one["content"]["raw"],
                one["user"].get("uuid") == me.get("uuid") if me else one["user"].get("type") == "app_user",
            )
            for one in items
        ]

    def create(self, body: str) -> None:
        self._ask("POST", self._url, {"content": {"raw": body}})

    def update(self, id: str, body: str) -> None:
        self._ask("PUT", f"{self._url}/{id}", {"content": {"raw": body}})


class Azure(CodeReview):
    """A pull request on Azure DevOps, where each comment begins its own thread."""

    most = 150_000
    _VERSION = "api-version=7.1"

    @property
    def _url(self) -> str:
        return f"{self.base}/pullRequests/{self.number}/threads"

    def comments(self) -> list[Comment]:
        data = self._ask("GET", f"{self.base.partition('/_apis/git/')[0].rpartition('/')[0]}/_apis/connectionData")
        me = (data.get("authenticatedUser") or {}).get("id")
        threads = self._ask("GET", f"{self._url}?{self._VERSION}")["value"]
        firsts = [
            (one["id"], one["comments"][0]) for one in threads if one.get("comments") and not one.get("isDeleted")
        ]
        return [
            Comment(f"{thread}/comments/{one['id']}", one.get("content") or "", bool(me) and one["author"]["id"] == me)
            for thread, one in sorted(firsts, key=lambda pair: int(pair[0]))
        ]

    def create(self, body: str) -> None:
        content = {"comments": [{"parentCommentId": 0, "content": body, "commentType": 1}], "status": "closed"}
        self._ask("POST", f"{self._url}?{self._VERSION}", content)

    def update(self, id: str, body: str) -> None:
        self._ask("PATCH", f"{self._url}/{id}?{self._VERSION}", {"content": body})


# ---------------------------------------------------------------- from variables


def review_of(environ: Mapping[str, str]) -> CodeReview | None:
    """The pull request of this job; None if the host is unknown or the job has no pull request. Raises ServiceError if
    no variable contains a token or if the host does not respond."""
    for find in (_github, _gitlab, _bitbucket, _azure):
        if (host := find(environ)) is not None:
            return host if host.number else None
    return None


def _github(environ: Mapping[str, str]) -> GitHub | None:
    repository = environ.get("GITHUB_REPOSITORY")
    if not repository:
        return None
    token = _token(environ, ("GITHUB_TOKEN", "GH_TOKEN"))
    base = f"{environ.get('GITHUB_API_URL') or 'https://api.github.com'}/repos/{repository}"
    ref = re.match(r"refs/pull/(\d+)/", environ.get("GITHUB_REF", ""))
    number = environ.get(PULL_REQUEST) or (ref[1] if ref else "")
    host = GitHub(base, {"Authorization": f"Bearer {token}", "X-GitHub-Api-Version": "2022-11-28"}, number)
    if not number and (commit := environ.get("GITHUB_SHA")):
        host.number = _first(host._ask("GET", f"{base}/commits/{commit}/pulls", may_fail=True), "number")
    return host


def _gitlab(environ: Mapping[str, str]) -> GitLab | None:
    if not environ.get("CI_API_V4_URL") or not environ.get("CI_PROJECT_ID"):
        return None
    token = _token(environ, ("GITLAB_TOKEN",))
    base = f"{environ['CI_API_V4_URL']}/projects/{environ['CI_PROJECT_ID']}"
    number = environ.get(PULL_REQUEST) or environ.get("CI_MERGE_REQUEST_IID", "")
    host = GitLab(base, {"PRIVATE-TOKEN": token}, number)
    if not number and (commit := environ.get("CI_COMMIT_SHA")):
        url = f"{base}/repository/commits/{commit}/merge_requests"
        host.number = _first(host._ask("GET", url, may_fail=True), "iid")
    return host


def _bitbucket(environ: Mapping[str, str]) -> Bitbucket | None:
    repository = environ.get("BITBUCKET_REPO_FULL_NAME")
    if not repository:
        return None
    number = environ.get(PULL_REQUEST) or environ.get("BITBUCKET_PR_ID", "")
    if not number:
        return Bitbucket("", {}, "")
    token = _token(environ, ("BITBUCKET_TOKEN",))
    api = environ.get("BITBUCKET_API_URL") or "https://api.bitbucket.org/2.0"
    return Bitbucket(f"{api}/repositories/{repository}", {"Authorization": f"Bearer {token}"}, number)


def _azure(environ: Mapping[str, str]) -> Azure | None:
    collection = environ.get("SYSTEM_TEAMFOUNDATIONCOLLECTIONURI") or environ.get("SYSTEM_COLLECTIONURI")
    if not collection or not environ.get("BUILD_REPOSITORY_ID"):
        return None
    number = environ.get(PULL_REQUEST) or environ.get("SYSTEM_PULLREQUEST_PULLREQUESTID", "")
    if not number:
        return Azure("", {}, "")
    token = _token(environ, ("SYSTEM_ACCESSTOKEN",))
    project = quote(environ.get("SYSTEM_TEAMPROJECT", ""), safe="")
    base = f"{collection.rstrip('/')}/{project}/_apis/git/repositories/{environ['BUILD_REPOSITORY_ID']}"
    return Azure(base, {"Authorization": f"Bearer {token}"}, number)


def _token(environ: Mapping[str, str], names: Sequence[str]) -> str:
    """The value of the first of these environment variables that is set. Raises ServiceError if none is set."""
    for name in names:
        if environ.get(name):
            return environ[name]
    raise ServiceError(f"{names[0]} is not set: pass the job a token that may write comments")


def _first(items: Any, name: str) -> str:
    return str(items[0][name]) if isinstance(items, list) and items else ""


def run_address(environ: Mapping[str, str]) -> str:
    """The URL of the page of this job or, on some hosts, of its run; "" if it is unknown."""
    if environ.get("GITHUB_RUN_ID"):
        server = environ.get("GITHUB_SERVER_URL") or "https://github.com"
        return f"{server}/{environ.get('GITHUB_REPOSITORY', '')}/actions/runs/{environ['GITHUB_RUN_ID']}"
    if environ.get("BITBUCKET_BUILD_NUMBER"):
        origin = environ.get("BITBUCKET_GIT_HTTP_ORIGIN", "")
        return f"{origin}/addon/pipelines/home#!/results/{environ['BITBUCKET_BUILD_NUMBER']}" if origin else ""
    if environ.get("BUILD_BUILDID") and environ.get("SYSTEM_COLLECTIONURI"):
        project = quote(environ.get("SYSTEM_TEAMPROJECT", ""), safe="")
        return f"{environ['SYSTEM_COLLECTIONURI']}{project}/_build/results?buildId={environ['BUILD_BUILDID']}"
    return environ.get("CI_JOB_URL") or environ.get("BUILDKITE_BUILD_URL") or ""
