"""The plugin calls on which a stored plan depends. Before the plan is reused, all requests are sent again whose
responses may differ now, for example those that read real objects. If the responses are the same as before, the plan is
still valid, although nothing has been evaluated, decoded or decided again.

Because requests may contain credentials, the calls are stored in encrypted form (see kept.py)."""

from __future__ import annotations

import marshal
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from threading import Lock, Thread
from time import time
from typing import TYPE_CHECKING, Any

from planner.foundation.support.signals import current_stop
from planner.foundation.vocabulary.diagnostic import Failure
from planner.workflows.renew.kept import decrypt, encrypt
from planner.world.provider.plugin.kept_answers import (
    SECONDS,
    CallLog,
    answer_digest,
    environment,
    file_stamps,
)

if TYPE_CHECKING:
    from planner.world.provider.plugin.provider import PluginProvider

_THREADS = 10

Sent = Mapping[tuple[str, int], Sequence[tuple[str, bytes, bytes]]]
"""{(provider address, number of the process): [(call, request, digest of the response)]}"""
Calls = Iterator[tuple[str, bytes, bytes]]
_CONFIGURE = "ConfigureProvider"


def sealed_calls(
    logs: Mapping[str, CallLog | None],
    repeated: Collection[str],
    constraints: Mapping[str, tuple[str, ...]],
    reads: list[list[Any]],
) -> tuple[Any, ...] | None:
    """The data about a plan's calls to store; None if a log is incomplete, if the plugins had another environment than
    this process, or if the user has no key for encryption. `logs`: {provider address: logged calls}. `repeated`: kinds
    of calls to repeat before the plan is reused (rules/renew/calls.dl). `constraints`: {provider address: version
    constraints}."""
    complete = {address: log for address, log in logs.items() if log is not None and log.is_complete}
    around = {log.environment for log in complete.values()}
    if len(complete) < len(logs) or around != {environment()}:
        return None
    sent: dict[tuple[str, int], list[tuple[str, bytes, bytes]]] = {}
    for address, log in complete.items():
        for number, call, request, answer in log.sent:
            if call in repeated or call == _CONFIGURE:
                sent.setdefault((address, number), []).append((call, request, answer))
    for process in [process for process, calls in sent.items() if not any(call in repeated for call, _, _ in calls)]:
        del sent[process]  # a process is not configured if none of its calls is repeated
    sealed = b""
    if sent:
        encrypted = encrypt(marshal.dumps(sent), reads)
        if encrypted is None:
            return None
        sealed = encrypted
    named = {path: stamp for log in complete.values() for path, stamp in log.named.items()}
    return (
        min(log.since for log in complete.values()) + SECONDS,
        around.pop(),
        {address: log.identity for address, log in complete.items()},
        {address: list(texts) for address, texts in constraints.items()},
        named,
        sealed,
    )


def are_answers_same(plugins: tuple[Any, ...], reads: list[list[Any]], directory: str) -> bool:
    """Whether the plugins respond as before when the calls are repeated. If the calls are too old, or if the
    environment, a file that the requests name, or a plugin's program has changed, the result is False and no request is
    sent. `plugins`: result of `sealed_calls`. `directory`: directory of the configuration."""
    until, around, identities, constraints, named, sealed = plugins
    if not until - SECONDS <= time() < until or around != environment():
        return False
    if any(file_stamps([path]) != stamp for path, stamp in named.items()):
        return False
    programs = _programs(identities, constraints, directory)
    if programs is None:
        return False
    if not sealed:
        return True
    data = decrypt(sealed, reads)
    if data is None:
        return False
    try:
        sent: Sent = marshal.loads(data)
    except (ValueError, TypeError, EOFError):
        return False
    return _Repetition(programs, sent).is_same()


def _programs(identities: Mapping[str, str], constraints: Any, directory: str) -> dict[str, str] | None:
    """The programs of providers: {address: path}. None if a program is missing or no longer has its identity, or if
    providers that run already are used (TF_REATTACH_PROVIDERS). `identities`: {address: identity of the program}."""
    from planner.world.provider.locate import Locator
    from planner.world.provider.plugin.schema_parts import identity_of
    from planner.world.state.workspace import data_directory

    if os.environ.get("TF_REATTACH_PROVIDERS"):
        return None
    locator = Locator(directory, os.environ, constraints, data_directory(os.environ))
    programs = {}
    for address, identity in identities.items():
        try:
            programs[address] = locator.locate(address).binary
        except Failure:
            return None
        if identity_of(programs[address]) != identity:
            return None
    return programs


class _Repetition:
    """Repeats the calls of an earlier command. New processes of the same programs answer them."""

    def __init__(self, programs: Mapping[str, str], sent: Sent) -> None:
        self._programs, self._sent = programs, sent
        self._lock = Lock()
        self._is_same = True

    def is_same(self) -> bool:
        """Whether all responses are the same as before. Stops at the first difference."""
        from planner.world.provider.registry import start_provider

        plugins: list[tuple[PluginProvider, Calls, Calls]] = []
        for (address, _), calls in self._sent.items():
            provider: Any = start_provider(address, self._located)
            names = [call for call, _, _ in calls]
            first = names.index(_CONFIGURE) + 1 if _CONFIGURE in names else 0
            plugins.append((provider, iter(calls[:first]), iter(calls[first:])))
        try:
            _run([Thread(target=self._begin, args=(one, first), daemon=True) for one, first, _ in plugins])
            count = -(-_THREADS // len(plugins))
            _run(
                [
                    Thread(target=self._ask, args=(one, rest), daemon=True)
                    for one, _, rest in plugins
                    for _ in range(count)
                ]
            )
        finally:
            for one, _, _ in plugins:
                one.close()
        return self._is_same

    def _located(self, address: str) -> Any:
        from planner.world.provider.locate import Located

        return Located(self._programs[address])

    def _begin(self, provider: PluginProvider, calls: Calls) -> None:
        """Repeat the calls up to and including the one that configures the provider."""
        for one in calls:
            self._repeat(provider, *one)

    def _ask(self, provider: PluginProvider, calls: Calls) -> None:
        while self._is_same and not current_stop().requested:
            with self._lock:
                one = next(calls, None)
            if one is None:
                return
            self._repeat(provider, *one)
        self._is_same = False

    def _repeat(self, provider: PluginProvider, call: str, request: bytes, answer: bytes) -> None:
        try:
            if answer_digest(provider.answer_again(call, request)) == answer:
                return
        except Exception:  # a complete plan reports problems of plugins
            pass
        self._is_same = False


def _run(threads: list[Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
