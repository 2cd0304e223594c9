"""`what-if`: how a plan would differ with other options."""

from __future__ import annotations

from planner.api.making import actions_of
from planner.api.questions import Questions
from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments, Flag, UsageError, command, no_directory
from planner.cli.options import DESTROY, JSON, OPERATION, SINCE, STATE, VARIABLES, plan_calls
from planner.render.terminal import Terminal


@command(
    "[options]",
    """Makes two plans, one of the current configuration and one with the given options, and shows the differences
and their causes:

  planner what-if -var=drop=true
  planner what-if -replace=terraform_data.web
  planner what-if -target=module.net

-var, -replace, -target, -exclude and -destroy apply to the second plan alone. -var-file and -base-var apply to both.
Nothing is changed.""",
    (
        Flag("base-var", "list", "Set an input variable in both plans. May be repeated.", value="NAME=VALUE"),
        JSON,
        DESTROY,
        SINCE,
        *OPERATION,
        *STATE,
        *VARIABLES,
    ),
)
def what_if(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when one of the plans cannot be made."""
    from planner.render.what_if import what_if_json, what_if_text

    no_directory(arguments, "what-if")
    comparison, problems = plan_calls(Questions, arguments).comparison(tuple(arguments["base-var"]))
    if comparison is None and not problems:
        detail = "Choose what differs with -var, -replace, -target, -exclude or -destroy."
        raise UsageError("Nothing is tried", detail)
    if comparison is None:
        return finish(problems, terminal)
    if arguments["json"]:
        terminal.data(json_text(what_if_json(comparison)))
    else:
        actions = {**actions_of(comparison.without), **actions_of(comparison.within)}
        terminal.out(what_if_text(comparison, actions, terminal.paint))
    return finish(problems, terminal)
