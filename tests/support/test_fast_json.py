"""An interrupt in the middle of an import waits for its end. In processes of their own: test runners handle signals."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            """
            try:
                with uninterrupted():
                    signal.raise_signal(signal.SIGINT)
                    print("the rest of the block")
            except KeyboardInterrupt:
                print("interrupted", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
            """,
            ["the rest of the block", "interrupted True"],
        ),
        (
            """
            try:
                with uninterrupted():
                    raise ImportError
            except ImportError:
                print("passed", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
            """,
            ["passed True"],
        ),
        (
            """
            signal.signal(signal.SIGTERM, lambda number, frame: print("heard", number == signal.SIGTERM))
            with uninterrupted():
                signal.raise_signal(signal.SIGTERM)
                print("not yet")
            """,
            ["not yet", "heard True"],
        ),
        (
            """
            from threading import Thread
            def work():
                with uninterrupted():
                    print("elsewhere nothing is held back")
            thread = Thread(target=work)
            thread.start()
            thread.join()
            """,
            ["elsewhere nothing is held back"],
        ),
    ],
)
def test_what_arrives_is_handled_afterwards(script: str, said: list[str]) -> None:
    # who runs the tests in the background may have SIGINT ignored
    begin = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    text = begin + "from planner.foundation.support.exact_json import uninterrupted\n" + dedent(script)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == said, done.stderr
