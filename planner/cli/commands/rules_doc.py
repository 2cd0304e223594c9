"""`rules doc`: the documentation of the rules' predicates."""

from __future__ import annotations

from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import JSON
from planner.render.terminal import Terminal

USAGE = "[options] [PREDICATE]"
HELP = """Lists the predicates of the rules and the built-in ones, or documents one, including those of your
policies: the meaning of a tuple, its columns, its declaration, the rules that derive it and those that read it."""
FLAGS = (JSON, Flag("markdown", "bool", "Print the list as Markdown tables, as in rules/README.md."))


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0. An unknown predicate is a Failure."""
    from planner.answers.policy import rulebook
    from planner.render import rules as render_rules

    arguments.at_most_one_word("Name one predicate, or none to list them all.")
    if arguments["markdown"] and (arguments.words or arguments["json"]):
        raise UsageError(
            "Conflicting options", "-markdown prints the list of all predicates: leave out the other words."
        )
    built_in = rulebook.built_in(*arguments.words)
    named = arguments.words and not built_in
    result = [rulebook.entry_of(arguments.words[0])] if named else [] if arguments.words else rulebook.entries()
    if arguments["json"]:
        made = [rulebook.built_in_json(one) for one in built_in]
        predicates = [rulebook.entry_json(entry) for entry in result]
        terminal.data(render_rules.document(predicates=predicates, built_in=made))
    elif arguments["markdown"]:
        terminal.data(render_rules.markdown_index(result, built_in))
    elif arguments.words:
        texts = [render_rules.entry_text(entry, terminal.paint) for entry in result]
        texts += [render_rules.built_in_text(one, terminal.paint) for one in built_in]
        terminal.out("\n\n".join(texts))
    else:
        for entry in result:
            terminal.out(render_rules.index_text(entry, terminal.paint))
        for one in built_in:
            terminal.out(render_rules.built_in_index_text(one, terminal.paint))
    return 0
