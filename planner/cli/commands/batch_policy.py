"""`batch policy`: results of policies for the plans of a fleet together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.cli.batch_options import REUSE, RUN, SELECT, WORDS, batch_options
from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments, Flag
from planner.cli.options import JSON
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.render.terminal import Terminal
from planner.workflows.batch.model import diagnostics_json
from planner.workflows.batch.schedule import BatchListener

if TYPE_CHECKING:
    from planner.answers.policy.model import Verdict

USAGE = "[options] [WORDS...]"
HELP = f"""Judges the plans of all units together by rules that derive deny(code, unit, message) or warn(code, unit,
message) from the relations of planner batch query:
  deny("bucket", U, M) :-
    unit_planned(U, _, "input.bucket", N),
    unit_planned(V, _, "input.bucket", N),
    U < V, M = "owns the bucket " ++ N ++ ", and so does " ++ V.

{WORDS}

A verdict that depends on values that are not known yet (a new object's id, a changed output of a unit) is undecided
until they are applied. A policy that computes something without a value is broken, as bad as a denial.

The exit code is 0, or 1 when the fleet is denied or on errors, which include a unit without a plan."""
FLAGS = (
    Flag("policy", "list", "A file or directory of policies (.planner/batch-policies). May be repeated.", value="PATH"),
    Flag("proofs", "bool", "Show the proof of each verdict below it."),
    JSON,
    REUSE,
    *SELECT,
    *RUN,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when something is denied or on errors."""
    from planner.render.verdicts import count_verdicts
    from planner.workflows.batch.questions import policy

    verdict, diagnostics = policy(batch_options(arguments), tuple(arguments["policy"]), BatchListener())
    findings = verdict.findings
    if arguments["json"]:
        terminal.data(_document(verdict, diagnostics))
        return int(verdict.is_denied or has_errors(diagnostics))
    tell([("", verdict)], "UNIT", arguments["proofs"], terminal)
    code = finish(diagnostics, terminal)
    if not code:
        terminal.out(("\n" if findings else "") + count_verdicts(verdict))
    return max(code, int(verdict.is_denied))


def _document(verdict: Verdict, diagnostics: list[Diagnostic]) -> str:
    from planner.answers.policy.combined_plans import combined_json

    return json_text({**combined_json(verdict), "diagnostics": list(diagnostics_json(diagnostics))})


def tell(verdicts: list[tuple[str, Verdict]], noun: str, with_proofs: bool, terminal: Terminal) -> None:
    """Print a table of the results of policies (with the names of deployments, where there are several), and the
    proofs."""
    from planner.render.proof import proof_text
    from planner.render.rows import table

    items = [(name, finding) for name, verdict in verdicts for finding in verdict.findings]
    names = [name for name, _ in verdicts if name]
    if items:
        rows = [((name,) if names else ()) + (f.kind, f.code, f.address, f.message) for name, f in items]
        headers = ("VERDICT", "CODE", noun, "MESSAGE")
        terminal.out(table(("DEPLOYMENT", *headers) if names else headers, rows))
    for name, finding in items if with_proofs else ():
        terminal.out(f"\n{' '.join(filter(None, (name, finding.kind, finding.code, finding.address)))}")
        terminal.out(proof_text(finding.proof, terminal.paint, full=True))
