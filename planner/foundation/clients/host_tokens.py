"""API tokens of hosts, from the user's settings, the environment, a credentials helper, and the file that `login`
writes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from planner.foundation.clients.cli_config import CliConfig
from planner.foundation.support.assets import home
from planner.foundation.support.disk import read_text, replace_file
from planner.foundation.vocabulary.diagnostic import ServiceError

FILE = "credentials.tfrc.json"
_HELPER_TIMEOUT = 60.0  # seconds
Kept = Literal["", "file", "helper", "elsewhere"]  # elsewhere: in the settings or an environment variable


class HostTokens:
    """Looks up, stores and removes tokens of hosts. Requests the token of a host from the credentials helper at most
    once."""

    def __init__(self, config: CliConfig, environ: Mapping[str, str]) -> None:
        self.config, self.environ = config, environ
        self._helped: dict[str, str] = {}

    def token(self, host: str) -> str:
        """The token of a host, "" if there is none. Raises ServiceError."""
        return self.config.tokens.get(host) or self._from_helper(host)

    @property
    def helper(self) -> str:
        return self.config.helper[0] if self.config.helper else ""

    @property
    def path(self) -> Path:
        own = home(self.environ) / ".terraform.d"
        if self.environ.get("XDG_CONFIG_HOME") and not own.is_dir():
            return Path(self.environ["XDG_CONFIG_HOME"]) / "opentofu" / FILE
        return own / FILE

    def where(self, host: str) -> Kept:
        """Where the token of a host is stored: "file" (the file that `login` writes), "helper", or "elsewhere" (the
        settings or the environment). "" if there is no token. Raises ServiceError."""
        if host in self._read():
            return "file"
        if host in self.config.tokens:
            return "elsewhere"
        return "helper" if self.helper and self._from_helper(host) else ""

    def keep(self, host: str, token: str) -> None:
        """Store the token of a host. It is stored in the file if the file already has a token for the host, or if no
        helper is set; otherwise with the helper. Raises ServiceError."""
        if self.helper and host not in self._read():
            self._run("store", host, json.dumps({"token": token}).encode())
            return
        self._write({**self._read(), host: {"token": token}})

    def forget(self, host: str) -> None:
        """Remove the token of a host from the file or, if the file does not have it, with the helper. Raises
        ServiceError."""
        kept = self._read()
        if host in kept:
            self._write({name: value for name, value in kept.items() if name != host})
        elif self.helper:
            self._run("forget", host)

    # ------------------------------------------------------------ file

    def _document(self) -> dict[str, Any]:
        try:
            whole = json.loads(read_text(self.path))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as problem:
            reason = getattr(problem, "strerror", None) or problem
            raise ServiceError(f"{self.path} cannot be read: {reason}") from None
        if not isinstance(whole, dict) or not isinstance(whole.get("credentials", {}), dict):
            raise ServiceError(f"{self.path} is not a JSON object with credentials")
        return whole

    def _read(self) -> dict[str, Any]:
        credentials: dict[str, Any] = self._document().get("credentials", {})
        return credentials

    def _write(self, credentials: dict[str, Any]) -> None:
        text = json.dumps({**self._document(), "credentials": credentials}, indent=2)
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(str(self.path), text.encode(), mode=0o600)
        except OSError as problem:
            raise ServiceError(f"{self.path} cannot be written: {problem.strerror or problem}") from None

    # ------------------------------------------------------------ helper

    def _from_helper(self, host: str) -> str:
        if not self.helper:
            return ""
        if host not in self._helped:
            self._helped[host] = self._request_token(host)
        return self._helped[host]

    def _request_token(self, host: str) -> str:
        output = self._run("get", host, needed=False)
        try:
            answer = json.loads(output or b"{}")
        except (ValueError, RecursionError) as bad:
            raise ServiceError(f"the credentials helper {self._program()} cannot be used: {bad}") from None
        token = answer.get("token") if isinstance(answer, dict) else None
        return token if isinstance(token, str) else ""

    def _run(self, verb: str, host: str, data: bytes = b"", needed: bool = True) -> bytes:
        program = self._program()
        if not program:
            if needed:
                raise ServiceError(f"the credentials helper {self.helper} is not installed")
            return b""
        try:
            done = subprocess.run(
                [program, *self.config.helper[1:], verb, host],
                input=data,
                capture_output=True,
                timeout=_HELPER_TIMEOUT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise ServiceError(f"the credentials helper {program} cannot be used: {problem}") from None
        if done.returncode:
            output = done.stderr.decode("utf-8", "replace").strip()
            raise ServiceError(f"the credentials helper {program} failed: {output or f'exit code {done.returncode}'}")
        return done.stdout

    def _program(self) -> str:
        name = f"terraform-credentials-{self.helper}"
        folders = [home(self.environ) / ".terraform.d" / "plugins"]
        if self.environ.get("XDG_DATA_HOME"):
            folders.append(home(self.environ).joinpath(self.environ["XDG_DATA_HOME"], "opentofu", "plugins"))
        for folder in folders:
            for candidate in sorted(folder.glob(f"{name}*")) if folder.is_dir() else []:
                if (
                    candidate.is_file()
                    and (candidate.name == name or candidate.name[len(name)] in "_.")
                    and os.access(candidate, os.X_OK)
                ):
                    return str(candidate)
        return ""  # a missing helper is treated as if none were configured
