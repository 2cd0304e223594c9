"""Questions about a configuration or a plan: why, what if, queries, graphs, advice.

The options may contain the plan that the questions are about (`made`). Otherwise, a question about a plan reads it from
`plan_file`, or makes it if `plan_file` is None. Returned diagnostics include errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from planner.api.base import Work
from planner.api.making import Making, chains_of
from planner.engine.walk.hooks import Hooks
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.records import evolve, frozen

if TYPE_CHECKING:
    from planner.answers.explain.causes import Because
    from planner.language.expressions.scope import Scope
    from planner.logic.graph.cycles import Knot
    from planner.logic.graph.query_answers import Answers
    from planner.logic.model.graph import Graph
    from planner.operations.advice import AdviceResult
    from planner.operations.advice import Remark as Remark
    from planner.operations.effects import ListAnswer
    from planner.operations.graph import Explored
    from planner.operations.plan import MadePlan
    from planner.operations.what_if import PlanComparison

Answer = tuple[dict[str, Any] | None, list[Diagnostic]]
"""a result: (document or None, diagnostics)"""


@frozen(eq=False)
class Effects:
    """The changes of a plan that a source causes. `because`: the causes of these changes, by the name of the change.
    `notes`: remarks about missing former values. `all`: the causes of all changes of the plan."""

    plan: MadePlan[Any]
    because: Mapping[str, Because]
    notes: tuple[str, ...]
    all: Mapping[str, Because]


class Questions(Work):
    """Methods that answer questions about a configuration or a plan."""

    def proof(
        self, words: tuple[str, ...], negated: bool = False, kind: str = "", plan_file: str | None = None
    ) -> Answer:
        """The proof of a result, as `why -json` prints it, or, if `negated`, the reason why there is no such result.
        `kind`: the kind of graph, as for `built_graph`; by default, the question determines it."""
        from planner.operations.why import why

        with self._session():
            return why(self.options, words, negated, kind, plan_file)

    def listing(self, word: str, plan_file: str | None = None) -> tuple[ListAnswer | None, list[Diagnostic]]:
        """The objects to which a word such as `moved` applies; None without a plan or graph."""
        from planner.operations.effects import listing

        with self._session():
            return listing(self.options, word, plan_file)

    def effects(self, source: str, plan_file: str | None = None) -> tuple[Effects | None, list[Diagnostic]]:
        """The changes that follow from a value, a file or a module, or the changes with an action such as `replace`;
        None if no plan can be made."""
        from planner.logic.programs.actions import verbs
        from planner.operations import effects

        with self._session():
            answer = Making(self.options, self._owns_process).plan_to_explain(plan_file)
            made, problems = answer.complete, list(answer.diagnostics)
            if made is None:
                return None, problems
            chains = chains_of(made)
            chosen = (effects.with_action if source in verbs() else effects.effects)(made, chains, source)
            return Effects(made, chosen, tuple(chains.notes), chains), problems

    def removals(self, words: tuple[str, ...], kind: str = "", plan_file: str | None = None) -> Answer:
        """The smallest sets of edits that prevent a result, as `why -fix -json` prints them."""
        from planner.operations.fixes import fixes

        with self._session():
            return fixes(self.options, words, kind, plan_file)

    def answers(self, words: tuple[str, ...], **target: Any) -> tuple[Answers, list[Diagnostic]]:
        """The answer to a query. `target`: fields of `planner.operations.query.QueryTarget`."""
        from planner.operations.query import QueryTarget, query

        with self._session():
            return query(self.options, words, QueryTarget(**target))

    def built_graph(self, kind: str, plan_file: str | None = None, as_planned: bool = True) -> Graph:
        """The graph of an operation, with its diagnostics. `kind`: plan, plan-refresh-only, plan-destroy or apply.
        `as_planned`: whether to return the graph that the operation walks; if false, the graph for drawing is
        returned."""
        from planner.operations.graph import graph

        with self._session():
            return graph(self.options, kind, plan_file, as_planned)

    def knots(self, kind: str = "", plan_file: str | None = None) -> tuple[list[Knot] | None, list[Diagnostic]]:
        """The cycles of a graph, each with the references that can be removed to break it; None on errors."""
        from planner.operations.graph import cut

        with self._session():
            return cut(self.options, kind, plan_file)

    def exploration(
        self, kinds: tuple[str, ...], plan_file: str | None = None, hooks: Hooks | None = None
    ) -> tuple[Explored | None, list[Diagnostic]]:
        """A plan with its graphs and causes, for a page; None if no plan can be made."""
        from planner.operations.graph import explore

        with self._session():
            return explore(self.options, plan_file, kinds, hooks or Hooks())

    def advice(self, plan_file: str | None = None, write: bool = False) -> AdviceResult:
        """Advice about surprising parts of a plan. `write`: whether to insert the proposed moved blocks into their
        files."""
        from planner.operations.advice import advice

        with self._session():
            return advice(self.options, plan_file, write)

    def comparison(self, base_variables: tuple[str, ...]) -> tuple[PlanComparison | None, list[Diagnostic]]:
        """Compare a plan without -var, -target, -exclude, -replace and -destroy with the plan of these options. Both
        plans use the variable values in `base_variables`, but in the plan of these options, values of -var take
        precedence. Returns None without diagnostics if the two plans would have the same options."""
        from planner.operations.what_if import base_of, what_if

        with self._session():
            base = base_of(self.options, base_variables)
            tried = evolve(self.options, var_args=(*(("var", one) for one in base_variables), *self.options.var_args))
            if tried.mode == "destroy":
                base = evolve(base, mode="normal")
            if (tried.var_args, tried.limits, tried.mode) == (base.var_args, base.limits, base.mode):
                return None, []
            return what_if(tried, base)

    def variation(self, variables: tuple[str, ...]) -> tuple[PlanComparison | None, list[Diagnostic]]:
        """Compare the plan in the options (`made`) with a plan that also has these values of variables ("NAME=VALUE").
        None if the second plan cannot be made."""
        from planner.operations.what_if import what_if

        given = (*self.options.var_args, *(("var", one) for one in variables))
        with self._session():
            return what_if(evolve(self.options, made=None, var_args=given), self.options)

    def scope(self, planning: bool = False) -> tuple[Scope | None, list[Diagnostic]]:
        """A scope in which expressions can refer to the values of the root module; None on errors. With `planning`,
        objects have their planned values instead of the values in the state."""
        from planner.operations.variables import console_scope

        with self._session():
            return console_scope(self.options, planning)


def subject_of(words: tuple[str, ...]) -> tuple[str, str]:
    """The kind of question: ("list", WORD), ("effects", SOURCE), or ("proof", ""). Raises Failure for an unknown
    word."""
    from planner.operations.effects import check_word, is_list, source_of

    check_word(words)
    if is_list(words):
        return "list", words[0]
    source = source_of(words)
    return ("effects", source) if source else ("proof", "")
