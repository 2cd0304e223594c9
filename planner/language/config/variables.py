"""Collects values of the root module's input variables, and converts them to the declared types. Later sources take
precedence: the environment (TF_VAR_name), terraform.tfvars, terraform.tfvars.json, *.auto.tfvars and *.auto.tfvars.json
in lexical order, then -var and -var-file in the order of the command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal
from unicodedata import normalize

from planner.foundation.support.disk import list_directory, read_given, read_whole
from planner.foundation.support.exact_json import dumps
from planner.foundation.values.convert import ConversionError
from planner.foundation.values.json_codec import simple_json
from planner.foundation.values.value import EPHEMERAL, Unknown, Value, is_null, is_wholly_known, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.directory import is_secret_directory
from planner.language.config.model import VariableDecl
from planner.language.config.reading import ExpressionPiece, Problems, constant, piece
from planner.language.config.static import Given, with_declared_marks
from planner.language.syntax.body import Body, BodySchema, ExpectedBlock
from planner.language.syntax.files import load_text

Origin = Literal["environment", "automatic file", "named file", "command line", "input", "default", "plan"]

_PREFIX = "TF_VAR_"
_DECLARATIONS = BodySchema({}, (ExpectedBlock("variable", ("name",)),))


@frozen(eq=False)
class RawValue:
    """A supplied value: an expression in a file, or a string whose meaning depends on the variable's type."""

    name: str
    origin: Origin
    text: str | None = None
    expr: ExpressionPiece | None = None
    given: Value | None = None  # a value from another program, instead of a string; may be unknown
    overridden: RawValue | None = None  # the value that this one overrides

    @property
    def is_computed(self) -> bool:
        """Whether another program supplied the value in place of an environment variable. The apply of a saved plan
        accepts a different value for such a variable."""
        return self.origin == "environment" and self.given is not None

    @property
    def span(self) -> Span | None:
        return self.expr.span if self.expr else None

    @property
    def source(self) -> str:
        """The origin of the value, for messages: an option, an environment variable, a line of a file, an answer to a
        prompt, or the plan."""
        words = {
            "environment": f"the environment variable {_PREFIX}{self.name}",
            "automatic file": f"{self.span}",
            "named file": f"-var-file, {self.span}",
            "command line": f"-var={self.name}=...",
            "input": "an answer",
            "plan": "the plan",
        }
        return words.get(self.origin, self.origin)

    def value(self, verbatim: bool, problems: Problems) -> Value | None:
        """The value before conversion to the variable's type; None if its expression cannot be evaluated (reported).
        `verbatim`: whether `text` is a literal string rather than an expression."""
        if self.given is not None:
            return _from_environment_text(self.given, verbatim) if self.origin == "environment" else self.given
        if self.expr is not None:
            return constant(self.expr, problems)
        text = self.text or ""
        if verbatim:
            return normalize("NFC", text)
        return _parse_value(Source(f"<value for var.{self.name}>", text), problems)


RawVariables = dict[str, RawValue]


@frozen(eq=False)
class RootVariable:
    """The value of a root variable: converted, with defaults and marks. `raw`: the supplied value before conversion;
    None if there is none. A saved plan records `raw`, and the apply of the plan compares it with the value that is
    supplied to the apply. `giver`: a description of the value's origin."""

    value: Value
    raw: Value | None
    origin: Origin
    span: Span | None
    giver: str = ""


# ---------------------------------------------------------------- collecting


def collect_variables(
    directory: str,
    arguments: Sequence[tuple[str, str]] = (),
    environment: Mapping[str, str] | None = None,
) -> tuple[RawVariables, list[Diagnostic]]:
    """The supplied values of root variables, and diagnostics. `arguments` are ("var", "name=value") and ("var-file",
    path), in the order of the command line. `directory`: the directory that contains the files. `environment`: by
    default the environment of the process."""
    problems = Problems()
    variables: RawVariables = {}
    keeps: list[bool] = []

    def add_file(filename: str, origin: Origin) -> None:
        if not keeps:
            keeps.append(not is_secret_directory(directory or "."))
        _add_file(directory, filename, origin, variables, problems, keeps[0])

    for key, text in sorted((os.environ if environment is None else environment).items()):
        if key.startswith(_PREFIX):
            name = key.removeprefix(_PREFIX)
            variables[name] = RawValue(name, "environment", text)
    for filename in _automatic_files(directory):
        add_file(filename, "automatic file")
    for kind, argument in arguments:
        if kind == "var":
            _add_argument(argument, variables, problems)
        else:
            add_file(argument, "named file")
    return variables, problems


def add_automatic_files(directory: str, folder: str, given: RawVariables) -> tuple[RawVariables, list[Diagnostic]]:
    """Add values from the automatically loaded files (such as terraform.tfvars) in `folder`, which is relative to
    `directory`, to the values in `given`. Values from the files take precedence. Returns all values, and
    diagnostics."""
    problems = Problems()
    given = dict(given)
    for filename in _automatic_files(os.path.join(directory, folder)):
        keep = not is_secret_directory(directory or ".")
        _add_file(directory, os.path.join(folder, filename), "automatic file", given, problems, keep)
    return given, problems


def _automatic_files(directory: str) -> Iterable[str]:
    try:
        names = {entry.name for entry in list_directory(directory or ".")}
    except OSError:
        return
    for name in ("terraform.tfvars", "terraform.tfvars.json"):
        if name in names:
            yield name
    yield from sorted(n for n in names if n.endswith((".auto.tfvars", ".auto.tfvars.json")))


def _add_argument(argument: str, given: RawVariables, problems: Problems) -> None:
    name, equals, text = argument.partition("=")
    if not equals:
        detail = f'-var {argument!r} has no equals sign; write -var="name=value".'
        problems.error("invalid_var_option", "Invalid -var option", detail)
    elif name.endswith(" "):
        detail = f'The name {name!r} ends with a space; write -var="{name.strip()}={text.strip()}".'
        problems.error("invalid_var_option", "Invalid -var option", detail)
    else:
        given[name] = RawValue(name, "command line", text, overridden=given.get(name))


def _add_file(
    directory: str, filename: str, origin: Origin, given: RawVariables, problems: Problems, keep: bool
) -> None:
    try:
        data = (read_given if origin == "named file" else read_whole)(os.path.join(directory, filename))
    except FileNotFoundError:
        detail = f"The file {filename} does not exist."
        problems.error("unreadable_variables", "Failed to read variables file", detail)
        return
    except (OSError, ValueError) as bad:
        detail = f"The file {filename} cannot be read: {getattr(bad, 'strerror', None) or bad}."
        problems.error("unreadable_variables", "Failed to read variables file", detail)
        return
    body, mine = _values_body(data, filename, keep)
    if body is not None:
        declarations, _ = body.partial_content(_DECLARATIONS)
        for block in declarations.blocks:
            name = block.labels[0].value
            detail = f"This file only sets values: declare {name} in a .tf file, and write {name} = ... here."
            where = Span(block.source, block.start, block.type_end)
            mine.error("declaration_in_values", "Variable declaration in .tfvars file", detail, where)
    problems.extend(mine)
    if body is None or mine.has_errors:
        return
    attributes, diagnostics = body.just_attributes()
    problems.extend(diagnostics)
    for name, attribute in attributes.items():
        given[name] = RawValue(name, origin, expr=piece(attribute), overridden=given.get(name))


def _from_environment_text(value: Value, verbatim: bool) -> Value:
    """Convert a value from another program as if it had been supplied in an environment variable. For a string
    variable, other values become JSON, except null and values with unknown parts. `verbatim`: whether the
    variable is a string. Otherwise, a string is parsed as an expression in which `${` and `%{` are literal; if it is
    not valid, the string is the value."""
    if value.__class__ is str and not verbatim:
        mine = Problems()
        literal = value.replace("${", "$${").replace("%{", "%%{")
        parsed = _parse_value(Source("<value of an input>", literal), mine)
        return value if parsed is None or mine.has_errors else parsed
    if not verbatim or value.__class__ in (str, Unknown) or is_null(value) or not is_wholly_known(value):
        return value
    return dumps(simple_json(unmark_deep(value)[0]), escape_html=False).decode("utf-8")


def parsed_value(text: str, name: str) -> tuple[Value | None, list[Diagnostic]]:
    """The value of an expression without references (None if it cannot be evaluated), and the problems."""
    problems = Problems()
    return _parse_value(Source(f"<{name}>", text), problems), problems


def _parse_value(source: Source, problems: Problems) -> Value | None:
    from planner.language.syntax.parse import parse_expression

    node, diagnostics = parse_expression(source)
    problems.extend(diagnostics)
    return None if node is None else constant(ExpressionPiece(node, source), problems)


def _values_body(data: bytes, filename: str, keep: bool) -> tuple[Body | None, Problems]:
    """The body of a values file (None if it cannot be parsed), and the problems. The name determines whether the file
    is JSON; if the name ends with neither .json nor .tfvars, the first character of the content does."""
    if not filename.endswith((".json", ".tfvars")) and data.strip().startswith(b"{"):
        from planner.language.syntax.json_body import parse_json

        document, problems = parse_json(Source(filename, data.decode("utf-8", "replace")))
        return document, Problems(problems)
    body, _, diagnostics = load_text(data, filename, keep)
    return body, Problems(diagnostics)


def given_values(given: RawVariables) -> Given:
    """A function that returns the values of root variables for static evaluation: the supplied values, otherwise the
    defaults."""

    def value(variable: VariableDecl, problems: Problems) -> Value | None:
        raw = given.get(variable.name)
        if raw is not None:
            return raw.value(variable.verbatim, problems)
        if variable.default is None:
            detail = f"var.{variable.name} has no default, but must be known when modules are loaded: set its value."
            problems.error("missing_variable", "No value for required variable", detail, variable.span)
        return variable.default

    return value


# ---------------------------------------------------------------- final values


def root_variables(
    declared: Mapping[str, VariableDecl], given: RawVariables
) -> tuple[dict[str, RootVariable], list[Diagnostic]]:
    """The value of every declared root variable, and problems: wrong types, missing required values, and those of
    `undeclared_values`. In the result, missing required values and values of a wrong type are unknown."""
    problems = Problems()
    values: dict[str, RootVariable] = {}
    for name in sorted(declared):
        variable = declared[name]
        raw = given.get(name)
        mine = Problems()
        value = raw.value(variable.verbatim, mine) if raw is not None else None
        origin = f"\n\nThe value comes from {raw.source}." if raw is not None else ""
        problems.extend(evolve(d, detail=d.detail + origin) for d in mine)
        if raw is None or value is None or mine.has_errors:
            if variable.default is None:
                detail = f"The variable {name} has no default: set it with -var, -var-file or TF_VAR_{name}."
                problems.error("missing_variable", "No value for required variable", detail, variable.span)
                values[name] = RootVariable(Unknown(variable.constraint.type), None, "default", variable.span)
            else:
                values[name] = RootVariable(
                    with_declared_marks(variable.default, variable), None, "default", variable.span
                )
            continue
        final = finalize(value, variable, raw.span, problems, raw.source)
        values[name] = RootVariable(with_declared_marks(final, variable), value, raw.origin, raw.span, raw.source)
    problems.extend(undeclared_values(declared, given))
    return values, problems


def finalize(value: Value, variable: VariableDecl, span: Span | None, problems: Problems, giver: str = "") -> Value:
    """The value converted to the variable's type; unknown if it is invalid (reported). A null is replaced by the
    default if null is not allowed. `giver`: the origin of the value, for messages."""
    _, marks = unmark_deep(value)
    if EPHEMERAL in marks and not variable.ephemeral:
        detail = f"The value is ephemeral, so the variable {variable.name} must be declared with ephemeral = true."
        where = span or variable.span
        problems.error("ephemeral_variable", "Variable does not allow ephemeral value", detail, where)
        return Unknown(variable.constraint.type)
    try:
        final = variable.constraint.convert(value)
    except ConversionError as bad:
        source = f" given by {giver}" if giver else f" given at {span}" if span else ""
        detail = f"The value of var.{variable.name}{source} does not match its type: {bad.about(value)}."
        problems.error("variable_does_not_fit", "Invalid value for input variable", detail, variable.span)
        return Unknown(variable.constraint.type)
    if is_null(final) and not variable.nullable:
        if variable.default is not None:
            return variable.default
        if giver:
            problem = f"The value of var.{variable.name} (from {giver}) is null, but the variable's declaration"
        else:
            problem = f"var.{variable.name} must not be null: its declaration"
        detail = f"{problem} ({variable.span}) has nullable = false."
        problems.error("null_variable", "Required variable not set", detail, span or variable.span)
        return Unknown(variable.constraint.type)
    return final


def undeclared_values(declared: Mapping[str, VariableDecl], given: RawVariables) -> list[Diagnostic]:
    """Diagnostics for values of undeclared variables: errors for options and for inputs (from a prompt or a calling
    program), at most three warnings for files, and none for environment variables."""
    problems = Problems()
    in_files = 0
    for name in sorted(given):
        raw = given[name]
        if name in declared or raw.origin == "environment" or raw.value(True, Problems()) is None:
            continue
        if raw.origin in ("command line", "input"):
            what = "option" if raw.origin == "command line" else "value"
            hint = did_you_mean(name, declared) or f" Declare the variable, or leave the {what} out."
            detail = f"The root module declares no variable {name}.{hint}"
            problems.error("undeclared_value", "Value for undeclared variable", detail)
            continue
        in_files += 1
        if in_files <= 2:
            where = raw.span.filename if raw.span else ""
            hint = did_you_mean(name, declared) or f' To use it, add variable "{name}" {{}} to the configuration.'
            detail = f"{where} sets {name}, but the root module does not declare this variable.{hint}"
            problems.warning("undeclared_value", "Value for undeclared variable", detail)
    if in_files > 2:
        detail = f"Number of further values in files for variables that are not declared: {in_files - 2}."
        problems.warning("undeclared_values", "Values for undeclared variables", detail)
    return problems


def check_plan_variables(
    planned: Mapping[str, Value],
    declared: Mapping[str, VariableDecl],
    given: RawVariables,
) -> tuple[dict[str, RootVariable], list[Diagnostic]]:
    """The variables for applying a saved plan, and diagnostics. `planned`: the raw values in the plan. A plan has no
    values of ephemeral variables, so these must be supplied again. Values that are supplied to the apply must be equal
    to the planned ones, except computed values (`RawValue.is_computed`)."""
    problems = Problems()
    for name in sorted(set(planned) - set(declared)):
        detail = f"The plan has a value for {name}, which the configuration does not declare."
        problems.error("unknown_plan_variable", "Missing variable in configuration", detail)
    values: dict[str, RootVariable] = {}
    for name in sorted(declared):
        variable, raw = declared[name], given.get(name)
        now = raw.value(variable.verbatim, problems) if raw else None
        origin: Origin = raw.origin if raw else "default"
        if name in planned:
            if now is not None and not (raw and raw.is_computed) and not same_value(now, planned[name]):
                detail = f"The value of {name} differs from its value in the plan."
                problems.error("plan_variable_mismatch", "Mismatch between input and plan variable value", detail)
                continue
            now, origin = planned[name], "plan"
        if now is None:
            if variable.default is None:
                detail = f"The variable {name} has no default and is not in the plan: set its value."
                problems.error("missing_variable", "No value for required variable", detail, variable.span)
                continue
            values[name] = RootVariable(with_declared_marks(variable.default, variable), None, "default", variable.span)
            continue
        final = finalize(now, variable, raw.span if raw and origin != "plan" else None, problems)
        values[name] = RootVariable(with_declared_marks(final, variable), now, origin, raw.span if raw else None)
    return values, problems


def same_value(left: Value, right: Value) -> bool:
    """Whether two values and their types are equal. Marks are ignored. A value that is unknown as a whole equals
    everything, and nulls of all types are equal; these two exceptions do not apply to parts of a value."""
    left, right = unmark_deep(left)[0], unmark_deep(right)[0]
    if left.__class__ is Unknown or right.__class__ is Unknown:
        return True
    if is_null(left) or is_null(right):
        return is_null(left) and is_null(right)
    return left.__class__ is right.__class__ and bool(left == right)
