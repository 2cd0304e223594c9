"""Links from a report to lines of files, made from a template. The default template is derived from environment
variables of the code host."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from planner.foundation.support.disk import repository_of
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.records import frozen

REMOVED_BLOCK = "removed_block"
"""kind of a cause in documents: a block that is not declared any more"""
NAMES = ("file", "line", "revision")


@frozen
class Links:
    """Makes links to files. `template`: a template with {file}, {line} and {revision}; "" for no links. `base`: the
    directory in the repository to which file paths are relative; "" for the top directory. `page`: the address of the
    report's page, or ""."""

    template: str = ""
    revision: str = ""
    base: str = ""
    page: str = ""

    def to(self, file: str, line: int, revision: str = "") -> str:
        """The address of a line of a file at `revision`, by default at the revision of the report. The result is ""
        without a template, and for files outside the repository."""
        path = os.path.normpath(os.path.join(self.base, file))
        if not self.template or path.startswith("..") or os.path.isabs(path):
            return ""
        parts = {"file": quote(path), "line": str(line), "revision": quote(revision or self.revision)}
        address = self.template
        for name, text in parts.items():
            address = address.replace(f"{{{name}}}", text)
        return address

    def of(self, place: Mapping[str, Any]) -> str:
        """The address of a place, "" if it has none. A removed block has an address only if a commit that contains it
        is known."""
        if not place.get("file") or (place.get("kind") == REMOVED_BLOCK and not place.get("commit")):
            return ""
        return self.to(place["file"], place.get("line") or 0, place.get("commit") or "")


def links(template: str, directory: str, environ: Mapping[str, str], page: str = "") -> Links:
    """The links of a report about a directory. Raises Failure if the template is not an http or https address with
    {file}, or has unknown names in braces."""
    host = code_host(environ)
    chosen = template or host.template
    root = host.root or repository_of(directory)
    base = os.path.relpath(os.path.realpath(directory), os.path.realpath(root)) if root else ""
    rest = chosen
    for name in NAMES:
        rest = rest.replace(f"{{{name}}}", "")
    if chosen and (urlsplit(chosen).scheme not in ("http", "https") or "{" in rest or "{file}" not in chosen):
        detail = f"{chosen!r} must be an http or https address with {{file}}; {{line}} and {{revision}} are optional."
        raise Failure(error("cli.link", "Wrong value for option -link", detail))
    return Links(chosen, host.revision or (_head(directory) if root else ""), base, page)


@frozen
class CodeHost:
    """The repository that a CI service checks: a template for links to its files, the checked revision, and its
    directory (`root`)."""

    template: str = ""
    revision: str = ""
    root: str = ""


def code_host(environ: Mapping[str, str]) -> CodeHost:
    """The code host whose runner executes this process: GitHub, GitLab, Bitbucket or Azure Pipelines; empty on other
    machines."""

    def get(name: str) -> str:
        return environ.get(name, "")

    if get("GITHUB_REPOSITORY"):
        server = get("GITHUB_SERVER_URL") or "https://github.com"
        template = f"{server}/{get('GITHUB_REPOSITORY')}/blob/{{revision}}/{{file}}#L{{line}}"
        return CodeHost(template, get("GITHUB_SHA"), get("GITHUB_WORKSPACE"))
    if get("CI_PROJECT_URL"):
        template = f"{get('CI_PROJECT_URL')}/-/blob/{{revision}}/{{file}}#L{{line}}"
        return CodeHost(template, get("CI_COMMIT_SHA"), get("CI_PROJECT_DIR"))
    if get("BITBUCKET_GIT_HTTP_ORIGIN"):
        template = f"{get('BITBUCKET_GIT_HTTP_ORIGIN')}/src/{{revision}}/{{file}}#lines-{{line}}"
        return CodeHost(template, get("BITBUCKET_COMMIT"), get("BITBUCKET_CLONE_DIR"))
    if get("BUILD_REPOSITORY_URI") and get("BUILD_SOURCEVERSION"):
        lines = "line={line}&lineEnd={line}&lineStartColumn=1&lineEndColumn=1"
        template = f"{get('BUILD_REPOSITORY_URI')}?path=/{{file}}&version=GC{{revision}}&{lines}"
        return CodeHost(template, get("BUILD_SOURCEVERSION"), get("BUILD_SOURCESDIRECTORY"))
    return CodeHost()


def _head(directory: str) -> str:
    """The commit of the work tree; "" if there is none."""
    from planner.world.git.revisions import commit_of

    try:
        return commit_of(directory, "HEAD")
    except Failure:
        return ""
