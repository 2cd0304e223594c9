"""Runs programs, configured by the user, that produce keys or encrypt data. A program prints one line with the kind and
version of its protocol, and then one JSON object."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from planner.foundation.support.disk import on_disk
from planner.foundation.vocabulary.records import frozen

SECONDS = 60.0  # the time limit of a program, in seconds


@frozen
class Kind:
    magic: str
    name: str
    source: str


class ProtocolError(Exception):
    """The first line of the program's output is not valid for this kind of program."""


class ExitError(Exception):
    """The program failed. `status` describes the failure (`exit status 3`). `has_code`: whether the program was
    started; if not, it could not be found or executed."""

    def __init__(self, status: str, has_code: bool, stderr: str) -> None:
        super().__init__(status)
        self.status, self.has_code, self.stderr = status, has_code, stderr


class AnswerError(Exception):
    def __init__(self, reason: str, stderr: str) -> None:
        super().__init__(reason)
        self.reason, self.stderr = reason, stderr


def ask(kind: Kind, command: Sequence[str], request: bytes) -> tuple[dict[str, Any], str]:
    """The response of a program and its standard error. The program is run without a shell, in the working directory.
    Raises ProtocolError, ExitError and AnswerError."""
    output, errors, status, has_code = _run(command, request)
    stderr = errors.decode("utf-8", "replace")
    head, newline, rest = output.partition(b"\n")
    if newline:
        _check_head(kind, head)
    if status:
        raise ExitError(status, has_code, stderr)
    try:
        answer = _first_value(rest if newline else output)
    except (ValueError, RecursionError) as bad:
        raise AnswerError(str(bad), stderr) from None
    if not isinstance(answer, dict):
        raise AnswerError("it is not an object", stderr)
    return answer, stderr


def _run(command: Sequence[str], request: bytes) -> tuple[bytes, bytes, str, bool]:
    """Standard output, standard error, a description of the failure ("" for none), and whether the program was started
    but failed."""
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=on_disk("") or None,
            start_new_session=True,
        )
    except (OSError, ValueError) as problem:
        return b"", b"", _not_started(command, problem), False
    status = ""
    try:
        output, errors = process.communicate(request, SECONDS)
    except subprocess.TimeoutExpired:
        _end(process)
        output, errors = process.communicate()
        status = f"it was stopped after {SECONDS:.0f} seconds, "
    except BaseException:
        _end(process)
        process.wait()
        raise
    code = process.returncode
    if code == 0:
        return output, errors, "", False
    return output, errors, status + (f"exit status {code}" if code > 0 else f"signal: {_signal(-code)}"), True


def _not_started(command: Sequence[str], problem: Exception) -> str:
    if isinstance(problem, FileNotFoundError) and "/" not in command[0]:
        return f'exec: "{command[0]}": executable file not found in $PATH'
    reason = getattr(problem, "strerror", None) or str(problem)
    return f"fork/exec {command[0]}: {reason[:1].lower()}{reason[1:]}"


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)  # the process group includes child processes


def _signal(number: int) -> str:
    return "killed" if number == signal.SIGKILL else signal.strsignal(number) or str(number)


def _check_head(kind: Kind, line: bytes) -> None:
    try:
        head = json.loads(line)
    except (ValueError, RecursionError) as bad:
        raise ProtocolError(f"failed to unmarshal header from external {kind.source} ({bad})") from None
    fields: Mapping[str, Any] = head if isinstance(head, dict) else {}
    magic, version = fields.get("magic", ""), fields.get("version", 0)
    if magic != kind.magic:
        raise ProtocolError(f"invalid magic received from external {kind.name}: {magic}")
    if version != 1:
        raise ProtocolError(f"invalid version number received from external {kind.name}: {version}")


def _first_value(data: bytes) -> Any:
    """The first JSON value in the data; what follows it is ignored. Raises ValueError."""
    text = data.decode("utf-8").lstrip(" \t\r\n")
    if not text:
        raise ValueError("EOF")
    return json.JSONDecoder().raw_decode(text)[0]


def check_members(answer: Mapping[str, Any], names: frozenset[str], stderr: str) -> None:
    """Raises AnswerError if the response has a member that is not in `names`."""
    for name in sorted(answer.keys() - names):
        raise AnswerError(f'json: unknown field "{name}"', stderr)


def stderr_of(text: str) -> str:
    return f"Stderr:\n-------\n{text}"
