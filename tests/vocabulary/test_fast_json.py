"""An interrupt in the middle of an import waits for its end."""

from __future__ import annotations

import signal

import pytest

from planner.vocabulary.fast_json import uninterrupted


def test_an_interrupt_waits_for_the_end_of_the_block() -> None:
    done = []

    def block() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append("the rest of the block")

    with pytest.raises(KeyboardInterrupt):
        block()
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_of_the_block_passes() -> None:
    with pytest.raises(ImportError), uninterrupted():
        raise ImportError
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_hears_each_signal_once() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        with uninterrupted():
            signal.raise_signal(signal.SIGTERM)
            assert not heard
        assert heard == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)
