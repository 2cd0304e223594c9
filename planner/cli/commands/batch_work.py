"""`batch work`: one unit's work on a machine that shares no files with the one that asks for it."""

from __future__ import annotations

from planner.cli.flags import Arguments, Flag
from planner.render.terminal import Terminal

USAGE = "< BUNDLE > RESULT"
HELP = """Does the work that a bundle on the standard input describes, and writes what became of it to the standard
output. It is the other end of `batch plan -executor='command:ssh host planner batch work'`, and not made to be typed.

The bundle is unpacked below PLANNER_BUNDLE_DIR (the folder for temporary files); plugins are installed by its lock
files as init does it, with the settings of this machine; credentials are those of this environment and of the unit's
auth command. Both ends have to be the same version of planner."""
FLAGS: tuple[Flag, ...] = ()


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0 when there is an answer, whatever it says."""
    from planner.foundation.support.signals import install
    from planner.workflows.batch.bundles.host import work

    if terminal.owns_process:
        install()
    source = getattr(terminal.stdin, "buffer", None)
    answer = work(source.read() if source is not None else b"")
    terminal.outputs[0].write_bytes(answer)
    return 0
