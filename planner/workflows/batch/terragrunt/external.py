"""External lookups for functions in Terragrunt files: programs, sops and AWS. If a lookup is impossible because
credentials or the program sops are missing, its value is unknown. Then the unit can be read, but not run."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any

from planner.foundation.values.types import STRING
from planner.foundation.values.value import SENSITIVE, Unknown, Value, mark
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.language.functions import FunctionError
from planner.workflows.batch.terragrunt.session import UnitSession, question

_QUIET, _GLOBAL, _FRESH = "--terragrunt-quiet", "--terragrunt-global-cache", "--terragrunt-no-cache"
TIME = 300
"""time limit of a program in seconds"""


def program(session: UnitSession, folder: str, words: tuple[str, ...]) -> Value:
    """The output of a program, without a line break at the end. The value is sensitive if the first words contain
    --terragrunt-quiet. Raises FunctionError."""
    flags = []
    while words and words[0].startswith("--terragrunt-"):
        if words[0] not in (_QUIET, _GLOBAL, _FRESH):
            raise FunctionError(f"run_cmd has no option {words[0]}.", 0)
        flags.append(words[0])
        words = words[1:]
    if not words:
        raise FunctionError("The function run_cmd takes a program and its arguments.")
    if _GLOBAL in flags and _FRESH in flags:
        raise FunctionError(f"{_GLOBAL} and {_FRESH} cannot be combined.")
    key = question("run", "" if _GLOBAL in flags else folder, *words)
    if _QUIET in flags:
        session.private.add(key)
    ask = session.once if _GLOBAL in flags else session.ask
    text = str(ask(key, lambda: _printed(words, folder, session.library.environment)))
    return mark(text, frozenset({SENSITIVE})) if _QUIET in flags else text


def _printed(words: tuple[str, ...], folder: str, environment: Any) -> str:
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            env=dict(environment),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=TIME,
        )
    except subprocess.TimeoutExpired:
        raise FunctionError(f"{words[0]} did not end within {TIME} s.") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise FunctionError(f"{words[0]} cannot be run in {folder}: {reason}.") from None
    if done.returncode:
        output = done.stderr.decode("utf-8", "replace").strip()[-2000:]
        raise FunctionError(f"{words[0]} exited with {done.returncode}{f': {output}' if output else ''}.")
    return done.stdout.decode("utf-8", "replace").removesuffix("\n")


def decrypted(session: UnitSession, path: str) -> Value:
    """The content of a file encrypted with sops, as a sensitive value. If sops is not installed, the value is unknown,
    and the unit cannot run. Raises FunctionError."""
    words, key = ("sops", "--decrypt", path), question("sops", path)
    session.private.add(key)
    if key not in session.given and shutil.which("sops", path=session.library.environment.get("PATH")) is None:
        detail = f"{path} is encrypted with sops, but the program sops was not found. Install it."
        session.refuse("sops", "Secrets cannot be read", detail)
        return mark(Unknown(STRING), frozenset({SENSITIVE}))
    text = session.ask(key, lambda: _printed(words, os.path.dirname(path), session.library.environment))
    return mark(str(text), frozenset({SENSITIVE}))


_IDENTITY = {
    "get_aws_account_id": "Account",
    "get_aws_caller_identity_arn": "Arn",
    "get_aws_caller_identity_user_id": "UserId",
}
_SIGNS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)


def aws(session: UnitSession, name: str) -> Value:
    """The result of the function `name` about the caller's AWS identity or account. Without credentials the value is
    unknown, and the unit cannot run. Raises FunctionError."""
    environment = session.library.environment
    key = question("aws", name)
    if key not in session.given and not any(environment.get(sign) for sign in _SIGNS):
        detail = f"{name}() calls AWS, but the environment has no credentials ({', '.join(_SIGNS[:3])})."
        session.refuse("aws", "AWS cannot be called", detail)
        return Unknown(STRING)
    return str(session.once(key, lambda: _request(name, environment)))


def _request(name: str, environment: Any) -> str:
    from planner.foundation.clients.aws import element
    from planner.foundation.clients.aws_settings import aws_of

    wrong: list[str] = []
    service = aws_of(
        {"region": environment.get("AWS_REGION") or "us-east-1"}, environment, lambda a, b: wrong.append(b)
    )
    try:
        if name in _IDENTITY:
            answer = service.service("sts", "STS").query("GetCallerIdentity", "2011-06-15", {})
            return element(answer, _IDENTITY[name])
        return element(service.service("iam", "IAM").query("ListAccountAliases", "2010-05-08", {}), "member")
    except (ServiceError, OSError) as problem:
        raise FunctionError(f"AWS does not answer {name}(): {problem}.") from None
