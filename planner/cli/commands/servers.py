"""`lsp` and `mcp`: servers for editors and assistants."""

from __future__ import annotations

import os
import secrets
from importlib.util import find_spec

from planner.cli.flags import Arguments, Flag, UsageError, command, no_directory
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.render.terminal import Terminal


@command(
    "",
    """Serves editors over standard input and output, using the Language Server Protocol: configuration, values,
tests, stacks, fleets (.tf, .tofu, .tf.json, .tfvars, .tftest.hcl, ...), rule files (.dl) and case files (.case).
It provides diagnostics while you type, completion, documentation with values and the planned action, definitions,
references and rename across modules, formatting, and code actions. Providers are not started: their schemas are read
from the cache.

`planner docs editors` has the settings of editors. The command needs the extra lsp: pip install 'planner-iac[lsp]'.""",
)
def language_server(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 if the editor did not exit properly. Raises Failure if the extra is not installed."""
    arguments.no_words("An editor starts this command without arguments.")
    if find_spec("pygls") is None:
        detail = "The language server needs pygls: pip install 'planner-iac[lsp]'."
        raise Failure(error("lsp.missing", "The extra lsp is not installed", detail))
    from planner.workflows.editor.server import serve

    return serve()


TOKEN = "PLANNER_MCP_TOKEN"


@command(
    "[options]",
    f"""Answers questions from assistants about the configurations below this directory, over the Model Context
Protocol: plans with their causes, why and why not, what if, queries, drift, policies, parts of the graph. Nothing is
changed.

Without options the server communicates over standard input and output with the assistant that starts it. With -http it
listens on the loopback interface; each request needs the token of the variable {TOKEN}, or the token that is printed at
the start.

This command needs the extra "mcp".""",
    (
        Flag("http", "int", "Listen on this port of the loopback interface (0: any free port).", None, "PORT"),
        Flag("allow-apply", "bool", "Also let assistants apply configurations."),
    ),
)
def mcp(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 0 when the client disconnects or, with -http, when the server is stopped."""
    no_directory(arguments, "mcp")
    if find_spec("mcp") is None:
        raise Failure(error("cli.extra", "The extra mcp is not installed", "Install planner with the extra mcp."))
    from planner.api.mcp import server, with_token

    made = server(os.getcwd(), bool(arguments["allow-apply"]))
    port = arguments["http"]
    if port is None:
        made.run("stdio")
        return 0
    if not 0 <= port <= 65535:
        raise UsageError("Option -http requires a port", "A port must be a number from 0 to 65535.")
    import socket

    import uvicorn

    token = os.environ.get(TOKEN) or secrets.token_urlsafe(24)
    with socket.create_server(("127.0.0.1", port)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        hint = "" if os.environ.get(TOKEN) else f" with the token {token}"
        terminal.err(f"planner is listening at {address}{hint}. To stop it, press Ctrl-C.")
        app = with_token(made.streamable_http_app(), token)
        uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listening])
    return 0
