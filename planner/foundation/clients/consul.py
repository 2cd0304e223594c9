"""A client for Consul: keys, transactions, and sessions that are renewed by a thread."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping
from contextlib import suppress
from threading import Event, Thread
from typing import Any
from urllib.parse import quote, urlencode

from planner.foundation.clients.http import Http, HttpResponse, Retries
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import frozen

_SESSION = {"LockDelay": "5000ms", "Name": "Consul API Lock", "TTL": "15s"}
_RENEWAL = 7.5  # The number of seconds between two renewals of a session.


@frozen(repr=False)
class Cluster:
    url: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    http: Http

    @property
    def place(self) -> str:
        datacenter = self.query.get("dc")
        return f"consul:{self.url.partition('://')[2]}" + (f"@{datacenter}" if datacenter else "")

    def ask(self, method: str, path: str, body: bytes = b"", /, *, once: bool = False, **query: Any) -> HttpResponse:
        """Send a request. Query parameters that are None are sent without a value. `once`: whether to send the request
        without retries, and with a timeout of 5 seconds. Raises ServiceError if there is no response, or for a status
        other than 200, 404 and 409."""
        words = {**{name: "" if value is None else value for name, value in query.items()}, **self.query}
        url = f"{self.url}/v1/{quote(path, safe='/')}" + (f"?{urlencode(sorted(words.items()))}" if words else "")
        retries = Retries(0) if once else None
        answer = self.http.ask(method, url, self.headers, body, retries=retries, timeout=5.0 if once else None)
        if answer.status not in (200, 404, 409):
            text = " ".join(answer.text.split())[:500]
            detail = f"Unexpected response code: {answer.status} ({text})"
            raise ServiceError(detail, may_pass=answer.status == 429 or answer.status >= 500)
        return answer

    def key(self, name: str) -> dict[str, Any] | None:
        """The entry of a key, None if it does not exist. The read is consistent: the leader of the cluster answers.
        Raises ServiceError."""
        answer = self.ask("GET", f"kv/{name}", consistent=None)
        if answer.status == 404:
            return None
        result = answer.json()
        if not isinstance(result, list) or not result or not isinstance(result[0], dict):
            raise ServiceError(f"Consul did not return a list of keys for {name}")
        return result[0]

    def together(self, *steps: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
        """Run the steps in one transaction. Returns the results of the steps, and the reason why the transaction was
        rejected ("" if it succeeded). Raises ServiceError."""
        answer = self.ask("PUT", "txn", json.dumps([{"KV": step} for step in steps]).encode())
        document = answer.json()
        if answer.status == 409:
            problems = [str(e.get("What")) for e in document.get("Errors") or () if isinstance(e, dict)]
            return [], "; ".join(problems) or "no reason given"
        return [result.get("KV") or {} for result in document.get("Results") or ()], ""


class ConsulSession:
    """A session of Consul. After a call of `keep`, a thread renews the session until `end` is called, or the session
    has expired."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._end = cluster, Event()
        answer = cluster.ask("PUT", "session/create", json.dumps(_SESSION, separators=(",", ":")).encode())
        self.id = str(answer.json().get("ID"))

    def keep(self) -> None:
        Thread(target=self._renew, name="consul session", daemon=True).start()

    def _renew(self) -> None:
        pause = _RENEWAL
        while not self._end.wait(pause):
            try:
                if self._cluster.ask("PUT", f"session/renew/{self.id}", once=True).status == 404:
                    return  # the session has expired; the next use of the lock detects this
                pause = _RENEWAL
            except ServiceError:
                pause = 1.0

    def end(self) -> None:
        self._end.set()
        with suppress(ServiceError):  # the session will expire on its own
            self._cluster.ask("PUT", f"session/destroy/{self.id}", once=True)


def version_of(kept: Mapping[str, Any] | None) -> str:
    """The index of a key's last change; "" if the key does not exist."""
    return str(kept.get("ModifyIndex") or "") if kept is not None else ""


def value_of(kept: Mapping[str, Any]) -> bytes:
    try:
        return b64decode(kept.get("Value") or "", validate=True)
    except ValueError:
        raise ServiceError(f"Consul's value of {kept.get('Key')} is not Base64") from None
