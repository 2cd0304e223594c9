"""Sampling of all threads: where time goes, at almost no cost."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import CodeType, FrameType

SECONDS = 0.005
"""between two looks"""
Stack = tuple[CodeType | str, ...]
"""from the outside; words are what a function worked on"""


class Sampler:
    """Looks at the stacks of all threads but its own. `about`: what a frame works on, "" for nothing that matters.
    `samples[thread]` has each stack with the seconds that it was seen for, in the order of time."""

    def __init__(self, about: Callable[[FrameType], str]) -> None:
        self.about = about
        self.samples: dict[str, list[tuple[Stack, float]]] = {}
        self.seconds = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, name="sampler", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End, and wait for it."""
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        me = threading.get_ident()
        last = begin = time.perf_counter()
        while not self._stop.wait(SECONDS):
            now = time.perf_counter()
            names = {thread.ident: thread.name for thread in threading.enumerate()}
            for ident, frame in sys._current_frames().items():
                if ident != me:
                    self._add(names.get(ident, str(ident)), tuple(self._stack(frame)), now - last)
            last = now
        self.seconds = time.perf_counter() - begin

    def _add(self, name: str, stack: Stack, seconds: float) -> None:
        samples = self.samples.setdefault(name, [])
        if samples and samples[-1][0] == stack:
            samples[-1] = (stack, samples[-1][1] + seconds)
        else:
            samples.append((stack, seconds))

    def _stack(self, frame: FrameType) -> Iterator[CodeType | str]:
        frames: list[FrameType] = []
        at: FrameType | None = frame
        while at is not None:
            frames.append(at)
            at = at.f_back
        for one in reversed(frames):
            yield one.f_code
            word = self.about(one)
            if word:
                yield word
