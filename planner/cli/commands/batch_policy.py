"""`batch policy`: what policies say about the plans of a fleet together."""

from __future__ import annotations

from planner.cli.batch_options import RUN, SELECT, WORDS, batch_options
from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag
from planner.cli.options import JSON
from planner.cli.terminal import Terminal
from planner.vocabulary.diagnostic import has_errors

USAGE = "[options] [WORDS...]"
HELP = f"""Judges the plans of all units together by rules that derive deny(code, unit, message) or warn(code, unit,
message) from the relations of planner batch query:
  deny("bucket", U, M) :-
    planned(U, _, "input.bucket", N), planned(V, _, "input.bucket", N),
    U < V, M = "owns the bucket " ++ N ++ ", and so does " ++ V.

{WORDS}

Ends with 0, or with 1 when the fleet is denied or something is wrong."""
FLAGS = (
    Flag("policy", "list", "A file or folder of policies (.planner/batch-policies). May be repeated.", value="PATH"),
    Flag("why", "bool", "Show the proof of each verdict below it."),
    JSON,
    *SELECT,
    *RUN,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when something is denied or on errors."""
    from planner.batch.ask import policy
    from planner.batch.schedule import Listener

    findings, _, diagnostics = policy(batch_options(arguments), tuple(arguments["policy"]), Listener())
    denied = any(finding.kind == "deny" for finding in findings)
    if arguments["json"]:
        from planner.vocabulary.exact_json import dumps

        found = [finding.to_json() for finding in findings]
        terminal.out(dumps({"format_version": "1.0", "denied": denied, "findings": found}, escape_html=False).decode())
        return int(denied or has_errors(diagnostics))
    if findings:
        from planner.cli.render_rows import table

        rows = [(finding.kind, finding.code, finding.unit, finding.message) for finding in findings]
        terminal.out(table(("VERDICT", "CODE", "UNIT", "MESSAGE"), rows))
    if arguments["why"]:
        from planner.cli.render_proof import proof_text

        for finding in findings:
            terminal.out(f"\n{finding.kind} {finding.code} {finding.unit}")
            terminal.out(proof_text(finding.proof, terminal.paint, full=True))
    code = finish(diagnostics, terminal)
    if not has_errors(diagnostics):
        number = sum(finding.kind == "deny" for finding in findings)
        terminal.out(
            f"\nPolicies: {number} denied, {len(findings) - number} warned." if findings else "Nothing denied."
        )
    return max(code, int(denied))
