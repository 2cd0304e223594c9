"""The random numbers of Go's math/rand: what other programs made up with them can be made up again."""

from __future__ import annotations

import struct
from base64 import b64decode
from functools import cache

from planner.foundation.support.go_random_state import COOKED

_LENGTH, _TAP, _LARGEST = 607, 273, (1 << 31) - 1
_WORD = (1 << 64) - 1


@cache
def _cooked() -> tuple[int, ...]:
    return struct.unpack(f"<{_LENGTH}Q", b64decode(COOKED))


class GoRandom:
    """The numbers that `rand.New(rand.NewSource(seed))` gives."""

    def __init__(self, seed: int) -> None:
        x = seed % _LARGEST or 89482311
        for _ in range(20):
            x = 48271 * x % _LARGEST
        state = []
        for cooked in _cooked():
            word = 0
            for shift in (40, 20, 0):
                x = 48271 * x % _LARGEST
                word ^= x << shift
            state.append((word ^ cooked) & _WORD)
        self._state = state
        self._tap, self._feed = 0, _LENGTH - _TAP

    def _int31(self) -> int:
        self._tap = (self._tap - 1) % _LENGTH
        self._feed = (self._feed - 1) % _LENGTH
        found = (self._state[self._feed] + self._state[self._tap]) & _WORD
        self._state[self._feed] = found
        return (found >> 32) & _LARGEST

    def below(self, limit: int) -> int:
        """A whole number from 0 to `limit` - 1 (Intn); `limit` is from 1 to 2**31 - 1."""
        if limit & (limit - 1) == 0:
            return self._int31() & (limit - 1)
        last = _LARGEST - (1 << 31) % limit
        while (found := self._int31()) > last:
            pass
        return found % limit
