"""`batch work`: one unit's work on a machine that shares no files with the one that requests it."""

from __future__ import annotations

from planner.cli.flags import Arguments, command
from planner.render.terminal import Terminal


@command(
    "< BUNDLE > RESULT",
    """Executes the work described by the bundle on standard input, and writes the result to standard output. This
is the remote end of `batch plan -executor='command:ssh host planner batch work'`, not a command to type.

The bundle is unpacked below PLANNER_BUNDLE_DIR (default: the temporary directory). Plugins are installed by its lock
files as by init, with the settings of this machine; credentials come from this environment and the unit's auth command.
Both ends need the same version of planner.""",
)
def batch_work(arguments: Arguments, terminal: Terminal) -> int:
    """0 when there is an answer, whatever its content."""
    from planner.foundation.support.signals import install
    from planner.workflows.batch.bundles.host import work

    if terminal.owns_process:
        install()
    source = getattr(terminal.stdin, "buffer", None)
    answer = work(source.read() if source is not None else b"")
    terminal.outputs[0].write_bytes(answer)
    return 0
