"""Caches responses of plugins in the user's cache, for equal requests of later commands. rules/renew/calls.dl decides
which calls may use cached responses.

The key of a response consists of the plugin's file, the environment, the configuration files that providers read by
default (such as `~/.aws/config`), the provider configuration, the request, and the sizes and times of all files that
the request names, because providers compare such files in plans. Each response is encrypted with a key derived from its
request. The key is not stored. So a cached value can be read only with the configuration and the state from which it
was computed."""

from __future__ import annotations

import marshal
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from threading import Lock
from time import time
from typing import TYPE_CHECKING

from planner.foundation.support.store import Shelf

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

ANSWERS = Shelf("answers", 4096, 1 << 29, made_by=("world/provider/plugin",))

SECONDS = 3600  # maximum age of a cached response, if the call may access anything besides the request
_COMMANDS = 16  # a cached response is removed when this many later commands wrote the cache without using the response
_NONCE = 12
_MAX_FILES = 2000  # maximum number of files in directories that a request names; with more, the cache is not used

UNRELATED = frozenset(("PWD", "OLDPWD", "SHLVL", "_", "TERM", "COLUMNS", "LINES", "TF_CLI_CONFIG_FILE"))
"""environment variables on which no response depends"""
_UNRELATED_PREFIXES = ("TF_VAR_", "TF_LOG", "TF_CLI_ARGS", "PLANNER_")
_SETTINGS = (
    "~/.aws/config",
    "~/.aws/credentials",
    "~/.azure/azureProfile.json",
    "~/.config/gcloud/active_config",
    "~/.config/gcloud/configurations/config_default",
    "~/.config/gcloud/application_default_credentials.json",
    "~/.kube/config",
)
"""files that providers read by default"""
_SETTING_VARIABLES = (
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "KUBECONFIG",
    "KUBE_CONFIG_PATH",
)


MAX_LOGGED = 1 << 25  # if its requests have more bytes than this, the calls of a command are not logged


class CallLog:
    """Logs everything on which a plugin's responses to one command depend, so that a later command can determine
    whether the plugin would return the same responses again."""

    def __init__(self, identity: str, binary: str, environment: str) -> None:
        self.identity, self.environment = identity, environment
        self.folder = os.path.dirname(os.path.realpath(binary))
        self.is_complete = True
        """whether the log contains everything that determines the responses"""
        self.sent: list[tuple[int, str, bytes, bytes]] = []
        """the calls that plugin processes answered, as (number of the process, call, request, digest of the
        response)"""
        self.since = time()
        """the time of the oldest response that came from the cache although it depends on more than its request;
        without such a response, the time when the log began"""
        self.named: dict[str, bytes] = {}
        """the files that requests name, with their stamps. For a missing file, the method `names` lists the nearest
        existing directory, so that this directory is among the inputs of the command."""
        self._folders: set[str] = set()
        self._processes: list[object] = []
        self._configured: set[int] = set()
        self._size = 0
        self._lock = Lock()

    def add(self, process: object, call: str, request: bytes, answer: bytes) -> None:
        """Log a call and its response. `process`: the plugin process that responded."""
        with self._lock:
            self._size += len(request)
            if process not in self._processes:
                self._processes.append(process)
            number = self._processes.index(process)
            if call == "ConfigureProvider":
                self.is_complete = self.is_complete and number not in self._configured
                self._configured.add(number)
            self.is_complete = self.is_complete and self._size <= MAX_LOGGED
            if self.is_complete:
                self.sent.append((number, call, request, answer_digest(answer)))
            else:
                self.sent.clear()

    def fail(self) -> None:
        """Mark the log as incomplete: a call failed, or its response depends on something that is not logged."""
        self.is_complete = False

    def names(self, path: str, stamp: str) -> None:
        """Record that a request names this file. `stamp` is "" if the file is missing."""
        if stamp:
            if path not in self.named:
                self.named[path] = file_stamps([path]) or b""
        elif "/" in path:
            folder = os.path.dirname(path)
            while folder and not os.path.isdir(folder):
                folder = os.path.dirname(folder)
            if folder not in self._folders:
                self._folders.add(folder)
                try:
                    os.listdir(folder or ".")
                except (OSError, ValueError):
                    self.fail()


LOGS: dict[str, CallLog | None] | None = None  # provider -> log of this command; None if its responses are not cached


@contextmanager
def logged_calls() -> Iterator[dict[str, CallLog | None]]:
    """A context in which the calls of all plugins are logged. Yields {provider: log}; the log is None if responses of
    the provider are not cached."""
    global LOGS
    LOGS = {}
    try:
        yield LOGS
    finally:
        LOGS = None


def answer_digest(answer: bytes) -> bytes:
    return blake2b(answer, digest_size=16).digest()


def environment() -> str:
    """A digest of the environment on which responses depend: variables, and the files that providers read by
    default."""
    return blake2b("\n".join(_environment()).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class KeptAnswers:
    """The cached responses of the plugin with this identity, for the current directory. `calls`: for each call that may
    use the cache, whether its response depends only on the request. Responses that depend on more expire after
    SECONDS."""

    def __init__(self, identity: str, calls: Mapping[str, bool]) -> None:
        self.calls = calls
        self.is_insufficient = False
        """whether this command needed the process although it could use cached responses"""
        self.log: CallLog | None = None
        self._name = ANSWERS.name(identity, os.getcwd(), *_environment())
        self._mode = ",".join(sorted(self.calls))
        self._answers: dict[bytes, tuple[int, float, bytes]] | None = None
        self._starts: dict[str, bool] = {}
        self._run = 0
        self._is_new = False

    @property
    def starts(self) -> bool:
        """Whether the last run of the same command needed the process; True if there is no record of such a run."""
        self._load()
        return self._starts.get(self._mode, True)

    def get(self, call: str, request: bytes) -> bytes | None:
        answers = self._load()
        name, key = _digests(call, request)
        kept = answers.get(name)
        if kept is None or not (self.calls[call] or 0 <= time() - kept[1] < SECONDS):
            return None
        answers[name] = (self._run, *kept[1:])
        if self.log is not None and not self.calls[call]:
            self.log.since = min(self.log.since, kept[1])
        sealed = kept[2]
        from cryptography.exceptions import InvalidTag

        try:
            return _cipher(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], None)
        except InvalidTag:
            return None

    def put(self, call: str, request: bytes, answer: bytes) -> None:
        answers = self._load()
        name, key = _digests(call, request)
        nonce = os.urandom(_NONCE)
        answers[name] = (self._run, time(), nonce + _cipher(key).encrypt(nonce, answer, None))
        self._is_new = True

    def save(self) -> None:
        """Write new responses, ignoring errors."""
        answers = self._load()
        if not self._is_new and self._starts.get(self._mode) == self.is_insufficient:
            return
        self._starts[self._mode], self._is_new = self.is_insufficient, False
        used = {name: kept for name, kept in list(answers.items()) if self._run - kept[0] < _COMMANDS}
        ANSWERS.store(self._name, marshal.dumps((self._run, self._starts, used)))

    def _load(self) -> dict[bytes, tuple[int, float, bytes]]:
        if self._answers is None:
            self._answers = {}
            data = ANSWERS.load(self._name)
            if data is not None:
                try:
                    run, self._starts, self._answers = marshal.loads(data)
                    self._run = run + 1
                except (ValueError, TypeError, EOFError):
                    pass
        return self._answers


def _cipher(key: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)


def _digests(call: str, request: bytes) -> tuple[bytes, bytes]:
    """The name of a response in the cache, and the key that encrypts it."""
    data = call.encode() + b"\0" + request
    return blake2b(data, digest_size=16, person=b"name").digest(), blake2b(data, digest_size=32, person=b"key").digest()


def _environment() -> Iterator[str]:
    for name, value in sorted(os.environ.items()):
        if name not in UNRELATED and not name.startswith(_UNRELATED_PREFIXES):
            yield f"{name}={value}"
    for path in (*_SETTINGS, *(os.environ.get(name, "") for name in _SETTING_VARIABLES)):
        yield _stamp(os.path.expanduser(path))


def _stamp(path: str) -> str:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return ""
    return f"{path}:{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_ino}"


def file_stamps(texts: Iterable[str], log: CallLog | None = None) -> bytes | None:
    """A digest of the sizes and times of all files that the strings name, and of files in named directories: b"" if
    they name none, None if there are too many. `log` receives the named files."""
    stamps: list[str] = []
    for text in texts:
        if not text or "\n" in text or len(text) > 4096:
            continue
        path = os.path.expanduser(text)
        stamp = _stamp(path)
        if log is not None:
            log.names(path, stamp)
        if not stamp:
            continue
        stamps.append(stamp)
        if os.path.isdir(path):
            for folder, folders, names in os.walk(path):
                folders.sort()
                stamps += [_stamp(os.path.join(folder, name)) for name in sorted(names)]
                if len(stamps) > _MAX_FILES:
                    return None
    return blake2b("\n".join(stamps).encode("utf-8", "surrogatepass"), digest_size=16).digest() if stamps else b""
