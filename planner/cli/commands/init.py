"""`init`, `get` and `stacks init`: set up a directory's modules, backend, providers and lock file."""

from __future__ import annotations

from planner.api.installation import Installation
from planner.cli.flags import Arguments, Flag, UsageError, command, no_directory
from planner.cli.options import (
    IGNORE_REMOTE_VERSION,
    INPUT,
    JSON_LINES,
    LOCK,
    VARIABLES,
    loading_calls,
    may_ask,
    state_calls,
)
from planner.cli.views import open_view
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.render.download_line import DownloadLine, InitLines
from planner.render.terminal import Terminal


@command(
    "[options]",
    """Prepares the working directory: installs the modules that the configuration calls, sets up the backend and
selects providers. It is safe to run again.""",
    (
        Flag("backend", "bool", "Do not set up the backend.", True),
        Flag("cloud", "bool", "", True),
        Flag("backend-config", "list", "A setting of the backend, or a file with settings.", value="NAME=VALUE"),
        Flag("force-copy", "bool", "Answer yes to prompts about copying the state."),
        Flag("reconfigure", "bool", "Ignore the former settings of the backend."),
        Flag("migrate-state", "bool", "Copy the states of the former backend to the new one."),
        Flag("from-module", "string", "First copy this module into the working directory.", value="SOURCE"),
        Flag("get", "bool", "Do not install modules.", True),
        Flag("upgrade", "bool", "Select the newest allowed versions."),
        Flag("plugin-dir", "list", "Search for providers only in this directory. May be repeated.", value="DIR"),
        Flag("lockfile", "string", "The lock file mode: readonly.", value="MODE"),
        IGNORE_REMOTE_VERSION,
        Flag(
            "test-directory",
            "string",
            "The directory of test files, in addition to the working directory (default: tests).",
            value="DIR",
        ),
        INPUT,
        *LOCK,
        *VARIABLES,
        *JSON_LINES,
    ),
)
def init(arguments: Arguments, terminal: Terminal) -> int:
    from planner.cli.approval import ask

    no_directory(arguments, "init")
    calls = state_calls(Installation, arguments)
    _check(arguments)
    view = open_view(arguments, terminal)
    with DownloadLine(terminal) as line:
        diagnostics = calls.init(
            upgrade=arguments["upgrade"],
            install_modules=arguments["get"],
            backend=arguments["cloud" if "cloud" in arguments else "backend"],
            backend_config=arguments["backend-config"],
            reconfigure=arguments["reconfigure"],
            migrate_state=arguments["migrate-state"],
            force_copy=arguments["force-copy"],
            plugin_dirs=arguments["plugin-dir"],
            lockfile=arguments["lockfile"],
            from_module=arguments["from-module"],
            test_directory=arguments["test-directory"] or "",
            on_event=InitLines(view),
            progress=line,
            ask=(lambda question, remark: ask(question, remark, terminal, True)) if may_ask(arguments) else None,
        )
    view.diagnostics(diagnostics)
    success = "planner has been successfully initialized!"
    view.say(f"\n{terminal.paint(success, 'bold', 'green')}", success)
    if not terminal.in_automation:
        next_step = "The next step is usually `planner plan`, which shows the changes to make."
        view.say(f"\n{next_step}", next_step)
    return 0


def _check(arguments: Arguments) -> None:
    """Raises UsageError for flags that exclude each other."""
    if "backend" in arguments and "cloud" in arguments:
        raise UsageError("Conflicting options", "-backend and -cloud mean the same: use one of them.")
    if arguments["reconfigure"] and arguments["migrate-state"]:
        detail = "-reconfigure leaves states where they are, but -migrate-state copies them: choose one."
        raise UsageError("Conflicting options", detail)


@command(
    "[options]",
    "Installs the modules that the configuration and its tests call, in .terraform/modules.",
    (
        Flag("update", "bool", "Look for newer versions of installed modules."),
        Flag(
            "test-directory",
            "string",
            "The directory of test files, in addition to the working directory (default: tests).",
            value="DIR",
        ),
        *VARIABLES,
        *JSON_LINES,
    ),
)
def get(arguments: Arguments, terminal: Terminal) -> int:
    no_directory(arguments, "get")
    calls = loading_calls(Installation, arguments)
    view = open_view(arguments, terminal)
    directory, lines = arguments["test-directory"] or "", InitLines(view)
    with DownloadLine(terminal) as line:
        problems = calls.get(upgrade=arguments["update"], test_directory=directory, on_event=lines, progress=line)
    return view.finish(problems)


@command(
    "[options] [DIRECTORY]",
    """Prepares a stack: installs the modules of its components and its child stacks, and selects the providers of
all of them together. It is safe to run again.""",
    (
        Flag("upgrade", "bool", "Select the newest allowed versions."),
        Flag("plugin-dir", "list", "Search for providers only in this directory. May be repeated.", value="DIR"),
        Flag("lockfile", "string", "The lock file mode: readonly.", value="MODE"),
        *JSON_LINES,
    ),
)
def stacks_init(arguments: Arguments, terminal: Terminal) -> int:
    from planner.workflows.stacks.init import init_stack

    directory = arguments.at_most_one_word("stacks init takes at most one directory.", ".")
    view = open_view(arguments, terminal)
    with DownloadLine(terminal) as line:
        diagnostics = init_stack(
            directory,
            upgrade=arguments["upgrade"],
            lockfile=arguments["lockfile"] or "",
            plugin_dirs=arguments["plugin-dir"],
            hooks=InitLines(view),
            progress=line,
        )
    view.diagnostics(diagnostics)
    if has_errors(diagnostics):
        return 1
    success = "The stack has been successfully initialized!"
    view.say(f"\n{terminal.paint(success, 'bold', 'green')}", success)
    return 0
