"""`rules list`: every rule of the product."""

from __future__ import annotations

from planner.cli.flags import Arguments
from planner.cli.options import JSON
from planner.render.terminal import Terminal

USAGE = "[options]"
HELP = """Lists every rule: its name, its predicate, its location, and the reason that proofs print. Names in braces
are variables of the rule."""
FLAGS = (JSON,)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """Always 0."""
    from planner.answers.policy import rulebook
    from planner.render.rules import document

    arguments.no_words("To see one predicate and its rules: planner rules doc PREDICATE")
    if arguments["json"]:
        terminal.data(document(rules=[rulebook.rule_json(name, rule) for name, rule in rulebook.rules()]))
        return 0
    paint = terminal.paint
    for _name, rule in rulebook.rules():
        terminal.out(f"{paint(rule.name, 'bold')}  {rule.head}  {paint(f'{rule.file}:{rule.line}', 'grey')}")
        terminal.out(f"    {rule.reason or rule.text}")
    return 0
