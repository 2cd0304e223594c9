"""`language-server`: the language server for rule files."""

from __future__ import annotations

from importlib.util import find_spec

from planner.cli.flags import Arguments, Flag
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.render.terminal import Terminal

USAGE = ""
HELP = """Serves editors by the Language Server Protocol over standard input and output, for rule files (.dl) and
case files (.case): diagnostics while you type, completion of relations and of attribute paths, documentation,
declarations, formatting, and running cases in place. It needs the extra lsp: pip install 'planner-iac[lsp]'."""
FLAGS: tuple[Flag, ...] = ()


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0 when the editor has exited properly. Raises Failure without the extra."""
    arguments.no_words("An editor starts this command without any.")
    if find_spec("pygls") is None:
        detail = "The language server needs pygls: pip install 'planner-iac[lsp]'."
        raise Failure(error("lsp.missing", "The extra lsp is not installed", detail))
    from planner.workflows.editor.server import serve

    serve()
    return 0
