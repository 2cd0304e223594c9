"""Plans, which contain changes with their causes, answer questions, and can be saved and applied."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from io import StringIO
from typing import TYPE_CHECKING, Any, Literal

from planner.api.arguments import Paths, expect, one_of, several, switches
from planner.api.arguments import path as path_of
from planner.api.base import require
from planner.api.changes import (
    Change,
    OutputChange,
    change_of,
    changed_objects,
    current_object,
    forms_of,
    hide,
    order_of,
    output_change_of,
    output_values,
)
from planner.api.events import Event, with_events
from planner.api.making import Making, cause_lines, chains_of, compared, judgement, save
from planner.api.model import Difference, Explanation, Fix, Graph, Proof, Rows, cleared_causes
from planner.api.policies import all_policies
from planner.api.questions import Questions, subject_of
from planner.api.session import Stop, UnsavedStateError, session
from planner.api.undecided import strict
from planner.api.values import Sensitive, from_python, hide_secrets, secrets_in, to_python, without
from planner.engine.walk.hooks import Hooks
from planner.foundation.support.notebook import table_html
from planner.foundation.vocabulary.address import AddressError, parse_address, parse_resource_instance
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.limits import Limits
from planner.foundation.vocabulary.records import evolve, frozen
from planner.logic.datalog.ask.limit import TimeLimitError, within
from planner.logic.programs.actions import Counts, verb_of

if TYPE_CHECKING:
    from planner.answers.explain.causes import Because
    from planner.answers.policy.model import Verdict
    from planner.logic.model.plan import ResourceChange
    from planner.operations.options import OperationOptions
    from planner.operations.plan import MadePlan

Kind = Literal["plan", "apply"]
""""plan": the graph from which a plan was made; "apply": the graph that an apply of the plan walks"""


@frozen(eq=False)
class ApplyResult:
    """The result of an apply that succeeded: the numbers of objects created, changed and destroyed, the new root output
    values, the serial of the state, and warnings."""

    added: int
    changed: int
    destroyed: int
    outputs: Mapping[str, Any]
    serial: int
    diagnostics: tuple[Diagnostic, ...] = ()


@frozen(eq=False)
class Comparison:
    """Two plans of one configuration, and the objects and outputs whose action differs between the plans."""

    before: Plan
    after: Plan
    differences: tuple[Difference, ...]

    def _repr_html_(self) -> str:
        rows = [
            (d.name, verb_of(d.before), verb_of(d.after), "; ".join(map(str, d.explanation.roots)))
            for d in self.differences
        ]
        return table_html(("object", "before", "after", "because of"), rows)


class Plan:
    """An immutable plan. Questions about a plan are answered without planning again, except by `fixes` and `what_if`.
    Methods may be called from any thread, but only one at a time."""

    def __init__(self, made: MadePlan[Any], options: OperationOptions, diagnostics: Sequence[Diagnostic]) -> None:
        self._made = made
        self._options = evolve(options, made=made)
        self._questions = Questions(self._options)
        self._directory = options.directory
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        """contains only warnings, because planning with errors raises Failure"""

    # ---------------------------------------------------------------- what changes

    @property
    def mode(self) -> str:
        """normal, destroy or refresh-only."""
        return self._made.plan.mode

    @property
    def is_empty(self) -> bool:
        """Whether applying the plan would have no effect: no object is changed, moved or imported, no output changes,
        and no action is invoked."""
        return self._made.plan.is_empty

    @property
    def counts(self) -> Counts:
        """The numbers of objects that the plan creates (`add`), changes, destroys (`remove`), imports and forgets; a
        replacement counts as one created and one destroyed object."""
        return Counts.of_plan(self._made.plan)

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """The objects that change, sorted by address, and imported objects even if they do not change."""
        return changed_objects(self.objects)

    @cached_property
    def objects(self) -> tuple[Change, ...]:
        """All objects of the plan, sorted by address, including unchanged objects (`no-op`)."""
        with self._session():
            return tuple(map(self._change, self._values_before_and_after[0]))

    @cached_property
    def drift(self) -> tuple[Change, ...]:
        """The objects that differ from the state. `before` is the object in the state, and `after` is the real object
        as it was read."""
        with self._session():
            return tuple(map(self._change, self._values_before_and_after[1]))

    @cached_property
    def outputs(self) -> tuple[OutputChange, ...]:
        """The changes of the root output values, sorted by name, including unchanged outputs (`no-op`)."""
        return tuple(
            output_change_of(output, self._explanation)
            for output in sorted(self._made.plan.outputs, key=lambda o: o.name)
        )

    def change(self, address: str) -> Change:
        """The change of the current object at an address. Raises KeyError if the plan has no such object."""
        return current_object(self.objects, address)

    # ---------------------------------------------------------------- why

    def why(self, *words: str, kind: Kind | Literal[""] = "", policies: Paths = ()) -> Proof:
        """Explain a result. `why("aws_instance.web")` explains the planned action of an object, `why("update",
        ADDRESS)` why this action is planned, `why("unknown", "aws_instance.web.id")` why a value is not known, `why(A,
        B)` why vertex A waits for vertex B, `why('edge("A", "B")')` why a fact holds, and `why("deny", CODE, ADDRESS)`
        a verdict of `policies` (as for `judge`). Raises Failure if the result does not exist."""
        return self._prove(words, False, kind, policies)

    def why_not(self, *words: str, kind: Kind | Literal[""] = "", policies: Paths = ()) -> Proof:
        """Explain why something is not the case: `why_not("replace", ADDRESS)`, `why_not(A, B)`, `why_not('edge("A",
        "B")')`, `why_not("deny", CODE, ADDRESS)`. Raises Failure if `words` names something that is the case."""
        return self._prove(words, True, kind, policies)

    def fixes(self, *words: str, policies: Paths = ()) -> tuple[Fix, ...]:
        """The smallest sets of edits after which the result named by `words` (as for `why`) does not occur. The
        smallest set comes first. Each set is tested by deriving or planning again with its edits, or has a `note` that
        states why it was not tested. Raises Failure if the result does not exist."""
        if not several(words):
            raise Failure(error("why.words", "Nothing to remove", "Name two vertices, one address, or one fact."))
        document, problems = self._questions_with(policies).removals(words)
        return tuple(map(_fix, require(document, problems)["fixes"]))

    def what_if(
        self,
        variables: Mapping[str, Any] | None = None,
        *,
        targets: Sequence[str] = (),
        excludes: Sequence[str] = (),
        replace: Sequence[str] = (),
        destroy: bool = False,
    ) -> Comparison:
        """Compare this plan with a plan with other values of variables, or with other options. Nothing is changed.
        Raises Failure if the other plan cannot be made."""
        switches(destroy=destroy)
        with self._session():
            limits = limits_of(targets, excludes, replace)
            options = evolve(
                self._options,
                made=None,
                inputs={**self._options.inputs, **variable_inputs(variables)},
                limits=limits if limits != Limits() else self._options.limits,
                mode="destroy" if destroy else self._options.mode,
            )
            answer = Making(options).plan_to_explain()
            made = require(answer.complete, list(answer.diagnostics))
            rows = compared(self._made, made).differences
            differences = tuple(Difference(d.name, d.without, d.within, self._explanation_of(d.because)) for d in rows)
            return Comparison(self, Plan(made, options, answer.diagnostics), differences)

    def query(self, *words: str, kind: Kind | Literal[""] = "", seconds: float = 0.0, policies: Paths = ()) -> Rows:
        """The answer to a query in Datalog (`query('edge(X, "aws_vpc.main"), not pruned(X)')`), to a set expression
        (`query('deps("aws_vpc.main")')`), or to a verb and its arguments (`query("blast", "aws_vpc.main")`). Queries
        can read the graph of the plan, its changes, and relations of `policies` (as for `judge`). Raises Failure for an
        invalid query, and for a query that exceeds the time limit in seconds (0: no limit)."""
        one_of("kind", kind, ("", "plan", "apply"))
        if not several(words):
            raise Failure(
                error(
                    "query.words", "Nothing to answer", "The query is empty: pass a query, a set expression or a verb."
                )
            )
        expect("seconds", seconds, (int, float), "a number of seconds")
        try:
            with within(seconds) if seconds > 0 else nullcontext():
                answers, problems = self._questions_with(policies).answers(words, kind=kind, seconds=0)
        except TimeLimitError:
            detail = f"The query took longer than {seconds:g} seconds: use more constants, or a smaller relation."
            raise Failure(error("query.timeout", "The query takes too long", detail)) from None
        require(True, problems)
        return Rows(answers.columns, tuple(hide_secrets(list(answers.rows), self.secrets)))

    def graph(self, kind: Kind = "plan") -> Graph:
        """The graph from which the plan was made, or the graph that its apply walks. Raises Failure for cycles."""
        one_of("kind", kind, ("plan", "apply"))
        return Graph.of(self._questions.built_graph(kind))

    def judge(self, policies: Paths = ()) -> Verdict:
        """The verdict about the plan by `policies` (directories, files and packs, relative to the directory of the
        configuration, and builtin:NAME), by the policies of the directory (`.planner/policies`), and by the policies of
        the organisation. Raises Failure for an invalid policy."""
        asking = self._questions_with(policies, True)
        with self._session():
            _, verdict, problems = judgement(asking.options.made)
            result: Verdict = require(verdict, problems)
            return result

    # ---------------------------------------------------------------- forms

    def text(self, causes: bool = True) -> str:
        """The plan as `planner plan` prints it, without colours; sensitive values and copies of them are hidden.
        `causes`: whether each change is followed by its cause."""
        switches(causes=causes)
        from planner.render.diff_block import SchemaLookup
        from planner.render.plan import PlanText
        from planner.render.terminal import Terminal

        with self._session():
            stream = StringIO()
            terminal = Terminal(StringIO(), stream, StringIO(), colour=False, width=120)
            shown = None
            if causes and not self._made.plan.errored:
                shown = cause_lines(self._made, chains=self._chains, notes=self._chains.remarks)
            lookup = SchemaLookup(self._made.loaded.schemas).resource_schema
            PlanText(self._made.plan, lookup, terminal, causes=shown).show()
            terminal.close(0)
            return without(stream.getvalue(), self.secrets)

    def to_json(self) -> dict[str, Any]:
        """The plan as `show -json` prints it (format 1.2). The result contains sensitive values."""
        from planner.api.states import shown_json

        with self._session():
            return shown_json(self._made)

    def review(self) -> dict[str, Any]:
        """The review of the plan (`planner schema review`): decisions, causes with their effects, and changes,
        attribute by attribute, without sensitive values."""
        from planner.render.review.of_plan import plan_review
        from planner.render.review.subject import ReviewSubject

        with self._session():
            document: dict[str, Any] = hide_secrets(
                plan_review(self._made, ReviewSubject(), self._chains), self.secrets
            )
            return document

    def to_markdown(self) -> str:
        """The review for a comment on a pull request."""
        from planner.render.review.markdown import markdown

        return markdown(self.review())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan file, for `read_plan` and `planner apply FILE`; the path is relative to the directory of the
        configuration. Raises Failure."""
        with self._session():
            require(True, save(self._made, os.path.join(self._directory, path_of("path", path))))

    def apply(self, on_event: Callable[[Event], None] | None = None, stop: Stop | None = None) -> ApplyResult:
        """Apply the plan, without a prompt. While the plan is applied, the state is locked. All changes are saved even
        if the apply fails. After a KeyboardInterrupt, or an exception in `on_event`, running operations are completed,
        no new operations start, the state is saved, and the exception is raised. The plan is rejected if policies of
        the directory deny it, if the state has changed since the plan was made, or if the plan has already been
        applied. Raises Failure if anything failed, and UnsavedStateError if the state could not be saved."""
        return with_events(self._apply, on_event, stop)

    def _apply(self, hooks: Hooks, stop: Stop) -> ApplyResult:
        from planner.operations.plan import Planned

        with self._session(stop):
            applied = Making(evolve(self._options, made=None)).carry_out(Planned(self._made), hooks)
            if applied.unsaved:
                raise UnsavedStateError(applied.diagnostics, applied.unsaved)
            problems = [*applied.diagnostics]
            state = require(applied.state, problems) if applied.state or has_errors(problems) else None
            outputs = state.outputs if state is not None else {}
            return ApplyResult(
                applied.counts.add,
                applied.counts.change,
                applied.counts.remove,
                output_values(outputs),
                state.serial if state is not None else self._made.plan.prior_state.serial,
                tuple(problems),
            )

    # ---------------------------------------------------------------- with

    def close(self) -> None:
        """Stop the provider plugins that were started to answer questions. The plan remains usable, because plugins are
        started again when they are needed."""
        self._made.loaded.schemas.close()

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("A plan cannot be pickled: save it (Plan.save, read_plan), or pickle its changes.")

    def __enter__(self) -> Plan:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def __repr__(self) -> str:
        add, change, remove, *_ = self.counts
        return f"<Plan of {os.path.basename(self._directory)}: {add} to add, {change} to change, {remove} to destroy>"

    def _repr_html_(self) -> str:
        changed: list[tuple[str, Change | OutputChange]] = [(c.address, c) for c in self.changes]
        changed += [(f"output.{o.name}", o) for o in self.outputs if o.action != "no-op"]
        rows = [(name, verb_of(c.action), "; ".join(map(str, c.causes))) for name, c in changed]
        return table_html(("object", "action", "because of"), rows, repr(self)[1:-1])

    # ---------------------------------------------------------------- parts

    @cached_property
    def secrets(self) -> frozenset[str]:
        """The sensitive strings of the plan. A provider may copy such strings into attributes that are not sensitive,
        as terraform_data does. Therefore these strings are hidden wherever they occur in output such as snapshots and
        answers for assistants."""
        with self._session():
            values = [value for forms in self._values_before_and_after for _, both in forms for value in both]
        values += [hide(to_python(v), o.sensitive) for o in self._made.plan.outputs for v in (o.before, o.after)]
        for name, declared in self._made.loaded.config.root.variables.items():
            if declared.sensitive:
                known = [self._made.variables[name].value] if name in self._made.variables else []
                known += [declared.default] if declared.default is not None else []
                values += [Sensitive(to_python(value)) for value in known]
        return frozenset(secret for value in values for secret in secrets_in(value))

    @cached_property
    def _values_before_and_after(self) -> tuple[list[tuple[ResourceChange, tuple[Any, Any]]], ...]:
        """The changes by address, each with the object before and after the change as Python data: first the planned
        changes, then drift."""
        plan, schemas = self._made.plan, self._made.loaded.schemas
        return tuple(
            [(change, forms_of(change, schemas)) for change in sorted(changes, key=order_of)]
            for changes in (plan.changes, plan.drift)
        )

    def _session(self, stop: Stop | None = None) -> Any:
        return session(self._directory, stop)

    def _questions_with(self, policies: Paths, to_judge: bool = False) -> Questions:
        if policies == () and not to_judge:
            return self._questions
        with self._session():
            options = evolve(self._options, made=None, **all_policies(self._directory, policies, Judged.of))
        made = evolve(self._made, loaded=evolve(self._made.loaded, options=options))
        return Questions(evolve(options, made=made))

    def _prove(self, words: tuple[str, ...], negated: bool, kind: str, policies: Paths) -> Proof:
        from planner.render.terminal import Paint
        from planner.render.why import answer_text

        if not several(words):
            raise Failure(error("why.words", "Nothing to explain", "Name two vertices, one address, or one fact."))
        with self._session():
            subject_of(words)
        one_of("kind", kind, ("", "plan", "apply"))
        kind = kind or ("plan" if len(words) == 2 else "")
        document, problems = self._questions_with(policies).proof(words, negated, kind)
        document = hide_secrets(require(document, problems), self.secrets)
        return Proof(document, answer_text(document, Paint(False), 0))

    @cached_property
    def _chains(self) -> Any:
        with self._session():
            return chains_of(self._made)

    def _explanation(self, name: str) -> Explanation:
        return self._explanation_of(self._chains.get(name))

    def _explanation_of(self, because: Because | None) -> Explanation:
        return cleared_causes(Explanation.of(because), self.secrets) if because is not None else Explanation()

    def _change(self, one: tuple[ResourceChange, tuple[Any, Any]]) -> Change:
        return change_of(*one, self.secrets, self._explanation)


class Judged(Plan):
    """The plan that policy functions receive. Using one of its unknown values raises UndecidedError."""

    @classmethod
    def of(cls, made: MadePlan[Any]) -> Judged:
        """The plan `made` as policy functions receive it. Its `diagnostics` are empty."""
        return cls(made, made.loaded.options, ())

    @property
    def objects(self) -> tuple[Change, ...]:
        return tuple(evolve(c, after=strict(c.after, c.address)) for c in super().objects)

    @property
    def changes(self) -> tuple[Change, ...]:
        return changed_objects(self.objects)

    @property
    def outputs(self) -> tuple[OutputChange, ...]:
        return tuple(evolve(o, after=strict(o.after, f"output.{o.name}")) for o in super().outputs)


def limits_of(targets: Sequence[str], excludes: Sequence[str], replace: Sequence[str]) -> Limits:
    """The limits of a plan. Raises Failure for an invalid address, or if there are both targets and excludes."""
    targets, excludes, replace = several(targets, "targets"), several(excludes, "excludes"), several(replace, "replace")
    if targets and excludes:
        detail = "A plan can be limited by targets or by exclusions, not by both."
        raise Failure(error("plan.limits", "Conflicting options", detail))
    try:
        return Limits(
            tuple(map(parse_address, targets)),
            tuple(map(parse_address, excludes)),
            tuple(map(parse_resource_instance, replace)),
        )
    except AddressError as problem:
        raise Failure(error("plan.address", "Invalid address", str(problem))) from None


def variable_inputs(variables: Mapping[str, Any] | None) -> dict[str, Any]:
    """Values of root variables, converted from Python objects to values of the configuration language. Raises Failure
    for objects that the language cannot represent."""
    expect("variables", variables, (Mapping, type(None)), "a dictionary")
    try:
        return {name: from_python(value) for name, value in (variables or {}).items()}
    except (TypeError, ValueError, RecursionError) as problem:
        raise Failure(error("variables.type", "Invalid value for a variable", f"{problem}.")) from None


def _fix(document: Mapping[str, Any]) -> Fix:
    places = []
    for place in document["places"]:
        source = place.get("source") or {}
        places.append((str(place.get("text", "")), str(source.get("file", "")), int(source.get("line", 0))))
    return Fix(tuple(places), bool(document["checked"]), str(document.get("note", "")))
