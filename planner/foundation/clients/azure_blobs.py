"""Requests to Azure Blob Storage, authenticated with an account key, a shared access signature, or a token.

https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
"""

from __future__ import annotations

import hmac
from base64 import b64encode
from collections.abc import Callable, Mapping
from email.utils import formatdate
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from planner.foundation.clients.http import Http, HttpResponse
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import field, frozen

_VERSION = "2021-12-02"
_SIGNED = (
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
)
_LINE = "-" * 80


class AzureError(ServiceError):
    """An error reported by Azure Blob Storage; `status` is the HTTP status."""

    def __init__(self, text: str, status: int, code: str) -> None:
        super().__init__(text, code=code, may_pass=status >= 500 or status in (408, 429))
        self.status = status


def signature(method: str, url: str, headers: Mapping[str, str], length: int, account: str, key: bytes) -> str:
    """The Authorization header for a request with these headers, signed with the account key (Shared Key)."""
    sent = {name.lower(): value.strip() for name, value in headers.items()}
    sent["content-length"] = str(length) if length else ""
    parts = urlsplit(url)
    own = "".join(f"{name}:{value}\n" for name, value in sorted(sent.items()) if name.startswith("x-ms-"))
    query = sorted((name.lower(), value) for name, value in parse_qsl(parts.query, keep_blank_values=True))
    resource = f"/{account}{parts.path or '/'}" + "".join(f"\n{name}:{value}" for name, value in query)
    text = "\n".join((method, *(sent.get(name, "") for name in _SIGNED), own + resource))
    return f"SharedKey {account}:{b64encode(hmac.digest(key, text.encode(), 'sha256')).decode('ascii')}"


@frozen(repr=False)
class Container:
    """A client for a container, with an account key, a shared access signature (`sas`), or tokens. `secret`: headers
    with the customer's key for the encryption of blobs; empty for keys that Azure manages."""

    account: str
    suffix: str
    name: str
    http: Http
    key: bytes = b""
    sas: str = ""
    tokens: Callable[[], str] | None = None
    secret: Mapping[str, str] = field(factory=dict)

    def url(self, blob: str = "") -> str:
        """The URL of the container, or of a blob in it, without credentials."""
        url = f"https://{self.account}.blob.{self.suffix}/{self.name}"
        return f"{url}/{quote(blob, safe='$&+:=@')}" if blob else url

    def ask(
        self,
        method: str,
        blob: str = "",
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> HttpResponse:
        """Send a request. Raises AzureError for a status of 300 or higher, and ServiceError if there is no response."""
        url = self.url(blob)
        parameters = "&".join(part for part in (urlencode(sorted((query or {}).items())), self.sas.lstrip("?")) if part)

        def sign(m: str, to: str, h: dict[str, str], data: bytes) -> dict[str, str]:
            sent = {**h, "x-ms-version": _VERSION, "x-ms-date": formatdate(usegmt=True)}
            if data:
                sent["Content-Type"] = "application/octet-stream"
            if self.key:
                return {**sent, "Authorization": signature(m, to, sent, len(data), self.account, self.key)}
            return {**sent, "Authorization": f"Bearer {self.tokens()}"} if self.tokens is not None else sent

        try:
            answer = self.http.ask(method, f"{url}?{parameters}" if parameters else url, headers or {}, body, sign=sign)
        # the text of the exception may contain the complete URL with its signature, which must not be shown
        except ServiceError as problem:
            text = problem.text.replace(self.sas.lstrip("?"), "***") if self.sas else problem.text
            raise ServiceError(text, may_pass=problem.may_pass) from None
        if answer.status >= 300:
            code = answer.headers.get("x-ms-error-code", "")
            raise AzureError(error_text(method, url, answer, code), answer.status, code)
        return answer


def error_text(method: str, url: str, answer: HttpResponse, code: str) -> str:
    """The message of a failed request, as in Azure's library for Go."""
    parts = urlsplit(url)
    lines = [f"{method} {parts.scheme}://{parts.netloc}{unquote(parts.path)}", _LINE]
    lines += [f"RESPONSE {answer.status}: {answer.status} {answer.reason}".rstrip()]
    lines += [f"ERROR CODE: {code}" if code else "ERROR CODE UNAVAILABLE", _LINE]
    lines += [answer.text[:4000] or "Response contained no body", _LINE]
    return "\n".join(lines) + "\n"


def access_key(
    account: str, group: str, subscription: str, management: str, tokens: Callable[[], str], http: Http
) -> str:
    """The first access key of a storage account, requested from the management API. Raises ServiceError."""
    who = quote(f"/subscriptions/{subscription}/resourceGroups/{group}")
    url = f"{management}{who}/providers/Microsoft.Storage/storageAccounts/{account}/listKeys?api-version=2023-05-01"
    answer = http.ask("POST", url, {"Authorization": f"Bearer {tokens()}", "Accept": "application/json"})
    if answer.status >= 300:
        text = error_text("POST", url, answer, answer.headers.get("x-ms-error-code", ""))
        raise ServiceError(f"error listing access keys on the storage account: {text}")
    document: Any = answer.json()
    try:
        return str(document["keys"][0]["value"])
    except (KeyError, IndexError, TypeError):
        raise ServiceError("malformed structure returned from the ListKeys function") from None
