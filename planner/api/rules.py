"""The rule engine for your own facts: Datalog without infrastructure.

from planner import rules

program = rules.compile('''
/// parent(parent, child): `child` is a child of `parent`. Example: parent("ann", "bob")
.decl parent(parent: symbol, child: symbol)
.input parent
/// ancestor(older, younger): `older` is an ancestor of `younger`. Example: ancestor("ann", "cid")
.decl ancestor(older: symbol, younger: symbol)
ancestor(X, Y) :- parent(X, Y).
ancestor(X, Z) :- parent(X, Y), ancestor(Y, Z).
''')
answers = program.evaluate({"parent": [("ann", "bob"), ("bob", "cid")]})
answers["ancestor"]                          # sorted rows
answers.query('ancestor("ann", Who)')        # a table
answers.prove("ancestor", "ann", "cid").text"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from planner.api.arguments import expect
from planner.api.model import Proof, Rows
from planner.api.session import session
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.logic.datalog.engine.cache import load_program
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.datalog.language.values import decode, encode

if TYPE_CHECKING:
    from planner.logic.datalog.engine.evaluate import Database
    from planner.logic.datalog.engine.program import RuleProgram

Row = tuple[Any, ...]
"""a row; its values are str, int, Decimal or bool"""


class Program:
    """A checked and compiled set of rules. `diagnostics` contains only warnings."""

    def __init__(self, program: RuleProgram, diagnostics: Iterable[Diagnostic]) -> None:
        self._program = program
        self.diagnostics = tuple(diagnostics)

    @property
    def predicates(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the columns of each relation, by the name of the relation."""
        return {name: tuple(c.name for c in one.columns) for name, one in sorted(self._program.predicates.items())}

    def __reduce__(self) -> tuple[Any, ...]:
        return compile, tuple(text for _, text in self._program.files)

    def evaluate(self, facts: Mapping[str, Iterable[Row]]) -> Derived:
        """Evaluate the rules with these facts. Returns the facts and all rows that the rules derive. Raises Failure for
        facts of an undeclared relation, for facts that do not match their declaration, and if the rules compute values
        that grow without limit."""
        expect("facts", facts, Mapping, "a dictionary of rows by relation")
        with session("/"):
            builder = FactBuilder()
            for name, rows in facts.items():
                expect(f"facts[{name!r}]", rows, Iterable, "a list of rows")
                if name not in self._program.predicates:
                    raise Failure(error("rules.facts", "Unknown relation", f"The program does not declare {name}."))
                for row in rows:
                    expect(f"a row of {name}", row, (tuple, list), "a tuple")
                    try:
                        builder.add(name, *row)
                    except (ValueError, TypeError) as problem:
                        raise _unsuitable(name, problem) from None
            try:
                return Derived(self, evaluate(self._program, builder.build()))
            except (ValueError, TypeError) as problem:
                raise Failure(error("rules.facts", "Facts do not match their declaration", f"{problem}.")) from None


def _unsuitable(predicate: str, problem: Exception) -> Failure:
    return Failure(error("rules.facts", "Unsuitable value in a row", f"{predicate}: {problem}."))


class Derived(Mapping[str, tuple[Row, ...]]):
    """The relations that a program derives from facts: {relation: sorted rows}."""

    def __init__(self, program: Program, database: Database) -> None:
        self._compiled, self._program, self._database = program, program._program, database

    def __reduce__(self) -> tuple[Any, ...]:
        facts = self._database.facts
        given = {name: [tuple(map(decode, row)) for row in facts.sorted(name)] for name in facts.predicates}
        return Program.evaluate, (self._compiled, given)

    def __getitem__(self, predicate: str) -> tuple[Row, ...]:
        return tuple(tuple(map(decode, row)) for row in self._database.sorted(predicate))

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._program.predicates))

    def __len__(self) -> int:
        return len(self._program.predicates)

    def query(self, text: str) -> Rows:
        """The answer to a query, such as `ancestor("ann", Who), not parent("ann", Who)`. Raises Failure."""
        from planner.logic.datalog.ask.question import ask, parse_query

        expect("text", text, str, "a query")
        with session("/"):
            query, problems = parse_query(self._program, text)
            if query is None or has_errors(problems):
                raise Failure(problems)
            result = ask(self._program, self._database, query)
            return Rows(result.columns, tuple(tuple(map(decode, row)) for row in result.rows))

    def prove(self, predicate: str, *columns: Any) -> Proof:
        """The proof of a row. Raises Failure if the row is not derived (the message contains the first unmet condition
        of each rule), and if the row does not match the declaration."""
        from planner.logic.datalog.explain.proof import proof_json
        from planner.logic.datalog.explain.search import Prover
        from planner.logic.datalog.explain.why_not import why_not
        from planner.render.proof import proof_text
        from planner.render.terminal import Paint

        with session("/"):
            expect("predicate", predicate, str, "the name of a relation")
            if predicate not in self._program.predicates:
                raise Failure(error("rules.facts", "Unknown relation", f"The program does not declare {predicate}."))
            declared = len(self._program.predicates[predicate].columns)
            if len(columns) != declared:
                raise _unsuitable(
                    predicate, ValueError(f"the number of values is {len(columns)}, but must be {declared}")
                )
            try:
                row = tuple(map(encode, columns))
            except (ValueError, TypeError) as problem:
                raise _unsuitable(predicate, problem) from None
            prover = Prover(self._program, self._database)
            proof = prover.why(predicate, row)
            if proof is None:
                obstacles = why_not(prover, predicate, row) or []
                lines = [f"[{one.rule.name}] would need {one.text}" for one in obstacles]
                detail = "\n".join([f"{predicate}{columns!r} is not derived.", *lines])
                raise Failure(error("why.fails", "The fact is not derived", detail))
            document = proof_json(proof, self._database.facts, lambda source: {"source": str(source)})
            return Proof(document, proof_text(document, Paint(False)))


def compile(*texts: str) -> Program:
    """Compile the contents of rule files, in the language of rules/README.md, to one program. Raises Failure with all
    errors, each with its line."""
    for text in texts:
        expect("", text, str, "the text of rules")
    with session("/"):
        files = [(f"rules{number or ''}.dl", text) for number, text in enumerate(texts)]
        program, problems = load_program(files)
        if program is None:
            raise Failure(problems)
        return Program(program, problems)
