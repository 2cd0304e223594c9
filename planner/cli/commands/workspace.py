"""`workspace`: lists, creates, selects and deletes workspaces."""

from __future__ import annotations

from planner.api.states import Workspaces
from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag, command
from planner.cli.options import JSON_LINES, LOCK, VARIABLES, state_calls
from planner.cli.views import open_plain_view
from planner.render.terminal import Terminal
from planner.render.view import View


@command("[options]", "Lists the workspaces; an asterisk marks the selected one.", (*VARIABLES, *JSON_LINES))
def workspace_list(arguments: Arguments, terminal: Terminal) -> int:
    arguments.no_words("workspace list takes no arguments; to select a directory, use -chdir=DIR before the command.")
    view = open_plain_view(arguments, terminal)
    known = state_calls(Workspaces, arguments).workspaces()
    text = "".join(f"{'*' if name == known.selected else ' '} {name}\n" for name in known.names)
    names, current = list(known.names), known.selected
    view.say(text, "list of workspaces", type="workspace_list", workspaces=names, current_workspace=current)
    return view.finish(known.diagnostics)


@command("", "Prints the name of the selected workspace.", VARIABLES)
def workspace_show(arguments: Arguments, terminal: Terminal) -> int:
    arguments.no_words("workspace show takes no arguments.")
    name, diagnostics = state_calls(Workspaces, arguments).workspace()
    terminal.out(name)
    return finish(diagnostics, terminal)


@command(
    "[options] NAME",
    "Creates a workspace with an empty state, and selects it.",
    (Flag("state", "string", "Start with a copy of this state file.", value="FILE"), *LOCK, *VARIABLES, *JSON_LINES),
)
def workspace_new(arguments: Arguments, terminal: Terminal) -> int:
    name = arguments.only_word("One name is needed", "Write the name of the new workspace.")
    view = open_plain_view(arguments, terminal)
    diagnostics = state_calls(Workspaces, arguments).new_workspace(name)
    say_created(view, terminal, name, begins_with=arguments["state"])
    return view.finish(diagnostics)


def say_created(view: View, terminal: Terminal, name: str, begins_with: str = "") -> None:
    title = f'Created and switched to workspace "{name}"'
    remark = "Its state is empty: a plan does not see the objects of other workspaces."
    if begins_with:
        remark = f"Its state is a copy of {begins_with}."
    view.say(f"{terminal.paint(f'{title}!', 'bold', 'green')}\n\n{remark}", f"{title}. {remark}")


@command(
    "[options] NAME",
    "Selects a workspace.",
    (Flag("or-create", "bool", "Create the workspace if it does not exist."), *LOCK, *VARIABLES, *JSON_LINES),
)
def workspace_select(arguments: Arguments, terminal: Terminal) -> int:
    name = arguments.only_word("One name is needed", "Write the name of a workspace.")
    view = open_plain_view(arguments, terminal)
    selected, diagnostics = state_calls(Workspaces, arguments).select_workspace(name, create=arguments["or-create"])
    if selected == "created":
        say_created(view, terminal, name)
    elif selected == "switched":
        text = f'Switched to workspace "{name}"'
        view.say(terminal.paint(f"{text}.", "green"), text)
    return view.finish(diagnostics)


@command(
    "[options] NAME",
    "Deletes a workspace. A workspace whose state has objects is kept, unless -force is given.",
    (
        Flag("force", "bool", "Delete the workspace even if it manages objects; they continue to exist."),
        *LOCK,
        *VARIABLES,
        *JSON_LINES,
    ),
)
def workspace_delete(arguments: Arguments, terminal: Terminal) -> int:
    name = arguments.only_word("One name is needed", "Write the name of a workspace.")
    view = open_plain_view(arguments, terminal)
    diagnostics = state_calls(Workspaces, arguments).delete_workspace(name, force=arguments["force"])
    view.say(terminal.paint(f'Deleted workspace "{name}"!', "green"), f'Deleted workspace "{name}"')
    return view.finish(diagnostics)
