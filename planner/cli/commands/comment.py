"""`comment`: the report of a run, as a comment on the pull request that a CI job runs for."""

from __future__ import annotations

import os

from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.pull_request import ABOUT, cut, report_text, reported, started
from planner.foundation.vocabulary.diagnostic import error
from planner.render.terminal import Terminal


@command(
    "[options] [FILE]",
    """Writes a report as a comment on the pull request that this CI job runs for. FILE is a review (the JSON of
-review=FILE, which is cut to the size that the host takes) or Markdown. The comment of an earlier run is updated in
place; when there are several, the older ones are folded.

Hosts are known by the variables of their runners; each needs a token that may write comments: GITHUB_TOKEN,
GITLAB_TOKEN, BITBUCKET_TOKEN, SYSTEM_ACCESSTOKEN (Azure). Where the runner does not know the number of the pull
request, PLANNER_PULL_REQUEST has it. A job without a pull request writes no comment and succeeds.

-start states in the existing comment that a run is under way, and -cut that it ended without a report. `planner ci`
does all of this around another command.""",
    (
        *ABOUT,
        Flag("start", "bool", "State that a run is under way."),
        Flag("cut", "bool", "State that the run ended without a report."),
    ),
)
def comment(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when the comment could not be written."""
    path = arguments.at_most_one_word("One report is written at a time.")
    if (path is not None) + arguments["start"] + arguments["cut"] != 1:
        raise UsageError("One report is needed", "Name its file, or use -start or -cut.")
    name = arguments["name"]
    if arguments["start"]:
        return finish(started(name, os.environ), terminal)
    if path is None:
        return finish(cut(name, os.environ), terminal)
    try:
        text = report_text(path)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        return finish([error("ci.report", "Cannot read the report", f"{path}: {reason}.")], terminal)
    done, problems = reported(name, text, os.environ)
    terminal.out(f"The comment was {done}." if done else "No pull request is known, so no comment was written.")
    return finish(problems, terminal)
