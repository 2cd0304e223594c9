"""Signed requests to AWS (Signature Version 4), for the few operations that states and encryption keys need.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from planner.foundation.clients.http import Http, HttpResponse, user_agent
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import frozen

_UNSIGNED = frozenset(("user-agent", "authorization", "connection", "expect", "x-amzn-trace-id"))


@frozen(repr=False)
class Credentials:
    """Access keys. `expires` is in seconds since 1970, 0 for keys that do not expire."""

    access_key: str
    secret_key: str
    token: str = ""
    expires: float = 0.0
    source: str = ""


CredentialSource = Callable[[], Credentials]


def sign_request(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    credentials: Credentials,
    region: str,
    service: str,
    now: datetime | None = None,
) -> dict[str, str]:
    """The headers of a request, with its signature added. The path of the URL must already be encoded."""
    moment = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    parts = urlsplit(url)
    known = headers.get("x-amz-checksum-sha256")  # reuse the checksum of a large body
    payload = b64decode(known).hex() if known else hashlib.sha256(body).hexdigest()
    sent = {**headers, "Host": parts.netloc.rpartition("@")[2], "X-Amz-Date": moment}
    if service == "s3":
        sent["X-Amz-Content-Sha256"] = payload
    if credentials.token:
        sent["X-Amz-Security-Token"] = credentials.token
    shown = {k.lower(): " ".join(v.split()) for k, v in sent.items() if k.lower() not in _UNSIGNED}
    names = ";".join(sorted(shown))
    path = parts.path or "/"
    canonical = "\n".join(
        (
            method,
            path if service == "s3" else quote(path, safe="/-_.~"),
            _canonical_query(parts.query),
            "".join(f"{name}:{shown[name]}\n" for name in sorted(shown)),
            names,
            payload,
        )
    )
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{credentials.secret_key}".encode()
    for part in (moment[:8], region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    proof = f"Credential={credentials.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**sent, "Authorization": f"AWS4-HMAC-SHA256 {proof}"}


def _canonical_query(query: str) -> str:
    pairs = parse_qsl(query, keep_blank_values=True)
    return "&".join(sorted(f"{quote(k, safe='-_.~')}={quote(v, safe='-_.~')}" for k, v in pairs))


class AwsError(ServiceError):
    """An error reported by a service of AWS; `status` is the HTTP status."""

    def __init__(self, text: str, status: int, code: str) -> None:
        super().__init__(text, code=code, may_pass=status >= 500 or status == 429)
        self.status = status


@frozen(repr=False)
class Service:
    """A client for a service of AWS. Its methods raise AwsError, with the messages of the Go SDK, or ServiceError if
    there are no credentials or no response."""

    name: str  # the name in signatures: `s3`, `dynamodb`
    title: str  # the name in messages: `S3`, `DynamoDB`
    endpoint: str
    region: str
    credentials: CredentialSource
    http: Http

    def ask(
        self, operation: str, method: str, path: str = "/", headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> HttpResponse:
        """Send a request. The path, which may include a query, must already be encoded. Raises AwsError for a status of
        300 or higher, and ServiceError if there are no credentials or no response."""
        try:
            credentials = self.credentials()
        except ServiceError as problem:
            raise ServiceError(
                f"operation error {self.title}: {operation}, {problem.text}", code="NoCredentials"
            ) from None

        def sign(m: str, url: str, h: dict[str, str], b: bytes) -> dict[str, str]:
            return sign_request(m, url, {**h, "User-Agent": user_agent()}, b, credentials, self.region, self.name)

        try:
            answer = self.http.ask(method, self.endpoint.rstrip("/") + path, headers or {}, body, sign=sign)
        except ServiceError as problem:
            what = "exceeded maximum number of attempts" if "giving up" in problem.text else "request send failed"
            text = f"operation error {self.title}: {operation}, {what}, {problem.text}"
            raise ServiceError(text, may_pass=problem.may_pass) from None
        if answer.status >= 300:
            raise self._error(operation, answer)
        return answer

    def target(self, operation: str, prefix: str, body: Mapping[str, Any], version: str = "1.0") -> dict[str, Any]:
        """Call an operation with the JSON protocol of DynamoDB and KMS. Returns the JSON object of the response; empty
        if the response is not an object."""
        headers = {"Content-Type": f"application/x-amz-json-{version}", "X-Amz-Target": f"{prefix}.{operation}"}
        data = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
        result = self.ask(operation, "POST", "/", headers, data).json()
        return result if isinstance(result, dict) else {}

    def query(self, operation: str, version: str, parameters: Mapping[str, str]) -> str:
        """Call an operation with the query protocol of STS and IAM. Returns the XML of the response."""
        body = urlencode({"Action": operation, "Version": version, **parameters}).encode()
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.ask(operation, "POST", "/", headers, body).text

    def _error(self, operation: str, answer: HttpResponse) -> AwsError:
        code, message = _error_code(answer)
        request = answer.headers.get("x-amz-request-id") or answer.headers.get("x-amzn-requestid", "")
        host = f", HostID: {answer.headers.get('x-amz-id-2', '')}" if self.name == "s3" else ""
        text = (
            f"operation error {self.title}: {operation}, https response error StatusCode: {answer.status}, "
            f"RequestID: {request}{host}, api error {code}: {message}"
        )
        return AwsError(text, answer.status, code)


def _error_code(answer: HttpResponse) -> tuple[str, str]:
    text = answer.text
    if text.lstrip().startswith("{"):
        try:
            document = answer.json()
        except ServiceError:
            document = {}
        code = str(document.get("__type") or document.get("code") or "").rpartition("#")[2]
        return code or str(answer.status), str(document.get("message") or document.get("Message") or "")
    code = element(text, "Code") or answer.headers.get("x-amz-error-code", "") or _STATUS.get(answer.status, "")
    return code or str(answer.status), element(text, "Message") or code


_STATUS = {400: "BadRequest", 403: "Forbidden", 404: "NotFound", 412: "PreconditionFailed", 301: "PermanentRedirect"}


def element(xml: str, name: str) -> str:
    """The text of the first XML element with this name, "" if there is none; sufficient for the flat responses of the
    services used here."""
    match = re.search(rf"<{name}(?:\s[^>]*)?>([^<]*)</{name}>", xml)
    return unescape(match[1]) if match else ""


def elements(xml: str, name: str) -> list[str]:
    return [unescape(text) for text in re.findall(rf"<{name}(?:\s[^>]*)?>([^<]*)</{name}>", xml)]


_ENTITY = re.compile(r"&(?:(lt|gt|quot|apos|amp)|#([0-9]{1,7})|#x([0-9a-fA-F]{1,6}));")
_LETTERS = {"lt": "<", "gt": ">", "quot": '"', "apos": "'", "amp": "&"}


def unescape(text: str) -> str:
    """XML text with the five predefined entities and numeric references decoded; other references are unchanged."""

    def letter(match: re.Match[str]) -> str:
        name, decimal, hexadecimal = match.groups()
        number = int(decimal) if decimal else int(hexadecimal or "0", 16)
        return _LETTERS[name] if name else chr(number) if number <= 0x10FFFF else match[0]

    return _ENTITY.sub(letter, text)


def encoded_path(path: str) -> str:
    return quote(path, safe="/-_.~")


def endpoint_of(service: str, region: str, dual_stack: bool = False, fips: bool = False) -> str:
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    if dual_stack:
        domain = "api.amazonwebservices.com.cn" if region.startswith("cn-") else "api.aws"
        if service == "s3":
            domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
            return f"https://{service}{'-fips' if fips else ''}.dualstack.{region}.{domain}"
    return f"https://{service}{'-fips' if fips else ''}.{region}.{domain}"
