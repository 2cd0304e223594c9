"""Reads the parts of a fleet's file that form the recipe of a unit: hooks, retries, limits, credentials and generated
files. Settings of the unit override its template, and settings of the template override its groups."""

from __future__ import annotations

import re

from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import define, field, frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Expr
from planner.language.config.reading import Problems, expr_of, read
from planner.language.syntax.body import Attribute, Block, BodySchema, Content, ExpectedBlock
from planner.workflows.batch.file_scope import FleetScope
from planner.workflows.batch.recipe import NOTHING, Hook, Recipe, Retry

ARGUMENTS = {"environment": False, "auth": False, "time_limit": False}
BLOCKS = (ExpectedBlock("hook", ("name",)), ExpectedBlock("retry"), ExpectedBlock("generate", ("file",)))
COMMANDS = ("plan", "apply", "destroy", "validate")
WHEN = ("before", "after", "error")
EXISTS = ("error", "overwrite", "skip")
_HOOK = BodySchema({"when": True, "run": True, "commands": False, "matches": False, "folder": False, "always": False})
_RETRY = BodySchema({"matches": True, "times": True, "pause": False})
_GENERATE = BodySchema({"content": True, "if_exists": False, "comment": False})
_TIME = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


@frozen
class GeneratedFile:
    """A file that planner writes into a unit. `comment`: the beginning of the line that marks the file as generated
    (`file_parts.MARK`), for example "# "."""

    name: str
    text: str
    if_exists: str
    comment: str
    span: Span


@define
class UnitRecipe:
    """The settings of one block, or the merged settings of several blocks."""

    hooks: dict[str, Hook] = field(factory=dict)
    retries: list[Retry] = field(factory=list)
    environment: dict[str, str] = field(factory=dict)
    auth: tuple[str, ...] | None = None
    seconds: float | None = None
    files: dict[str, GeneratedFile] = field(factory=dict)

    def under(self, other: UnitRecipe) -> UnitRecipe:
        """The settings of this recipe and of `other`; settings of `other` take precedence."""
        return UnitRecipe(
            {**self.hooks, **other.hooks},
            [*other.retries, *self.retries],
            {**self.environment, **other.environment},
            self.auth if other.auth is None else other.auth,
            self.seconds if other.seconds is None else other.seconds,
            {**self.files, **other.files},
        )

    def recipe(self, home: str) -> Recipe | None:
        """The recipe as it is sent to a worker; None if it is empty. `home`: the unit's directory."""
        recipe = Recipe(
            tuple(self.hooks.values()),
            tuple(self.retries),
            tuple(sorted(self.environment.items())),
            self.auth or (),
            self.seconds or 0.0,
        )
        if recipe == NOTHING:
            return None
        return Recipe(recipe.hooks, recipe.retries, recipe.environment, recipe.auth, recipe.seconds, home=home)


class AroundReader:
    """Reads the arguments and blocks of a recipe and evaluates them in a scope."""

    def __init__(self, scope: FleetScope, problems: Problems) -> None:
        self.scope, self.problems = scope, problems

    def read(self, content: Content) -> UnitRecipe:
        around, attributes = UnitRecipe(), content.attributes
        if "environment" in attributes:
            around.environment = self.scope.named_texts(self._expr(attributes["environment"]), self.problems)
            self._check_names(around.environment, attributes["environment"])
        if "auth" in attributes:
            around.auth = self.scope.texts(self._expr(attributes["auth"]), self.problems)
        if "time_limit" in attributes:
            around.seconds = self._time(attributes["time_limit"])
        for block in content.blocks:
            name = block.labels[0].value if block.labels else ""
            if block.type == "hook":
                if name in around.hooks:
                    self.problems.error(
                        "duplicate", "Duplicate hook", f"There is already a hook {name}.", block.header_span
                    )
                around.hooks[name] = self._hook(name, block)
            elif block.type == "retry":
                around.retries.append(self._retry(block))
            elif block.type == "generate":
                file = self._file(name, block)
                if file is not None:
                    around.files[name] = file
        return around

    def _expr(self, attribute: Attribute) -> Expr:
        return expr_of(attribute, self.problems)

    def _texts(self, content: Content, name: str) -> tuple[str, ...]:
        entry = content.attributes.get(name)
        return self.scope.texts(self._expr(entry), self.problems) if entry is not None else ()

    def _text(self, content: Content, name: str, otherwise: str = "") -> str:
        entry = content.attributes.get(name)
        return (self.scope.text(self._expr(entry), self.problems) or "") if entry is not None else otherwise

    def _check_names(self, names: dict[str, str], attribute: Attribute) -> None:
        for name, text in names.items():
            if not name or "=" in name or "\0" in name + text:
                detail = (
                    f"{name!r} cannot be an environment variable: the name must not be empty or contain an equals "
                    "sign, and neither the name nor the value may contain a null character."
                )
                self.problems.error("environment", "Invalid variable", detail, attribute.expr_span)

    def _time(self, attribute: Attribute) -> float:
        text = self.scope.text(self._expr(attribute), self.problems)
        if text is None:
            return 0.0
        parts = _TIME.findall(text)
        if not parts or "".join(number + unit for number, unit in parts) != text:
            detail = f'"{text}" is not a valid time; write it like 90s, 10m or 1h30m.'
            self.problems.error("time", "Invalid time", detail, attribute.expr_span)
            return 0.0
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
        if seconds > 10_000_000:
            self.problems.error("time", "Invalid time", f"{text} is longer than 10,000,000 s.", attribute.expr_span)
            return 0.0
        return seconds

    def _one_of(self, word: str, words: tuple[str, ...], name: str, span: Span) -> None:
        if word not in words:
            detail = f"{name} must be one of {', '.join(words)}, not {word}.{did_you_mean(word, words)}"
            self.problems.error("unknown_word", "Unknown word", detail, span)

    def _hook(self, name: str, block: Block) -> Hook:
        content = read(block.body, _HOOK, self.problems)
        when, span = self._text(content, "when"), block.header_span
        if "when" in content.attributes:
            self._one_of(when, WHEN, "when", content.attributes["when"].expr_span)
        commands = self._texts(content, "commands") or COMMANDS
        for command in commands if "commands" in content.attributes else ():
            self._one_of(command, COMMANDS, "A command", content.attributes["commands"].expr_span)
        words = self._texts(content, "run")
        if not words and not self.problems.has_errors:
            self.problems.error(
                "hook", "Hook without a program", f'The argument "run" of the hook {name} is empty.', span
            )
        always = False
        if "always" in content.attributes:
            value = self.scope.value(self._expr(content.attributes["always"]), self.problems)
            if value.__class__ is not bool and value is not None:
                where = content.attributes["always"].expr_span
                self.problems.error("bool_required", "Invalid expression", "Expected true or false.", where)
            always = value is True
        if "matches" in content.attributes and when in ("before", "after"):
            detail = 'The argument "matches" compares error messages, so only hooks that run on errors can have it.'
            self.problems.error("matches", "Nothing to match", detail, content.attributes["matches"].name_span)
        return Hook(
            name,
            when,
            commands,
            words,
            self._text(content, "folder"),
            self._patterns(content),
            always,
        )

    def _patterns(self, content: Content) -> tuple[str, ...]:
        patterns = self._texts(content, "matches")
        for pattern in patterns:
            try:
                re.compile(pattern)
            except (re.error, RecursionError, OverflowError) as problem:
                detail = f'"{pattern}" is not a regular expression: {problem}.'
                self.problems.error("pattern", "Invalid pattern", detail, content.attributes["matches"].expr_span)
        return patterns

    def _retry(self, block: Block) -> Retry:
        content = read(block.body, _RETRY, self.problems)
        times = 0
        if "times" in content.attributes:
            expr = self._expr(content.attributes["times"])
            value = self.scope.value(expr, self.problems)
            if value is not None and (value.__class__ is not int or not 1 <= value <= 100):
                self.problems.error("times", "Invalid number", "Expected a whole number from 1 to 100.", expr.span)
            times = value if value.__class__ is int else 0
        pause = self._time(content.attributes["pause"]) if "pause" in content.attributes else 0.0
        return Retry(self._patterns(content), times, pause)

    def _file(self, name: str, block: Block) -> GeneratedFile | None:
        content = read(block.body, _GENERATE, self.problems)
        exists = self._text(content, "if_exists", "error")
        span = block.header_span
        if "if_exists" in content.attributes:
            self._one_of(exists, EXISTS, "if_exists", content.attributes["if_exists"].expr_span)
        if not name or "/" in name or "\0" in name or name in (".", "..", ".terraform"):
            detail = f'Expected a file in the unit\'s directory, not "{name}".'
            self.problems.error("file_name", "Invalid file name", detail, span)
            return None
        return GeneratedFile(name, self._text(content, "content"), exists, self._text(content, "comment", "# "), span)
