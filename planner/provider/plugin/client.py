"""Calls to a plugin: one channel to its process, and errors that say which call failed and what it wrote last."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from planner.provider.plugin.messages import CALLS, messages, method
from planner.provider.plugin.process import END_SECONDS, START_SECONDS, PluginError, PluginProcess

if TYPE_CHECKING:
    from planner.provider.plugin.reattach import Attachment

QUICK_SECONDS = 300.0
"""for calls that only compute; calls that reach the world may take as long as they need"""
_SHUTDOWN = "/plugin.GRPCController/Shutdown"
LONGEST_MESSAGE = 256 << 20
"""bytes; schemas of 4 MB and more are common, and what is longer than this is a mistake"""
_OPTIONS = (
    ("grpc.max_send_message_length", -1),
    ("grpc.default_authority", "localhost"),
    ("grpc.enable_http_proxy", 0),
    ("grpc.ssl_target_name_override", "localhost"),
)


class Client:
    """A started plugin, or one that already runs where an attachment says. `messages` are the classes of the protocol
    that it speaks. Raises PluginError when the plugin cannot be started."""

    def __init__(self, command: list[str], name: str, attachment: Attachment | None = None) -> None:
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what goes wrong is said by the errors of the calls
        import grpc

        limit = time_limit()
        self._attached = attachment is not None
        self._process: PluginProcess | Attachment = attachment or PluginProcess(command, name, limit or START_SECONDS)
        shake = self._process.handshake
        options = (("grpc.max_receive_message_length", message_limit()), *_OPTIONS)
        self.version = shake.version
        self.messages = messages(shake.version)
        if shake.certificate:
            credentials = grpc.ssl_channel_credentials(root_certificates=_pem(shake.certificate))
            self._channel = grpc.secure_channel(shake.target, credentials, options=options)
        else:
            self._channel = grpc.insecure_channel(shake.target, options=options[:-1])
        self._calls: dict[str, Any] = {}

    def call(self, name: str, request: Any, quick: bool = False) -> Any:
        """The answer to a call (a name in CALLS). Raises PluginError."""
        import grpc

        method_ = self._calls.get(name)
        if method_ is None:
            answer = getattr(self.messages, CALLS[name][2])
            method_ = self._calls[name] = self._channel.unary_unary(
                method(self.version, name),
                request_serializer=type(request).SerializeToString,
                response_deserializer=answer.FromString,
            )
        seconds = time_limit() or (QUICK_SECONDS if quick else None)
        try:
            return method_(request, timeout=seconds)
        except grpc.RpcError as problem:
            raise PluginError(self._explain(name, problem, seconds)) from None
        except ValueError:  # the channel was closed meanwhile
            raise PluginError(f"It was ended before it answered the call {name}.") from None

    def _explain(self, call: str, problem: Any, seconds: float | None) -> str:
        import grpc

        code = problem.code()
        if code is grpc.StatusCode.UNIMPLEMENTED:
            return f"It does not know the call {call}."
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            self._process.end()
            return f"It did not answer the call {call} within {seconds:g} seconds.{self._process.last_output()}"
        if code is grpc.StatusCode.CANCELLED:
            return f"It was ended before it answered the call {call}."
        if code is grpc.StatusCode.UNAVAILABLE:
            how = self._process.how_it_ended()
            return f"It broke off while it answered the call {call}: {how}.{self._process.last_output()}"
        return f"The call {call} failed: {problem.details()}.{self._process.last_output()}"

    def close(self) -> None:
        """Let the plugin end, or end it."""
        import grpc

        if self._process.is_running and not self._attached:
            shutdown = self._channel.unary_unary(_SHUTDOWN, request_serializer=bytes, response_deserializer=bytes)
            with suppress(grpc.RpcError, ValueError):  # most plugins are gone before they could answer
                shutdown(b"", timeout=END_SECONDS)
        self._channel.close()
        self._process.end(END_SECONDS)


def message_limit() -> int:
    """How many bytes an answer may have: PLANNER_PROVIDER_MESSAGE_LIMIT, or what is far beyond any real one."""
    try:
        limit = int(os.environ.get("PLANNER_PROVIDER_MESSAGE_LIMIT", ""))
    except ValueError:
        return LONGEST_MESSAGE
    return limit if limit > 0 else LONGEST_MESSAGE


def time_limit() -> float | None:
    """How long a plugin may take to start and for any call, when PLANNER_PROVIDER_TIMEOUT says so (in seconds)."""
    try:
        seconds = float(os.environ.get("PLANNER_PROVIDER_TIMEOUT", ""))
    except ValueError:
        return None
    return seconds if seconds > 0 else None


def _pem(certificate: str) -> bytes:
    """A certificate in base64 DER, with or without padding, as PEM."""
    text = certificate.rstrip("=")
    text += "=" * (-len(text) % 4)
    lines = [text[i : i + 64] for i in range(0, len(text), 64)]
    return "\n".join(["-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""]).encode()
