"""The command line in forked processes: one that has imported everything, and has run nothing, forks for each command.

A command then does what it does in a process of its own, without the hundred milliseconds of its imports, which is most
of what the recorded cases would take: they run some thousand commands.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any


class Forker:
    """Runs commands with the signature of `run_cases.execute`, whose command it ignores but for the words after it.
    `prepared`: a module beside this one whose `install` is called first."""

    def __init__(self, words_before: int = 0, prepared: str = "") -> None:
        self.words_before, self.prepared = words_before, prepared

    def execute(
        self, command: list[str], cwd: Path, env: dict[str, str], timeout: float, stdout: str = "", stdin: str = ""
    ) -> tuple[int, str, str]:
        """Exit code and what was written. `stdout`: full, broken or missing, where nothing can be written."""
        with tempfile.TemporaryDirectory(prefix="forked-") as folder:
            out, err, given = (os.path.join(folder, name) for name in ("out", "err", "in"))
            Path(given).write_bytes(stdin.encode())
            request = {
                "words": command[self.words_before :],
                "cwd": str(cwd),
                "env": env,
                "in": given,
                "out": stdout or out,
                "err": err,
            }
            process = _process(self.prepared)
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            if not select.select([process.stdout], [], [], timeout)[0]:
                process.kill()
                _process.cache_clear()
                return -1, "", f"timed out after {timeout:g} s"
            code = int(process.stdout.readline())
            texts = [
                Path(path).read_bytes().decode("utf-8", "replace") if os.path.exists(path) else ""
                for path in (out, err)
            ]
        return code, *texts


@cache
def _process(prepared: str) -> subprocess.Popen[bytes]:
    """The process that forks, one for all tests of a worker."""
    words = [sys.executable, __file__, *([prepared] if prepared else [])]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(_end, process)
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.wait()


def run(
    words: Sequence[str], cwd: Path, env: dict[str, str] | None = None, stdin: str = "", timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """A command line of planner, as `subprocess.run` would do it with texts."""
    found = os.environ if env is None else env
    code, out, err = Forker().execute(list(words), cwd, dict(found), timeout, stdin=stdin)
    out, err = (text.replace("\r\n", "\n") for text in (out, err))
    return subprocess.CompletedProcess(["planner", *words], code, out, err)


def serve() -> None:
    """Read requests, a JSON text a line; answer each with the exit code of its command."""
    import pkgutil
    from importlib import import_module

    import planner

    for module in pkgutil.walk_packages(planner.__path__, "planner."):
        if not module.name.endswith(("__main__", ".dask_executor")):
            try:
                import_module(module.name)
            except ImportError:
                continue  # an extra that is not installed
    for name in sys.argv[1:]:
        import_module(name).install()
    for line in sys.stdin.buffer:
        child = os.fork()
        if not child:
            os._exit(_command(json.loads(line)))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.write(1, b"%d\n" % code)


def _command(request: dict[str, Any]) -> int:
    from planner.__main__ import main

    given = os.open(request["in"], os.O_RDONLY)
    os.dup2(given, 0)
    os.close(given)
    for number, name in ((1, "out"), (2, "err")):
        file = _open(request[name])
        os.dup2(file, number)
        os.close(file)
    if request["out"] == "missing":
        os.close(1)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["planner", *request["words"]]
    try:
        code = main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    atexit._run_exitfuncs()  # as at the end of a process
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def _open(path: str) -> int:
    if path == "broken":
        reading, writing = os.pipe()
        os.close(reading)
        return writing
    return os.open(
        {"full": "/dev/full", "missing": os.devnull}.get(path, path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600
    )


if __name__ == "__main__":
    serve()
