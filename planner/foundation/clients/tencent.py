"""Credentials and request signatures for Tencent Cloud: its object storage COS (q-sign), and other services
(TC3-HMAC-SHA256).

https://www.tencentcloud.com/document/product/436/7778
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from planner.foundation.clients.buckets import BucketClient
from planner.foundation.clients.http import Http, HttpResponse
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import frozen

_VALID = 3600  # how long a signature is valid, in seconds


@frozen(repr=False)
class TencentKeys:
    """Keys of Tencent Cloud; `token` is set for temporary keys only."""

    id: str
    secret: str
    token: str = ""


def cos_bucket(url: str, keys: TencentKeys, http: Http) -> BucketClient:
    host = urlsplit(url).netloc

    def sign(method: str, key: str, query: Mapping[str, str], headers: Mapping[str, str]) -> Mapping[str, str]:
        sent = {**headers, "Host": host}
        if keys.token:
            sent["x-cos-security-token"] = keys.token
        shown = {
            n: v for n, v in sent.items() if n.lower() in ("host", "content-md5") or n.lower().startswith("x-cos-")
        }
        since = int(time.time()) - 60
        span = f"{since};{since + _VALID}"
        return {**sent, "Authorization": authorization(method, f"/{key}", query, shown, keys, span)}

    def problem(method: str, url: str, answer: HttpResponse, code: str, message: str) -> str:
        request = answer.headers.get("x-cos-request-id", "")
        trace = answer.headers.get("x-cos-trace-id", "")
        text = f"(Message: {message}, RequestId: {request}, TraceId: {trace})"
        return f"{method} {unquote(url)}: {answer.status} {code}{text}"

    return BucketClient(url, http, sign, problem)


def authorization(
    method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str], keys: TencentKeys, span: str
) -> str:
    """The Authorization header of a request to COS. It signs all `headers`. `span`: the period in which the signature
    is valid, its begin and end in seconds since 1970 ("1700000000;1700003600")."""

    def as_list(pairs: Mapping[str, str]) -> tuple[str, str]:
        coded = sorted((quote(n, safe="-_.~").lower(), quote(v, safe="-_.~")) for n, v in pairs.items())
        return ";".join(n for n, _ in coded), "&".join(f"{n}={v}" for n, v in coded)

    names, parameters = as_list(query)
    shown, values = as_list(headers)
    request_text = f"{method.lower()}\n{path}\n{parameters}\n{values}\n"
    text = f"sha1\n{span}\n{hashlib.sha1(request_text.encode(), usedforsecurity=False).hexdigest()}\n"
    key = hmac.digest(keys.secret.encode(), span.encode(), "sha1").hex()
    signature = hmac.digest(key.encode(), text.encode(), "sha1").hex()
    return (
        f"q-sign-algorithm=sha1&q-ak={keys.id}&q-sign-time={span}&q-key-time={span}&q-header-list={shown}"
        f"&q-url-param-list={names}&q-signature={signature}"
    )


def proof(service: str, host: str, data: bytes, now: int, keys: TencentKeys) -> str:
    """The Authorization header of a call to a service other than COS. `data`: the JSON of the request; `now`: seconds
    since 1970."""
    day = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d")
    kind = "application/json"
    request_text = (
        f"POST\n/\n\ncontent-type:{kind}\nhost:{host}\n\ncontent-type;host\n{hashlib.sha256(data).hexdigest()}"
    )
    scope = f"{day}/{service}/tc3_request"
    text = f"TC3-HMAC-SHA256\n{now}\n{scope}\n{hashlib.sha256(request_text.encode()).hexdigest()}"
    key = f"TC3{keys.secret}".encode()
    for part in (day, service, "tc3_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    return f"TC3-HMAC-SHA256 Credential={keys.id}/{scope}, SignedHeaders=content-type;host, Signature={signature}"


def call(
    service: str, action: str, version: str, region: str, body: Mapping[str, Any], keys: TencentKeys, http: Http
) -> dict[str, Any]:
    """Call an operation of a service. Raises ServiceError with the code that the service reports."""
    host, now = f"{service}.tencentcloudapi.com", int(time.time())
    data = json.dumps(body, separators=(",", ":")).encode()
    headers = {
        "Content-Type": "application/json",
        "Host": host,
        "Authorization": proof(service, host, data, now, keys),
        "X-TC-Action": action,
        "X-TC-Version": version,
        "X-TC-Timestamp": str(now),
        "X-TC-Region": region,
        "X-TC-Language": "en-US",
        **({"X-TC-Token": keys.token} if keys.token else {}),
    }
    document = http.ask("POST", f"https://{host}/", headers, data).json()
    result = document.get("Response") if isinstance(document, dict) else None
    if not isinstance(result, dict):
        raise ServiceError(f"[TencentCloudSDKError] {action}: the response has no member Response")
    wrong = result.get("Error")
    if isinstance(wrong, dict):
        code, message = str(wrong.get("Code", "")), wrong.get("Message", "")
        request = result.get("RequestId", "")
        text = f"[TencentCloudSDKError] Code={code}, Message={message}, RequestId={request}"
        raise ServiceError(text, code=code, may_pass=code in ("InternalError", "RequestLimitExceeded"))
    return result


def assume_role(
    keys: TencentKeys, role: str, session: str, seconds: int, policy: str, region: str, http: Http
) -> TencentKeys:
    """Assume a role, and return its temporary keys. Raises ServiceError."""
    body: dict[str, Any] = {"RoleArn": role, "RoleSessionName": session, "DurationSeconds": seconds}
    if policy:
        body["Policy"] = quote(policy, safe="-_.~")
    credentials = call("sts", "AssumeRole", "2018-08-13", region, body, keys, http).get("Credentials")
    try:
        return TencentKeys(credentials["TmpSecretId"], credentials["TmpSecretKey"], credentials["Token"])  # type: ignore[index]
    except (KeyError, TypeError):
        raise ServiceError("AssumeRole: the response has no keys") from None
