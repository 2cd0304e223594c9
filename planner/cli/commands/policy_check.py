"""`policy check`: what policies say about a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import DESTROY, INPUT, OPERATION, POLICY, STATE, VARIABLES, operation_options
from planner.render.terminal import Terminal

if TYPE_CHECKING:
    from planner.policy.model import Verdict

FORMATS = ("table", "json", "sarif", "junit")
USAGE = "[options]"
HELP = """Judges a plan by policies: one that is made for it, or a saved one.
Every verdict has a proof: with -why in the table, and always in JSON.

  deny        the plan must not be applied
  broken      the policy computes something that has no value here,
              so nobody can say: as bad as deny
  undecided   it hinges on values that are not known yet: apply decides it
  warn        worth a look
  overridden  denied, and let pass by -policy-override

Ends with 0, or with 1 when something is denied or broken,
or cannot be done."""
FLAGS = (
    Flag("plan", "string", "Judge this saved plan.", value="FILE"),
    Flag("format", "string", "How to print: table, json, sarif or junit.", "table", "FORMAT"),
    Flag("json", "bool", "The same as -format=json."),
    Flag("why", "bool", "Show the proof of each verdict below it."),
    *POLICY,
    DESTROY,
    INPUT,
    *OPERATION,
    *STATE,
    *VARIABLES,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when something is denied or broken, or on errors."""
    from planner.operations import policies
    from planner.walk.hooks import Hooks

    if arguments.words:
        raise UsageError("Too many words", "A saved plan is named with -plan=FILE, policies with -policy=DIR.")
    format = "json" if arguments["json"] else arguments["format"]
    if format not in FORMATS:
        raise UsageError(f"Unknown format {format}", f"There are {', '.join(FORMATS)}.")
    settings = operation_options(arguments)
    if not settings.judges and not arguments["plan"]:
        raise UsageError("No policies", "Name them with -policy=DIR, -policy=FILE or -policy=builtin:NAME.")
    verdict, problems = policies.check(settings, arguments["plan"] or None, Hooks())
    if verdict is None:
        return finish(problems, terminal)
    if format == "table":
        terminal.out(_table(verdict, terminal, arguments["why"]))
    else:
        terminal.data(_FORMS[format](verdict))
    return max(finish(problems, terminal), int(verdict.is_denied))


def _table(verdict: Verdict, terminal: Terminal, proofs: bool) -> str:
    from planner.render.verdicts import table

    return table(verdict, terminal.paint, proofs)


def _junit(verdict: Verdict) -> str:
    from planner.render.verdicts_junit import junit

    return junit(verdict)


def _sarif(verdict: Verdict) -> str:
    from planner.render.verdicts_sarif import sarif

    return _document(sarif(verdict))


def _json(verdict: Verdict) -> str:
    return _document(verdict.to_json())


def _document(document: dict[str, Any]) -> str:

    return json_text(document)


_FORMS = {"junit": _junit, "sarif": _sarif, "json": _json}
