"""A table of messages for syntax mistakes. The position in the grammar and the next token determine the entry.

In the example of each entry, « and » enclose the text to which the message refers; tests parse all examples. Entries
for the token `*` apply to tokens without an entry of their own. `echo` marks mistakes that may be consequences of an
earlier mistake. They are reported only if there is no earlier mistake."""

from __future__ import annotations

from planner.language.syntax.lexer import Token

# The text to which a message refers: `token`, the unexpected token; `next`, the token after it; `name`, the name before
# it; `name_to_token`, from the name to the token; `top`, the token before it; `opening`, the open bracket; `closing`,
# the bracket that closes it; `call`, a function's name and parenthesis; `text`, the beginning of a template.


class Mistake:
    """An entry of the table: how a mistake is recognized, and its message."""

    __slots__ = ("code", "detail", "echo", "example", "place", "subject", "summary", "tokens")

    def __init__(
        self,
        place: str,
        tokens: str,
        code: str,
        summary: str,
        detail: str,
        example: str,
        subject: str = "token",
        echo: bool = True,
    ) -> None:
        self.place = place
        self.tokens = tokens.split()
        self.code = f"syntax.{code}"
        self.summary = summary
        self.detail = detail
        self.example = example
        self.subject = subject
        self.echo = echo


_CLOSE = "Perhaps another bracket or brace above was not closed."

MISTAKES = (
    # ------------------------------------------------ bodies
    Mistake(
        "body",
        "*",
        "expected_item",
        "Expected an argument or block",
        "A line in a body must begin with the name of an argument or the type of a block, not with {token}.",
        "a = 1\n«)»\n",
    ),
    Mistake(
        "body",
        "QUOTE_OPEN",
        "quoted_name",
        "Quoted argument name",
        "Names of arguments and types of blocks are written without quotes.",
        'b {\n  «"»c" = 1\n}\n',
    ),
    Mistake(
        "body",
        "$END",
        "unclosed_block",
        "Unclosed configuration block",
        "There is no closing brace for this block before the end of the file. This may be caused by incorrect brace "
        "nesting elsewhere in this file.",
        "b «{»\n  c {\n  }\n",
        "opening",
    ),
    Mistake(
        "name",
        "*",
        "expected_equal",
        "Expected an argument or block",
        "Expected an argument (an equals sign and a value) or a block (labels and braces) after this name.",
        "«a»\n",
        "name",
        echo=False,
    ),
    Mistake(
        "header",
        "*",
        "expected_brace",
        "Invalid block definition",
        'Either a quoted string block label or an opening brace ("{") is expected here.',
        'b "x" «1» {\n}\n',
        echo=False,
    ),
    Mistake(
        "header",
        "EQUAL",
        "block_equal",
        "Invalid block definition",
        'The equals sign "=" indicates an argument definition, and must not be used when defining a block.',
        'b "x" «=» {\n}\n',
        echo=False,
    ),
    Mistake(
        "header",
        "NEWLINE",
        "brace_on_next_line",
        "Invalid block definition",
        'A block definition must have block content delimited by "{" and "}", starting on the same line as the block '
        "header.",
        'b "x"«\n»{\n}\n',
        echo=False,
    ),
    Mistake(
        "header",
        "INTERPOLATE",
        "label_template",
        "Template in a label",
        "Labels are constant strings. For a literal dollar or percent sign before a brace, double it.",
        'b "x«${»y}" {\n}\n',
        echo=False,
    ),
    Mistake(
        "line_block",
        "*",
        "expected_item",
        "Expected an argument",
        "A block on one line contains one argument, which begins with its name, not with {token}.",
        "b { «1» }\n",
        echo=False,
    ),
    Mistake(
        "line_name",
        "*",
        "expected_equal",
        "Expected an equals sign",
        "A block on one line contains one argument: its name, an equals sign and a value.",
        "b { «a» }\n",
        "name",
        echo=False,
    ),
    Mistake(
        "line_name",
        "NAME QUOTE_OPEN LBODY",
        "nested_line_block",
        "Block inside a block on one line",
        "A block on one line can contain only one argument. Write the inner block on separate lines.",
        "b { «c {» d = 1 } }\n",
        "name_to_token",
        echo=False,
    ),
    Mistake(
        "line_end",
        "*",
        "expected_closing_brace",
        "Expected the closing brace",
        "In a block on one line, the closing brace must follow the argument, not {token}.",
        "b { a = 1 «c» = 2 }\n",
    ),
    Mistake(
        "line_end",
        "COMMA",
        "line_block_comma",
        "Comma between arguments",
        "A block on one line can contain only one argument. Write each argument of a longer block on a line of its "
        "own, "
        "without commas.",
        "b { a = 1«,» c = 2 }\n",
        echo=False,
    ),
    Mistake(
        "line_end",
        "NEWLINE",
        "line_block_newline",
        "Invalid single-line block",
        "The argument is on the line of the opening brace, so the closing brace must be on that line, too.",
        "b { a = 1«\n»}\n",
        echo=False,
    ),
    Mistake(
        "line_end",
        "$END",
        "unclosed_block",
        "Unclosed configuration block",
        "There is no closing brace for this block before the end of the file. This may be caused by incorrect brace "
        "nesting elsewhere in this file.",
        "b «{» a = [1]",
        "opening",
    ),
    Mistake(
        "block_end",
        "*",
        "expected_newline",
        "Expected a new line",
        "Expected a new line after the closing brace of the block, not {token}.",
        "b {\n} «c» = 1\n",
    ),
    Mistake(
        "argument_end",
        "*",
        "expected_newline",
        "Expected a new line",
        "Expected a new line after this value, not {token}.",
        "a = 1 «b» = 2\n",
    ),
    Mistake(
        "argument_end",
        "COMMA",
        "argument_comma",
        "Comma after an argument",
        "Arguments are separated by new lines, not by commas.",
        "a = 1«,»\nb = 2\n",
    ),
    # ------------------------------------------------ expressions
    Mistake(
        "expression",
        "*",
        "expected_expression",
        "Expected an expression",
        "An expression must begin here, and {token} cannot begin one.",
        "a = [1, «*»]\n",
    ),
    Mistake(
        "expression",
        "NEWLINE",
        "expected_expression",
        "Expected an expression",
        "Expected a value before the end of the line. To continue on the next line, put the expression in parentheses.",
        "a = 1 +«\n»2\n",
    ),
    Mistake(
        "expression",
        "$END",
        "expected_expression",
        "Expected an expression",
        "Unexpected end of input: expected a value.",
        "a = «»",
    ),
    Mistake(
        "expression",
        "EQUAL",
        "expected_expression",
        "Expected an expression",
        "Expected a value. To compare two values write two equals signs.",
        "a = «=» 1\n",
    ),
    Mistake(
        "expression_end",
        "*",
        "extra_characters",
        "Expected the end of the expression",
        "The expression is complete before {token}.",
        "1 + 1 «2»",
    ),
    Mistake(
        "conditional",
        "*",
        "expected_colon",
        "Missing second result of a condition",
        "Expected two results separated by a colon after the question mark, not {token}.",
        "a = true ? 1«\n»",
        echo=False,
    ),
    Mistake(
        "parens_end",
        "*",
        "expected_parenthesis",
        "Expected a closing parenthesis",
        "The expression in parentheses is complete. Expected its closing parenthesis, not {token}.",
        "a = (1 «2»)\n",
        echo=False,
    ),
    Mistake(
        "arguments_end",
        "*",
        "expected_comma",
        "Expected a comma",
        'Expected a comma or ")" after this argument, not {token}.',
        "a = max(1 «2»)\n",
        echo=False,
    ),
    Mistake(
        "arguments_end",
        "$END",
        "unclosed_call",
        "Function call not closed",
        f"The text ends before the closing parenthesis of this call. {_CLOSE}",
        "a = «max(»1, 2\n",
        "call",
        echo=False,
    ),
    Mistake(
        "expand_end",
        "*",
        "expected_parenthesis",
        "Expected a closing parenthesis",
        "The ellipsis expands the last argument, so the closing parenthesis must follow it.",
        "a = max([1]«...», 2)\n",
        "top",
    ),
    Mistake(
        "items_end",
        "*",
        "expected_comma",
        "Expected a comma",
        'Expected a comma or "]" after this item, not {token}.',
        "a = [1 «2»]\n",
    ),
    Mistake(
        "items_end",
        "$END",
        "unclosed_list",
        "List not closed",
        f"The text ends before the closing bracket of this list. {_CLOSE}",
        "a = «[»1, 2\n",
        "opening",
    ),
    Mistake(
        "pair_equal",
        "*",
        "expected_equal",
        "Expected an equals sign",
        "Expected an equals sign or a colon after the key of an attribute, not {token}.",
        "a = { b «1» }\n",
    ),
    Mistake(
        "pair_equal",
        "NEWLINE COMMA",
        "expected_value",
        "Attribute without a value",
        "Expected an equals sign and a value after the key of an attribute.",
        "a = { b«,» c = 1 }\n",
    ),
    Mistake(
        "pair_equal",
        "NAME",
        "expected_equal",
        "Expected an equals sign",
        "Expected an equals sign after the key of an attribute. A key with spaces or dots needs quotes.",
        "a = { b «c» = 1 }\n",
    ),
    Mistake(
        "pair_equal pairs_end",
        "$END",
        "unclosed_object",
        "Object not closed",
        f"The text ends before the closing brace of this object. {_CLOSE}",
        "a = «{» b = 1",
        "opening",
    ),
    Mistake(
        "pairs_end",
        "*",
        "expected_comma",
        "Expected a comma or a new line",
        "Expected a comma or a new line after this attribute, not {token}.",
        "a = { b = 1 «c» = 2 }\n",
    ),
    Mistake(
        "index_end",
        "*",
        "expected_bracket",
        "Expected a closing bracket",
        'Expected "]" after the index, not {token}.',
        "a = b[0, 1«]»\n",
        "closing",
    ),
    Mistake(
        "splat_end",
        "*",
        "expected_bracket",
        "Expected a closing bracket",
        'Expected "]" directly after the star of a splat, not {token}.',
        "a = b[**«]»\n",
        "closing",
    ),
    Mistake(
        "step",
        "*",
        "expected_attribute",
        "Expected an attribute name",
        "Expected the name of an attribute after the dot, not {token}.",
        "a = b.«[»0]\n",
        echo=False,
    ),
    Mistake(
        "scope",
        "*",
        "expected_function",
        "Expected a function name",
        "Expected the name of a function after the two colons, not {token}.",
        "a = provider::«1»(2)\n",
        echo=False,
    ),
    Mistake(
        "scope_call",
        "*",
        "expected_call",
        "Expected a function call",
        "A name with two colons belongs to a function. Expected an opening parenthesis after it, not {token}.",
        "a = provider::x::f«\n»",
        echo=False,
    ),
    # ------------------------------------------------ for expressions
    Mistake(
        "for_name",
        "*",
        "expected_for_name",
        "Expected a name",
        "Expected a name for each element after `for`, not {token}.",
        "a = { for «=» 1 }\n",
    ),
    Mistake(
        "for_second",
        "*",
        "expected_for_name",
        "Expected a name",
        "Expected a name for each element's value after the comma, not {token}.",
        "a = [for k, «1» in b : k]\n",
    ),
    Mistake(
        "for_in",
        "*",
        "expected_in",
        "Expected `in`",
        "Expected `in` and the collection after the names of a `for`, not {token}.",
        "a = [for x «of» y : x]\n",
    ),
    Mistake(
        "for_colon",
        "*",
        "expected_colon",
        "Expected a colon",
        "Expected a colon between the collection of a for expression and its result, not {token}.",
        "a = [for x in y «,» x]\n",
    ),
    Mistake(
        "for_end",
        "*",
        "expected_for_end",
        "Expected the end of the for expression",
        "The for expression is complete before {token}. A condition begins with `if`.",
        "a = [for x in y : x«,» 1]\n",
    ),
    # ------------------------------------------------ templates
    Mistake(
        "text",
        "*",
        "unclosed_string",
        "String not closed",
        "The text ends before the closing quote or marker of this string.",
        'a = "b«»',
    ),
    Mistake(
        "text",
        "DIRECTIVE_UNKNOWN",
        "unknown_directive",
        "Unknown template directive",
        "Expected `if`, `else`, `endif`, `for` or `endfor` after `%{`. For a literal `%{`, write `%%{`.",
        'a = "%{ «while» true }"\n',
        "next",
    ),
    Mistake(
        "interpolation_end",
        "*",
        "expected_template_brace",
        "Expected the end of the interpolation",
        "The expression in `${...}` is complete before {token}. For a literal dollar sign write `$${`.",
        'a = "${1 «2»}"\n',
    ),
    Mistake(
        "interpolation_end",
        "COLON",
        "expected_template_brace",
        "Expected the end of the interpolation",
        "A colon is not allowed here. If this is code of another language, such as a shell variable, write `$${`.",
        'a = "${b«:»-c}"\n',
    ),
    Mistake(
        "interpolation_end",
        "$END QUOTE_OPEN QUOTED_NEWLINE",
        "unclosed_interpolation",
        "Interpolation not closed",
        "A sequence that begins with `${` in this template has no closing brace.",
        'a = "«b»${c "\n',
        "text",
    ),
    Mistake(
        "directive_end",
        "*",
        "expected_template_brace",
        "Expected the end of the directive",
        "Expected the closing brace of the directive, not {token}.",
        'a = "%{ if b }c%{ else «if» d }e%{ endif }"\n',
    ),
    # ------------------------------------------------ anywhere
    Mistake(
        "anywhere",
        "QUOTED_NEWLINE",
        "quoted_newline",
        "Line break in a string",
        "A quoted string must end on the line where it begins. Write \\n for a line break in it, or use a heredoc "
        "(<<EOT) for many lines.",
        'a = "b«\n»',
    ),
)

_INVALID = {
    "*": "The brackets and star of a splat must be on one line.",
    "'": "Strings use double quotes, not single quotes.",
    "`": "Backquotes have no meaning. For a text of several lines use a heredoc (<<EOT).",
    ";": "Semicolons have no meaning. Separate arguments by new lines, and the items of a list by commas.",
    "&": "There are no operators on bits. Did you mean the logical and, &&?",
    "|": "There are no operators on bits. Did you mean the logical or, ||?",
    "~": "There are no operators on bits. Did you mean the logical not, !?",
    "^": "There are no operators on bits.",
    "\u201c": "Curly quotes have no meaning. Write straight double quotes.",
    "\u201d": "Curly quotes have no meaning. Write straight double quotes.",
    "\\": "A backslash is allowed only in a string, before another character of its line.",
    "\r": "A carriage return must be followed by a line feed.",
}

_LITERAL = {
    "short_escape": ("escape", "Incomplete escape", "Four hexadecimal digits follow \\u, eight follow \\U."),
    "no_character": ("escape", "Escape is not a character", "{text} is not a character that a string can contain."),
    "unknown_escape": (
        "escape",
        "Unknown escape",
        'The sequence {text} has no meaning. The escapes are \\n, \\r, \\t, \\", \\\\, \\u and \\U; '
        "for a backslash write two.",
    ),
    "number": (
        "number",
        "Not a number",
        "{text} is not a valid number: it may have at most one dot and one exponent.",
    ),
    "stray_directive": ("directive", "Unexpected {text}", "There is no open directive to which this one could belong."),
    "wrong_directive": (
        "directive",
        "Unexpected {text}",
        "This does not match the open directive: `else` and `endif` belong to `if`, `endfor` to `for`.",
    ),
    "open_directive": (
        "directive",
        "Directive not closed",
        "The template ends before the end of its {text} directive.",
    ),
}

_TABLE = {(place, kind): m for m in MISTAKES for place in m.place.split() for kind in m.tokens}


def find(place: str, kind: str) -> Mistake:
    mistake = _TABLE.get((place, kind))
    if mistake is None:
        mistake = _TABLE.get(("anywhere", kind)) or _TABLE[place, "*"]
    return mistake


def invalid(text: str) -> tuple[str, str, str]:
    """Code, summary and detail for a character that the language does not use."""
    char = text[:1]
    if "\ud800" <= char <= "\udfff":
        return "syntax.encoding", "Not UTF-8", "The file is not valid UTF-8 here. Save it in UTF-8."
    detail = _INVALID.get(char) or f"The character {_show(char)} has no meaning in the language."
    return "syntax.invalid_character", "Invalid character", detail


def in_literal(what: str, text: str) -> tuple[str, str, str]:
    """Code, summary and detail for a mistake in a literal or template."""
    code, summary, detail = _LITERAL[what]
    if text.startswith("DIRECTIVE_"):
        text = text.removeprefix("DIRECTIVE_").lower()
    text = _show(text) if code != "directive" else text
    return f"syntax.{code}", summary.replace("{text}", text), detail.replace("{text}", text)


def describe(token: Token) -> str:
    kind, text, _ = token
    if kind == "$END" or (kind == "NEWLINE" and not text):
        return "the end"
    if kind in ("NEWLINE", "QUOTED_NEWLINE"):
        return "the end of the line"
    if kind == "QUOTE_OPEN":
        return "a quoted string"
    if kind == "HEREDOC_OPEN":
        return "a heredoc"
    return _show(text)


def _show(text: str) -> str:
    text = text if len(text) <= 40 else text[:37] + "..."
    return f'"{text}"' if text.isprintable() else ascii(text)
