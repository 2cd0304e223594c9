"""Credentials and request signatures for Alibaba Cloud: its object storage OSS (signature version 1), and RPC calls,
for example to STS.

https://www.alibabacloud.com/help/en/oss/developer-reference/include-signatures-in-the-authorization-header
"""

from __future__ import annotations

import hmac
import json
import os
import uuid
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import formatdate
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from planner.foundation.clients.buckets import BucketClient
from planner.foundation.clients.http import Http, HttpResponse
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import frozen

_MACHINE = "http://100.100.100.200/latest/meta-data/ram/security-credentials/"


@frozen(repr=False)
class AliyunKeys:
    """Access keys of Alibaba Cloud; `token` is set for temporary keys only."""

    access: str
    secret: str
    token: str = ""


def _hmac(key: str, text: str) -> str:
    return b64encode(hmac.digest(key.encode(), text.encode(), "sha1")).decode("ascii")


def oss_bucket(endpoint: str, name: str, keys: AliyunKeys, http: Http) -> BucketClient:
    """A client for a bucket of OSS. `endpoint` includes the scheme, for example
    `https://oss-cn-beijing.aliyuncs.com`."""
    parts = urlsplit(endpoint)
    host = parts.hostname or ""
    is_address = host.replace(".", "").isdigit() or ":" in host or host == "localhost"
    url = f"{parts.scheme}://{parts.netloc}/{name}" if is_address else f"{parts.scheme}://{name}.{parts.netloc}"

    def sign(method: str, key: str, query: Mapping[str, str], headers: Mapping[str, str]) -> Mapping[str, str]:
        sent = {**headers, "Date": formatdate(usegmt=True)}
        if keys.token:
            sent["x-oss-security-token"] = keys.token
        if not keys.access:
            return sent
        return {**sent, "Authorization": authorization(method, f"/{name}/{key}", sent, keys)}

    def problem(method: str, url: str, answer: HttpResponse, code: str, message: str) -> str:
        request = answer.headers.get("x-oss-request-id", "")
        text = f'StatusCode={answer.status}, ErrorCode={code}, ErrorMessage="{message}", RequestId={request}'
        return f"oss: service returned error: {text}"

    return BucketClient(url, http, sign, problem)


def authorization(method: str, resource: str, headers: Mapping[str, str], keys: AliyunKeys) -> str:
    sent = {name.lower(): value for name, value in headers.items()}
    text = "\n".join((method, *(sent.get(name, "") for name in ("content-md5", "content-type", "date")), ""))
    text += "".join(f"{n}:{v}\n" for n, v in sorted(sent.items()) if n.startswith("x-oss-")) + resource
    return f"OSS {keys.access}:{_hmac(keys.secret, text)}"


def call(
    endpoint: str, action: str, version: str, parameters: Mapping[str, str], keys: AliyunKeys, http: Http
) -> dict[str, Any]:
    """Call an operation of an RPC API. Returns the parsed response. Raises ServiceError."""
    parameters = {
        "Action": action,
        "Version": version,
        "Format": "JSON",
        "AccessKeyId": keys.access,
        "SignatureMethod": "HMAC-SHA1",
        "SignatureVersion": "1.0",
        "SignatureNonce": uuid.uuid4().hex,
        "Timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        **({"SecurityToken": keys.token} if keys.token else {}),
        **parameters,
    }
    query = urlencode(sorted(parameters.items()), quote_via=quote, safe="-_.~")
    signature = _hmac(f"{keys.secret}&", f"POST&%2F&{quote(query, safe='-_.~')}")
    body = f"{query}&Signature={quote(signature, safe='-_.~')}"
    url = endpoint if "://" in endpoint else f"https://{endpoint}"
    answer = http.ask("POST", f"{url}/", {"Content-Type": "application/x-www-form-urlencoded"}, body.encode())
    result = answer.json()
    if answer.status >= 300 or not isinstance(result, dict):
        raise ServiceError(f"SDK.ServerError\nStatusCode: {answer.status}\n{action}: {answer.text[:1000]}")
    return result


def assume_role(
    keys: AliyunKeys, role: str, session: str, policy: str, seconds: int, endpoint: str, region: str, http: Http
) -> AliyunKeys:
    """Assume a role, and return its temporary keys. Raises ServiceError."""
    query = {"RoleArn": role, "RoleSessionName": session, "DurationSeconds": str(seconds)}
    query |= {"Policy": policy} if policy else {}
    where = endpoint or (f"sts.{region}.aliyuncs.com" if region else "sts.aliyuncs.com")
    return _keys_in(call(where, "AssumeRole", "2015-04-01", query, keys, http).get("Credentials"), "AssumeRole")


def machine_keys(role: str, http: Http) -> AliyunKeys:
    """The temporary keys of the role that is attached to this machine. Raises ServiceError."""
    answer = http.ask("GET", _MACHINE + quote(role), timeout=10.0)
    if answer.status != 200:
        raise ServiceError(f"get Ecs sts token err, httpStatus: {answer.status}, message = {answer.text[:1000]}")
    result = answer.json()
    if not isinstance(result, dict) or result.get("Code") != "Success":
        raise ServiceError("refresh Ecs sts token err, Code is not Success")
    return _keys_in(result, f"Ecs role {role}")


def _keys_in(document: Any, what: str) -> AliyunKeys:
    try:
        return AliyunKeys(document["AccessKeyId"], document["AccessKeySecret"], document["SecurityToken"])
    except (KeyError, TypeError):
        raise ServiceError(f"there is no any available accesskey, secret and security token for {what}") from None


def profile(name: str, path: str) -> dict[str, Any]:
    """A profile in the configuration file of the `aliyun` program; empty if the profile does not exist, or the file
    cannot be read."""
    where = os.path.expanduser(path or "~/.aliyun/config.json")
    try:
        with open(where, encoding="utf-8") as file:
            document = json.loads(file.read(1 << 20))
        items = [p for p in document["profiles"] if isinstance(p, dict) and p.get("name") == name]
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return {}
    return items[-1] if items else {}
