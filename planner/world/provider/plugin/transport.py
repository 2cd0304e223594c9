"""How calls get to a plugin and answers back: the seam between what is said (client.py) and what carries it.

The one that runs is connections.py, over http2.py. The tests have another one over grpcio and ask both the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

OK, UNKNOWN, UNIMPLEMENTED = 0, 2, 12
"""codes of gRPC"""


class CallReply(NamedTuple):
    """What became of a call: gRPC's code, its message, and the bytes of the answer when the code is OK."""

    code: int
    message: str
    body: bytes


class Transport(Protocol):
    """Calls to one plugin, which may come from several threads at once."""

    def call(self, path: str, body: bytes, seconds: float | None) -> CallReply:
        """The answer to the method of that path (`/tfplugin6.Provider/PlanResourceChange`). Raises TimeoutError when
        the plugin is silent for so many seconds, other OSErrors when the connection breaks or was never made."""
        ...

    def close(self) -> None:
        """End all connections, whatever other threads wait for on them."""
        ...


Open = Callable[[str, str, int], Transport]
"""from where a plugin listens (`unix:PATH`, `HOST:PORT`), its certificate (base64 DER, "" for none) and the bytes that
an answer may have. Connects when the first call is made"""
