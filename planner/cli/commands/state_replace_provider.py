"""`state replace-provider`: objects in the state change their provider."""

from __future__ import annotations

from planner.api.states import States
from planner.cli.approval import ask
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import IGNORE_REMOTE_VERSION, INPUT, JSON_LINES, LOCK, VARIABLES, may_ask, state_calls
from planner.cli.views import open_plain_view
from planner.render.terminal import Terminal

USAGE = "[options] FROM TO"
HELP = "Changes the provider of all objects in the state that belong to FROM."
FLAGS = (
    Flag("auto-approve", "bool", "Replace without a prompt for approval."),
    Flag("state", "string", "Edit this state file.", value="FILE"),
    Flag("backup", "string", "Keep the former state in this file.", value="FILE"),
    IGNORE_REMOTE_VERSION,
    INPUT,
    *LOCK,
    *VARIABLES,
    *JSON_LINES,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 on errors and when the answer was no."""
    if len(arguments.words) != 2:
        raise UsageError("Two providers are needed", "Write the old provider and the new one.")
    view = open_plain_view(arguments, terminal)
    calls = state_calls(States, arguments)
    old, new = arguments.words
    affected, _ = calls.replace_provider(old, new, dry_run=True)
    if not affected:
        view.say("No matching resources found.")
        return 0
    text = "\n  ".join([f"{len(affected)} resources change their provider:", *affected])
    message = f"{len(affected)} resources change their provider from {old} to {new}"
    view.say(text, message, type="replace_provider", resources=affected, **{"from": old, "to": new})
    if not arguments["auto-approve"]:
        remark = "Only 'yes' will be accepted to continue."
        if ask("Do you want to make these changes?", remark, terminal, may_ask(arguments)) != "yes":
            view.say("Cancelled replacing providers.")
            return 1
    affected, diagnostics = calls.replace_provider(old, new)
    view.say(f"Successfully replaced provider for {len(affected)} resources.")
    return view.finish(diagnostics)
