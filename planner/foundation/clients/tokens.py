"""Tokens that are kept until they are about to expire."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from threading import Lock

EARLY = 300.0
"""Seconds before the end of credentials from which on they are not used."""


class Tokens(ABC):
    """A token for all requests; a new one before the last expires. May be used by several threads."""

    def __init__(self) -> None:
        self._token, self._expires = "", 0.0
        self._lock = Lock()

    def __call__(self) -> str:
        """Raises ServiceError."""
        with self._lock:
            if not self._token or time.time() > self._expires - EARLY:
                self._token, self._expires = self._fresh()
            return self._token

    @abstractmethod
    def _fresh(self) -> tuple[str, float]:
        """A token and when it expires (seconds since the epoch). Raises ServiceError."""
