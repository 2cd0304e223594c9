"""A request to stop is told once; one that was withdrawn counts no more."""

from __future__ import annotations

from threading import Timer

from planner.foundation.support.signals import StopSignal


def test_a_withdrawn_request_is_forgotten_and_the_next_one_told() -> None:
    stop, heard = StopSignal(), []
    stop.listen(lambda: heard.append("first"))
    stop.request()
    stop.request()
    assert heard == ["first"] and stop.requested
    stop.withdraw()
    assert not stop.requested and not stop.wait(0)
    stop.listen(lambda: heard.append("second"))
    assert heard == ["first"]  # nothing is requested that it would have to hear of at once
    stop.request()
    assert heard == ["first", "first", "second"] and stop.wait(0)


def test_a_wait_may_be_longer_than_the_system_can_wait() -> None:
    """As with the backend http and its retry_wait_min of any size."""
    stop = StopSignal()
    Timer(0.05, stop.request).start()
    assert stop.wait(1e12)
