"""Makes the relations that policies read and derive available to `query` and `why`, together with the relations of
graphs.

A query names a policy relation as policies do (`planned(A, P, V)`), or with the prefix `policy.` (`policy.deny(C, A,
M)`). The prefix is needed if the user's graph rules have a relation of the same name. Rows that depend on unknown
values are not shown. Sensitive values are hidden."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.answers.policy.program import Policies
from planner.answers.policy.standing_policies import NAME_POLICIES
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors, warning
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Source, Span
from planner.language.syntax.rule_parse import parse_query
from planner.language.syntax.rule_syntax import Constant
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language.link import expanded_body, linked_body
from planner.logic.datalog.language.model import Predicate, atoms
from planner.logic.datalog.language.spaces import nearest
from planner.logic.datalog.language.values import Row, decode, encode
from planner.operations.judge_documents import policies_of
from planner.operations.options import OperationOptions
from planner.operations.plan import MadePlan
from planner.operations.plan_files import Unstored, open_or_make_plan

SPACE = "policy."
"""the prefix of names of policy relations"""


@frozen(eq=False)
class Mentioned:
    """The policy relations that a query names. `own`: {name in the query: predicate} of the relations that only
    policies have. `shared`: the same for relations that graphs have, too, such as `action`."""

    policies: Policies
    own: dict[str, Predicate]
    shared: dict[str, Predicate]

    def rows(self, made: MadePlan[Unstored]) -> dict[str, list[Row]]:
        """{name in the query: rows} of the relations that only policies have. `made`: the plan that policies read."""
        return self._rows(made, self.own)

    def shared_rows(self, made: MadePlan[Unstored]) -> dict[str, list[Row]]:
        """{name in the query: rows} of the relations that graphs have, too, and whose rows come from the plan."""
        return self._rows(made, {name: p for name, p in self.shared.items() if p.is_input})

    @property
    def warnings(self) -> list[Diagnostic]:
        """A warning if the query names findings of policies, but there are no policies. (Otherwise, an empty answer
        could be mistaken for a passed check.)"""
        asked = sorted(name for name, predicate in self.own.items() if predicate.is_open)
        if not asked or self.policies.files:
            return []
        detail = f"No policies are named, so {' and '.join(asked)} have no rows. {NAME_POLICIES}"
        return [warning("query.no_policies", "No policies", detail)]

    def _rows(self, made: MadePlan[Unstored], wanted: dict[str, Predicate]) -> dict[str, list[Row]]:
        from planner.answers.policy.cases import needs, visible_rows
        from planner.operations.policies import facts_of

        names = {predicate.name for predicate in wanted.values()}
        result = visible_rows(self.policies, names, facts_of(made, needs(self.policies, names)))
        return {name: result[predicate.name] for name, predicate in wanted.items()}


def needs_plan(options: OperationOptions, program: RuleProgram, text: str) -> bool:
    """Whether the query `text` needs a plan. This is so if it names relations that are not in `program`, and if there
    are policies in Python, which may define these relations."""
    return options.more_policies is not None and not _names(text) <= program.predicates.keys()


def mentioned(
    options: OperationOptions, program: RuleProgram, text: str, made: MadePlan[Unstored] | None = None
) -> Mentioned | None:
    """The policy relations that the query `text` names and that are not in `program`; None if there are none, or if the
    query cannot be parsed. Raises Failure if a policy is invalid."""
    names = _names(text)
    if names <= program.predicates.keys():
        return None
    policies, problems = policies_of(options, made.plan.policy if made is not None else None, made=made)
    if policies is None:
        raise Failure(problems)
    known = policies.program.predicates
    unknown = [
        n
        for n in names - program.predicates.keys()
        if n.removeprefix(SPACE) not in known and (n.startswith(SPACE) or _in_packs(n, known))
    ]
    if unknown:
        raise Failure([_unknown(text, name, known) for name in sorted(unknown)])
    own = {n: known[n.removeprefix(SPACE)] for n in names - program.predicates.keys() if n.removeprefix(SPACE) in known}
    shared = {name: known[name] for name in names & program.predicates.keys() & known.keys()}
    return Mentioned(policies, own, shared) if own else None


def why_relation(
    options: OperationOptions, program: RuleProgram, text: str, plan_file: str | None, negated: bool
) -> tuple[dict[str, Any] | None, list[Diagnostic]] | None:
    """The proof of a fact of a policy relation for a plan or, if `negated`, the reason why it does not hold; and
    diagnostics. None if the fact is not of a policy relation. Raises Failure."""
    from planner.answers.policy.cases import Relation, needs
    from planner.logic.datalog.explain.why_not import obstacles_text
    from planner.logic.graph.why import only_fact, read_query
    from planner.operations.policies import facts_of

    if not needs_plan(options, program, text) and mentioned(options, program, text) is None:
        return None
    answer = open_or_make_plan(options, plan_file)
    if answer.complete is None:
        return None, list(answer.diagnostics)
    made = answer.complete
    result = mentioned(options, program, text, made)
    if result is None:
        return None
    query, problems = read_query(program.beside(result.own), text)
    atom = only_fact(query)
    name = result.own[atom.predicate].name
    row = tuple(encode(term.value) for term in atom.arguments if isinstance(term, Constant))
    relation = Relation(result.policies, name, facts_of(made, needs(result.policies, {name})))
    proof = relation.proof(row)
    if proof is not None and negated:
        return None, [*problems, error("why.holds", "The fact holds", f"{atom} holds. Omit -not to see why.")]
    if proof is not None:
        return proof, problems
    if relation.is_unsure(row):
        detail = f"{atom} holds as far as is known, but values that are known only after apply could change that."
        return None, [*problems, error("why.unsure", "Not certain to hold", detail)]
    obstacles = relation.obstacles(row)
    goal = [name, *map(decode, row)]
    if negated:
        return {"format_version": "1.0", "goal": goal, "holds": False, "rules": obstacles}, problems
    detail = f"{atom} does not hold.\n{obstacles_text(obstacles, goal)}"
    return None, [*problems, error("why.fails", "It does not hold", detail)]


def _in_packs(name: str, known: Mapping[str, Predicate]) -> list[str]:
    """The names `pack.name` of the relations in packs that end with this name, sorted."""
    return sorted(whole for whole in known if whole.endswith(f".{name}"))


def _unknown(text: str, name: str, known: Mapping[str, Predicate]) -> Diagnostic:
    """The error for an unknown policy relation. It suggests the most similar relation, with its columns."""
    source = Source("<query>", text)
    start = text.index(name)
    whole = _in_packs(name.removeprefix(SPACE), known)
    hint = f" Did you mean {whole[0]}?" if whole else nearest(name.removeprefix(SPACE), known)
    meant = next((p for other, p in known.items() if hint and f" {other}" in hint), None)
    detail = f"Policies have no relation {name.removeprefix(SPACE)}.{hint}"
    detail += f" It is {meant.declaration}." if meant is not None and meant.declaration not in hint else ""
    return error("rules.unknown_predicate", "Unknown predicate", detail, Span(source, start, start + len(name)))


def _names(text: str) -> set[str]:
    """The names of the relations in a query; empty if the query cannot be parsed."""
    literals, source, problems = parse_query(text)
    if has_errors(problems):
        return set()
    bodies, _ = expanded_body(tuple(literals), source)
    return {atom.predicate for body in bodies for atom, _ in atoms(linked_body(None, body))}
