"""Promises: named values that are evaluated at most once. The first thread that requests a value evaluates it, and
other threads wait for it. If a promise would wait for itself, the request raises an error that shows the cycle. The
requests of promises for other promises are recorded with their places; they are the dependency graph of a stack."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Span

K = TypeVar("K", bound=Hashable)

MOST_NESTED = 16


@frozen
class Await(Generic[K]):
    """A request of one promise for another."""

    by: K
    awaited: K
    place: str = ""


class Promises(Generic[K]):
    """The promises of one evaluation. `make(key)`: a function that computes the value of a promise and may request
    other promises. If it raises Failure, every request for this promise raises the same Failure. `nested`: maximum
    number of promises that are evaluated inside each other in one thread."""

    def __init__(self, make: Callable[[K], Any], nested: int = MOST_NESTED) -> None:
        self._make, self._nested = make, nested
        self._changed = threading.Condition()
        self._values: dict[K, Any] = {}
        self._failures: dict[K, Failure] = {}
        self._makers: dict[K, int] = {}
        self._making: dict[int, list[K]] = {}
        """{thread: promises that it is evaluating}; each promise was requested by the previous one"""
        self._waiting: dict[int, K] = {}
        self._awaited: dict[Await[K], Span | None] = {}
        self._asked: dict[K, list[K]] = {}
        """{promise: promises that it requested}"""

    # ------------------------------------------------------------ requests

    def ask(self, key: K, span: Span | None = None) -> Any:
        """The value of a promise. `span`: the place of the request. Raises Failure if the promise fails or would wait
        for itself."""
        me = threading.get_ident()
        with self._changed:
            mine = self._making.setdefault(me, [])
            if mine:
                place = "" if span is None else span.place
                result = Await(mine[-1], key, place)
                if result not in self._awaited:
                    self._awaited[result] = span
                    self._asked.setdefault(result.by, []).append(key)
            while key in self._makers and key not in self._values and key not in self._failures:
                self._refuse_circle(me, key)
                self._waiting[me] = key
                self._changed.wait()
                del self._waiting[me]
            if key in self._failures:
                raise self._failures[key]
            if key in self._values:
                return self._values[key]
            if len(mine) >= self._nested:
                return self._made_elsewhere(me, key)
            self._makers[key] = me
            mine.append(key)
        return self._create(key, mine)

    def _made_elsewhere(self, me: int, key: K) -> Any:
        """Evaluate a promise in a new thread, because too many evaluations are nested in this thread. The caller must
        hold the lock. Raises Failure."""
        trouble: list[BaseException] = []

        def make() -> None:
            try:
                self._create(key, making)
            except Failure:
                pass  # the failure is stored as the outcome
            except BaseException as problem:
                trouble.append(problem)

        making = [key]
        thread = threading.Thread(target=make, daemon=True)
        thread.start()
        assert thread.ident is not None
        self._makers[key], self._making[thread.ident], self._waiting[me] = thread.ident, making, key
        while key not in self._values and key not in self._failures:
            self._changed.wait()
        del self._waiting[me]
        if key in self._values:
            return self._values[key]
        thread.join()
        raise trouble[0] if trouble else self._failures[key]

    def _create(self, key: K, mine: list[K]) -> Any:
        try:
            value = self._make(key)
        except BaseException as problem:
            failure = problem if isinstance(problem, Failure) else Failure(())
            with self._changed:
                self._failures[key] = failure
                mine.pop()
                self._changed.notify_all()
            raise
        with self._changed:
            self._values[key] = value
            mine.pop()
            self._changed.notify_all()
        return value

    def ask_all(self, keys: Iterable[K], workers: int) -> list[Diagnostic]:
        """Evaluate promises in at most `workers` threads. Returns their diagnostics without duplicates, in the order of
        the keys."""
        wanted = list(keys)
        if workers <= 1 or len(wanted) <= 1:
            return _distinct(map(self._problem, wanted))
        with ThreadPoolExecutor(min(workers, len(wanted))) as pool:
            return _distinct(pool.map(self._problem, wanted))

    def _problem(self, key: K) -> Failure | None:
        try:
            self.ask(key)
        except Failure as failure:
            return failure
        return None

    # ------------------------------------------------------------ cycles

    def _refuse_circle(self, me: int, key: K) -> None:
        way = self._way(me, key)
        if not way:
            return
        lines = []
        for by, awaited in zip(way, [*way[1:], way[0]], strict=True):
            places = sorted(a.place for a in self._awaited if (a.by, a.awaited) == (by, awaited) and a.place)
            lines.append(f"\n  - {by} reads {awaited}{f' ({places[0]})' if places else ''}")
        detail = f"Its value depends on itself through {way[0]}:{''.join(lines)}"
        spans = [span for a, span in self._awaited.items() if (a.by, a.awaited) == (way[-1], way[0]) and span]
        raise Failure(error("stack.circle", f"{way[0]} waits for itself", detail, spans[0] if spans else None))

    def _way(self, me: int, key: K) -> list[K]:
        """The cycle that would arise if this thread waited for `key`, as a list of promises; [] if there is none. The
        list begins with the alphabetically first promise, so that all threads report the same text."""
        way: list[K] = []
        thread, at = self._makers[key], key
        while True:
            making = self._making[thread]
            way += making[making.index(at) :]
            if thread == me:
                first = way.index(min(way, key=str))
                return way[first:] + way[:first]
            if thread not in self._waiting:
                return []
            at = self._waiting[thread]
            if at in self._values or at in self._failures or at in way:
                return []
            thread = self._makers[at]

    # ------------------------------------------------------------ results

    @property
    def awaited(self) -> list[tuple[Await[K], Span | None]]:
        """The requests between promises, sorted, with their places."""
        with self._changed:
            return sorted(self._awaited.items(), key=lambda a: (str(a[0].by), str(a[0].awaited), a[0].place))

    def nearest(self, key: K, wanted: Callable[[K], bool]) -> set[K]:
        """The dependencies of a promise for which `wanted` is true. Dependencies for which it is false are followed to
        their own dependencies."""
        result: set[K] = set()
        seen = {key}
        waiting = [key]
        while waiting:
            with self._changed:
                asked = tuple(self._asked.get(waiting.pop(), ()))
            for other in asked:
                if other not in seen:
                    seen.add(other)
                    (result.add if wanted(other) else waiting.append)(other)
        return result

    def known(self, key: K) -> Any:
        """The value of a promise; None if it was not evaluated or failed."""
        with self._changed:
            return self._values.get(key)


def _distinct(failures: Iterable[Failure | None]) -> list[Diagnostic]:
    diagnostics: dict[int, Diagnostic] = {}
    for failure in failures:
        for diagnostic in failure.diagnostics if failure is not None else ():
            diagnostics.setdefault(id(diagnostic), diagnostic)
    return list(diagnostics.values())
