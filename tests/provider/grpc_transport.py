"""The transport to a plugin once more, over grpcio: what the tests believe about calls."""

from __future__ import annotations

import grpc

from planner.world.provider.plugin.http2 import OK, UNIMPLEMENTED, CallReply, Replies

LOST = grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED


class GrpcTransport:
    """One channel for all threads, as grpcio means it. Without TLS: a certificate has to be ""."""

    def __init__(self, target: str, certificate: str, longest: int) -> None:
        assert not certificate
        options = [("grpc.max_receive_message_length", longest), ("grpc.max_send_message_length", -1)]
        self._channel = grpc.insecure_channel(target, options)

    def call(self, path: str, body: bytes, seconds: float | None) -> CallReply:
        try:
            return CallReply(OK, "", self._channel.unary_unary(path)(body, timeout=seconds))
        except grpc.RpcError as problem:
            return _failed(problem)

    def stream(self, path: str, body: bytes, seconds: float | None) -> Replies:
        replies = self._channel.unary_stream(path)(body, timeout=seconds)
        try:
            yield from replies
        except grpc.RpcError as problem:
            return _failed(problem)
        finally:
            replies.cancel()
        return CallReply(OK, "", b"")

    def close(self) -> None:
        self._channel.close()


def _failed(problem: grpc.RpcError) -> CallReply:
    code = problem.code()
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        raise TimeoutError from None
    if code in LOST:
        raise ConnectionError(problem.details()) from None
    return CallReply(code.value[0], problem.details() if code.value[0] != UNIMPLEMENTED else "", b"")
