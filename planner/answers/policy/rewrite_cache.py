"""Rewritten policies in the cache of the user: rewriting a library takes much longer than reading what came of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from planner.answers.policy.three_valued import Modal, rewrite
from planner.foundation.support.store import Shelf
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.span import Source
from planner.language.syntax.rule_syntax import RuleFile, Statement
from planner.logic.datalog.engine.cache import MADE_BY, parts, pickled, spaces_parts, unpickled
from planner.logic.datalog.engine.program import RuleProgram

if TYPE_CHECKING:
    from planner.logic.datalog.language.spaces import Spaces

MODALS = Shelf("modals", 20, made_by=(*MADE_BY, "policy"))
"""each change of a policy leaves one"""


class KeptFile(RuleFile):
    """A file whose statements are read when somebody asks for them: its program is usually kept, too."""

    __slots__ = ("_load", "_statements")

    def __init__(self, source: Source, load: Callable[[], list[Statement]], is_whole: bool) -> None:
        self.source, self.is_whole = source, is_whole
        self._load = load
        self._statements: list[Statement] | None = None

    @property
    def statements(self) -> list[Statement]:  # type: ignore[override]
        if self._statements is None:
            self._statements = self._load()
        return self._statements


def rewritten(program: RuleProgram, core: frozenset[str], spaces: Spaces) -> tuple[Modal | None, list[Diagnostic]]:
    """The users' rules of a program in three values (see modal.rewrite). `core` names the product's files; `spaces`
    says which files have names of their own."""
    name = MODALS.name(*parts(program.files, core), *spaces_parts(spaces))
    known = _read(name, program)
    if known is not None:
        return known, []
    modal, problems = rewrite(program)
    if modal is not None and not problems:
        file = modal.file
        model = (file.source.filename, file.source.text, file.is_whole, modal.could, modal.doubts, modal.broken)
        MODALS.keep(name, (model, pickled(file.statements)))
    return modal, problems


def _read(name: str, program: RuleProgram) -> Modal | None:
    known: Any = MODALS.value(name)
    if known is None:
        return None
    try:
        (filename, text, is_whole, could, doubts, broken), statements = known
    except (TypeError, ValueError):  # of another shape than today's: made again
        return None
    source = Source(filename, text)

    def load() -> list[Statement]:
        sources = {file: Source(file, text) for file, text in program.files}
        found: list[Statement] = unpickled(statements, {**sources, filename: source})
        return found

    return Modal(KeptFile(source, load, is_whole), could, doubts, broken)
