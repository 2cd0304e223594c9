"""`rules`: lists and documents rules, and checks, formats and tests rule files."""

from __future__ import annotations

from planner.cli import layout
from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import DESTROY, JSON, OPERATION, STATE, VARIABLES, plan_calls
from planner.foundation.vocabulary.diagnostic import Diagnostic, error, has_errors
from planner.render.terminal import Terminal


@command(
    "[options]",
    """Lists every rule: its name, its predicate, its location, and the reason that proofs print. Names in braces
are variables of the rule.""",
    (JSON,),
)
def rules_list(arguments: Arguments, terminal: Terminal) -> int:
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


@command(
    "[options] [PREDICATE]",
    """Lists the built-in predicates, those of the rules and those of your policies. With PREDICATE, documents one: the
meaning of a tuple, its columns, its declaration, the rules that derive it and those that read it.""",
    (JSON, Flag("markdown", "bool", "Print the list as Markdown tables, as in rules/README.md.")),
)
def rules_doc(arguments: Arguments, terminal: Terminal) -> int:
    """Raises Failure for an unknown predicate."""
    from planner.answers.policy import rulebook
    from planner.render import rules as render_rules

    arguments.at_most_one_word("Name one predicate, or none to list all.")
    if arguments["markdown"] and (arguments.words or arguments["json"]):
        raise UsageError(
            "Conflicting options", "-markdown prints the list of all predicates. Remove the other arguments."
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


@command(
    "[options] [PREDICATE]",
    """Prints the dependencies of all predicates, or of PREDICATE and the predicates on which it depends, in the DOT
language. Predicates of the same level are in one row; red edges are negations, blue ones aggregates and green ones
native operators, which all need a complete relation:
  planner rules graph reduced_edge | dot -Tsvg > rules.svg""",
    (JSON, Flag("dot", "bool", "Print DOT, which is the default.")),
)
def rules_graph(arguments: Arguments, terminal: Terminal) -> int:
    """Raises Failure for an unknown predicate."""
    from planner.answers.policy import rulebook
    from planner.render import rules as render_rules

    predicate = arguments.at_most_one_word("Name at most one predicate.")
    if arguments["json"] and arguments["dot"]:
        raise UsageError("Conflicting options", "Choose -json or -dot.")
    graphs = rulebook.dependency_graphs(predicate)
    terminal.data(render_rules.graphs_json(graphs) if arguments["json"] else render_rules.graphs_dot(graphs))
    return 0


KINDS = ("plan", "plan-refresh-only", "plan-destroy", "apply")


@command(
    "[options] [DIRECTORY]",
    """Evaluates the graph rules of the configuration in the working directory and shows for each predicate the number
of tuples, the number of rounds if it is recursive, and the time of its rules, the slowest predicate first.""",
    (
        Flag("type", "string", f"The operation: {', '.join(KINDS)}.", "plan", "TYPE"),
        JSON,
        DESTROY,
        *OPERATION,
        *STATE,
        *VARIABLES,
    ),
)
def rules_stats(arguments: Arguments, terminal: Terminal) -> int:
    from planner.api.questions import Questions
    from planner.render import rules as render_rules

    directory = arguments.at_most_one_word("Name at most one directory.", ".")
    if arguments["type"] not in KINDS:
        raise UsageError(f"Unknown graph type {arguments['type']}", f"The types are: {', '.join(KINDS)}.")
    built = plan_calls(Questions, arguments, directory=directory).built_graph(arguments["type"])
    database, diagnostics = built.database, built.diagnostics
    if database is None or has_errors(diagnostics):
        return finish(diagnostics, terminal) or 1
    terminal.data(render_rules.costs_json(database) if arguments["json"] else render_rules.costs_text(database))
    return finish([] if arguments["json"] else diagnostics, terminal)


PROGRAM = Flag(
    "program",
    "string",
    "Check with this set of planner's rules, such as graph, policy or batch (default: the set that matches the files).",
    value="NAME",
)


@command(
    "[options] [FILE|DIRECTORY...]",
    """Checks rule files (.dl) together with planner's own rules, without evaluating them, and reports all errors:
unknown predicates, mismatched columns, variables without a value, negation in a cycle. All rule files in a directory
and below are checked together. Without arguments, it checks the files in .planner/rules, or else in the
working directory.""",
    (JSON, PROGRAM),
)
def rules_check(arguments: Arguments, terminal: Terminal) -> int:
    from planner.answers.policy import rule_files
    from planner.render import rules as render_rules
    from planner.render.diagnostics_json import validate_json

    files, diagnostics = rule_files.read_files(arguments.words or rule_files.default_words(), (".dl",))
    checked = rule_files.check(files, arguments["program"])
    diagnostics += checked.diagnostics
    if arguments["json"]:
        terminal.data(json_text(validate_json(diagnostics)))
        return int(has_errors(diagnostics))
    render_rules.show(diagnostics, terminal)
    if not has_errors(diagnostics):
        count = "1 file is" if len(files) == 1 else f"{len(files)} files are"
        terminal.out(f"{count} valid, checked together with the rules of {checked.program}.")
    return int(has_errors(diagnostics))


ENDINGS = (".dl", ".case")


@command(
    "[options] [FILE|DIRECTORY...]",
    """Rewrites rule files and case files in the standard layout and lists those that changed: the files of
.planner/rules, or else of the working directory, or the named files and directories. Line breaks and comments are
kept; long lines are broken between literals. With - it reads standard input and prints the result.""",
    layout.FLAGS,
)
def rules_fmt(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 2 if a file cannot be read, parsed or written, 3 with -check if a layout differs, and 0 otherwise."""
    from planner.answers.policy.rule_files import default_words

    files = layout.Layout(ENDINGS, "a file of rules or cases", "Not a rule file", _laid_out)
    return layout.rewrite(files, arguments.words or default_words(), arguments, terminal)


def _laid_out(data: bytes, name: str, problems: list[Diagnostic]) -> str | None:
    from planner.language.syntax.rule_format import format_rules
    from planner.language.syntax.rule_parse import parse_rules

    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        detail = f"The file is not valid UTF-8: invalid byte at offset {problem.start}."
        problems.append(error("file.encoding", f"Cannot read {name}", detail))
        return None
    result = parse_rules(name, text)[1]
    problems += result
    return None if has_errors(result) else format_rules(text)


@command(
    "[options] [FILE|DIRECTORY...]",
    """Runs case files (.case): facts, and the tuples that rules should derive from them. The rules are planner's own
rules and those in rule files (.dl) next to the cases: NAME.case tests NAME.dl together with the files that declare its
inputs, or all files if there is no NAME.dl. Without arguments, it runs the cases in .planner/rules, or else in the
working directory and below.

A rule for deny or warn needs two cases in one file: one that expects its verdict, and one with .want none.""",
    (JSON, PROGRAM),
)
def rules_test(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, if a case fails, and if no case tests a denying rule."""
    from planner.answers.policy import rule_files
    from planner.api.rule_cases import run_cases
    from planner.render import rules as render_rules

    tested = run_cases(arguments.words or rule_files.default_words(), arguments["program"])
    if arguments["json"]:
        terminal.data(render_rules.tested_json(tested))
    else:
        terminal.out(render_rules.tested_text(tested, terminal.paint))
        render_rules.show(tested.diagnostics, terminal)
    return int(not tested.passed)
