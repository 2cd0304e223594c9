"""The end of the process."""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from typing import NoReturn


def leave(code: int) -> NoReturn:
    """End the process now, but without waiting for any thread."""
    wind_up()
    os._exit(code)


def wind_up() -> None:
    """Run the functions registered for the end of the process (running plugins and commands are killed), and flush the
    output."""
    with suppress(Exception, KeyboardInterrupt):
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception, KeyboardInterrupt):
            stream.flush()
