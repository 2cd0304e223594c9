"""A client for buckets of OSS and COS, whose APIs are similar to that of S3."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode
from xml.etree import ElementTree

from planner.foundation.clients.http import Http, HttpResponse
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import frozen

Sign = Callable[[str, str, Mapping[str, str], Mapping[str, str]], Mapping[str, str]]
"""Returns the headers of a signed request. Parameters: method, key ("" for the bucket), query, headers."""


class BucketError(ServiceError):
    """An error reported by a service; `status` is the HTTP status."""

    def __init__(self, text: str, status: int, code: str) -> None:
        super().__init__(text, code=code, may_pass=status >= 500 or status in (408, 429))
        self.status = status


@frozen(repr=False)
class BucketClient:
    """A client for a bucket at a URL without a slash at its end. `problem` returns an error message; its parameters are
    the method, the URL, the response, and the code and message in the response."""

    url: str
    http: Http
    sign: Sign
    problem: Callable[[str, str, HttpResponse, str, str], str]

    def ask(
        self,
        method: str,
        key: str = "",
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> HttpResponse:
        """Send a request. Raises BucketError for a status of 300 or higher, and ServiceError if there is no
        response."""
        parameters = dict(query or {})
        url = f"{self.url}/{quote(key, safe='/-_.~')}" + (
            f"?{urlencode(sorted(parameters.items()))}" if parameters else ""
        )

        def sign(m: str, to: str, h: dict[str, str], data: bytes) -> Mapping[str, str]:
            return self.sign(m, key, parameters, h)

        answer = self.http.ask(method, url, headers or {}, body, sign=sign)
        if answer.status >= 300:
            code, message = _error_code(answer)
            raise BucketError(self.problem(method, url, answer, code, message), answer.status, code)
        return answer

    def head(self, key: str) -> HttpResponse | None:
        """The response to a HEAD request for an object; None if the object does not exist. Raises ServiceError."""
        return self._if_any("HEAD", key)

    def get(self, key: str) -> HttpResponse | None:
        return self._if_any("GET", key)

    def _if_any(self, method: str, key: str) -> HttpResponse | None:
        try:
            return self.ask(method, key)
        except BucketError as problem:
            if problem.status == 404 and problem.code != "NoSuchBucket":
                return None
            raise

    def delete(self, key: str) -> None:
        try:
            self.ask("DELETE", key)
        except BucketError as problem:
            if problem.status != 404:
                raise

    def keys(self, prefix: str, more: Mapping[str, str] | None = None) -> Iterator[str]:
        """The keys of objects that begin with a prefix. `more`: further query parameters. Raises ServiceError."""
        marker = ""
        while True:
            query = {"prefix": prefix, **(more or {}), **({"marker": marker} if marker else {})}
            listed = _parse_xml(self.ask("GET", "", query).body)
            items = [str(item.findtext("Key") or "") for item in listed.iterfind("Contents")]
            yield from items
            if listed.findtext("IsTruncated") != "true" or not items:
                return
            marker = listed.findtext("NextMarker") or items[-1]


def _parse_xml(data: bytes) -> Any:
    """XML with the namespaces removed. Raises ServiceError."""
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError as bad:
        raise ServiceError(f"the answer is not valid XML ({bad})") from None
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return root


def _error_code(answer: HttpResponse) -> tuple[str, str]:
    try:
        root = _parse_xml(answer.body)
    except ServiceError:
        return answer.headers.get("x-oss-error-code", ""), ""
    return root.findtext("Code") or "", root.findtext("Message") or ""


def put_checked(
    bucket: BucketClient, key: str, before: str | None, headers: Mapping[str, str], body: bytes
) -> HttpResponse | None:
    """Store an object if the stored object still has the entity tag `before` ("": if there is no such object; None:
    always). Returns the response, or None if this condition is not met and nothing was stored. The entity tag is
    compared just before the request, so a concurrent write can go unnoticed. If `before` is "", the caller must pass
    `headers` that make the service reject the request if the object exists. Raises ServiceError."""
    if before:
        now = bucket.head(key)
        if now is None or now.headers.get("etag", "") != before:
            return None
    try:
        return bucket.ask("PUT", key, None, headers, body)
    except BucketError as problem:
        if before == "" and problem.status in (409, 412):
            return None
        raise
