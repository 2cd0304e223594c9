"""`console`: evaluates expressions with the configuration and the state, from a terminal or a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from planner.api.questions import Questions
from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments, Flag, UsageError, command, no_directory
from planner.cli.options import INPUT, LOCK, VARIABLES, plan_calls
from planner.cli.views import open_plain_view
from planner.foundation.values.types import type_text
from planner.foundation.values.value import type_of, unmark_deep
from planner.foundation.vocabulary.diagnostic import Failure, has_errors
from planner.foundation.vocabulary.span import Source
from planner.render.terminal import Terminal
from planner.render.value import format_value
from planner.render.view import View

BRACKETS = {"LPAREN": 1, "LBRACKET": 1, "LBRACE": 1, "LBODY": 1, "RPAREN": -1, "RBRACKET": -1, "RBRACE": -1}

HELLO = """An expression shows its value: var.region, terraform_data.x.output, upper("a"), 1 + 2.
type(EXPRESSION) shows its type. Open brackets, or a backslash at the end, continue on the next line.
exit, or the end of the input, ends the console. Nothing is changed."""


@command(
    "[options]",
    """Evaluates expressions of the configuration language, one after the other, with the values of the configuration
and the state. Nothing is changed. `exit` or the end of the input ends the console.

With -json, every line of input is an object {"expr": TEXT}, and every answer is one line of JSON.""",
    (
        Flag("json", "bool", "Read and write JSON lines."),
        Flag("json-into", "string", "Print text, and also write the JSON lines to this file.", value="FILE"),
        INPUT,
        Flag("state", "string", "Read the state from this file.", value="FILE"),
        *LOCK,
        *VARIABLES,
    ),
)
def console(arguments: Arguments, terminal: Terminal) -> int:
    """With input from a pipe, returns 1 at the first expression that fails."""
    no_directory(arguments, "console")
    if arguments["json"] and arguments["json-into"]:
        raise UsageError(
            "Conflicting options", "JSON can be written either to standard output or to a file, but not to both."
        )
    scope, diagnostics = plan_calls(Questions, arguments).scope(planning=arguments["json"])
    if scope is None or (arguments["json"] and has_errors(diagnostics)):
        return finish(diagnostics, terminal)
    if arguments["json"]:
        if diagnostics:
            finish(diagnostics, terminal)
        return _json_lines(scope, terminal)
    view = open_plain_view(arguments, terminal)
    if diagnostics:
        view.diagnostics(diagnostics)
    if terminal.interactive:
        return _ask(scope, terminal, view)
    return _pipe(scope, terminal, view)


def _json_lines(scope: Any, terminal: Terminal) -> int:
    from planner.foundation.support.exact_json import JsonError, loads
    from planner.language.expressions.console import answer

    for line in terminal.stdin:
        if not line.strip():
            continue
        try:
            question = loads(line.encode("utf-8", "surrogatepass"))
            text = question["expr"]
        except (JsonError, KeyError, TypeError):
            reply: Any = {"error": True, "phase": "parse", "ranges": []}
        else:
            reply = answer(text, scope)
        terminal.data(json_text(reply))
        terminal.stdout.flush()
    return 0


def _pipe(scope: Any, terminal: Terminal, view: View) -> int:
    for text in statements(terminal.stdin.readline, lambda depth: None):
        if text.strip() == "exit":
            return 0
        try:
            result = evaluated(text, scope)
        except Failure as problem:
            view.diagnostics(problem.diagnostics)
            return 1
        view.say(result, result)
    return 0


def _ask(scope: Any, terminal: Terminal, view: View) -> int:
    with suppress(ImportError):
        import readline  # noqa: F401 (importing it gives input() a history and line editing)
    prompt = ["> "]

    def read() -> str:
        try:
            return input(prompt[0]) + "\n"
        except EOFError:
            terminal.out()
            return ""

    def waiting(depth: int) -> None:
        prompt[0] = "." * depth + " " if depth else "> "

    for text in statements(read, waiting):
        if text.strip() == "exit":
            break
        try:
            result = evaluated(text, scope)
        except Failure as problem:
            view.diagnostics(problem.diagnostics)
            continue
        if result:
            view.say(result, result)
    sys.stdout.flush()
    return 0


def statements(read: Callable[[], str], waiting: Callable[[int], None]) -> Iterator[str]:
    """The expressions to evaluate. Lines are joined while brackets are open, and after a backslash. `waiting` is called
    after each line, with the number of open brackets (at least 1 after a backslash)."""
    text, depth = "", 0
    while True:
        line = read()
        if not line:
            if text.strip():
                yield text
            return
        line = line.strip()
        continued = line.endswith("\\") and not line.endswith("\\\\")
        line = line.removesuffix("\\")
        depth += open_brackets(line)
        text += line + "\n"
        if depth <= 0 and not continued:
            waiting(0)
            yield text.strip()
            text, depth = "", 0
        else:
            waiting(max(depth, 1))


def open_brackets(line: str) -> int:
    """The number of opening brackets in the line minus the number of closing brackets. Brackets in strings and comments
    are ignored."""
    from planner.language.syntax.lexer import BRACKETS as INSIDE
    from planner.language.syntax.lexer import tokenize

    return sum(BRACKETS.get(token[0], 0) for token in tokenize(line, 0, INSIDE))


def evaluated(text: str, scope: Any) -> str:
    """The text to print for an input: the value of an expression, the type for `type(...)`, the introduction for
    `help`, and "" for blank input. Raises Failure."""
    from planner.language.expressions.evaluate import evaluate
    from planner.language.syntax.nodes import Call
    from planner.language.syntax.parse import parse_expression

    if not text.strip():
        return ""
    if text.strip() == "help":
        return HELLO
    source = Source("<console-input>", text)
    expression, problems = parse_expression(source)
    if expression is None or has_errors(problems):
        raise Failure(problems)
    if expression.__class__ is Call and expression.name == "type" and len(expression.arguments) == 1:
        return type_text(type_of(unmark_deep(evaluate(expression.arguments[0], scope, source))[0]))
    return format_value(evaluate(expression, scope, source))
