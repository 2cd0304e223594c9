"""Explanations of a plan: proofs of actions and of unknown values, derived by rules/plan.

`Explainer` contains a plan with its values, and returns proofs in the documented format.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from planner.answers.explain.cause_groups import KEY
from planner.answers.explain.cause_paths import TEXT, FactLocations
from planner.answers.explain.causes import RELATIONS, Because, CauseStep, Derivation, chains_of
from planner.answers.explain.former_world import FormerWorld, FormerWorldsOf
from planner.answers.explain.places import LocationLookup, ValueLocation
from planner.answers.explain.trace import Trace
from planner.engine.evaluation.context import EvaluationContext, ModuleInstance
from planner.foundation.support.disk import collector_paused
from planner.foundation.values.expression_text import short_text
from planner.foundation.values.value import Null, Value, is_wholly_known
from planner.foundation.vocabulary.address import AddressError, parse_resource_instance
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.nearest import instead
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Config
from planner.language.config.variables import RootVariable
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.explain.proof import proof_json
from planner.logic.datalog.explain.render import reason_text
from planner.logic.datalog.explain.search import Prover
from planner.logic.datalog.explain.why_not import obstacles
from planner.logic.model.graph import source_json
from planner.logic.model.plan import OutputChange, Plan, ResourceChange, change_name
from planner.logic.programs.actions import NO_OP, does, verb_of, verbs, words_for
from planner.logic.programs.rule_programs import product_program
from planner.world.state.taint_record import TaintOrigin


@frozen
class QuestionSubject:
    """The subject of a question: the object or output whose action is to be explained. `name`: its name in facts.
    `action`: its planned action. `changes`: the entries of the plan about it."""

    name: str
    action: str
    changes: tuple[ResourceChange | OutputChange, ...]

    @property
    def predicate(self) -> str:
        """The predicate of the fact that contains the subject's action."""
        return "output_action" if any(isinstance(change, OutputChange) for change in self.changes) else "action"


def read_now(plan: Plan) -> list[ResourceChange]:
    """The data sources that were read while planning, as changes with the action no-op, sorted by address."""
    facts: dict[str, list[tuple[str, ...]]] = {}
    for row in plan.facts:
        facts.setdefault(row[1], []).append(row)
    changes = []
    for address, rows in sorted(facts.items()):
        at = parse_resource_instance(address)
        module, none = str(at.module), Null()
        read = ResourceChange(
            address,
            address,
            module,
            at.mode,
            at.type,
            at.name,
            at.key,
            "",
            "",
            NO_OP,
            "",
            none,
            none,
            facts=tuple(rows),
        )
        changes.append(read)
    return changes


def more_causes(name: str) -> str:
    return f"More causes for {name}"


class Explainer:
    """Returns proofs about one plan. `context`: the planned values. `variables`: the root variables with their origins.
    `worlds`: the former configurations; None if no causes are searched. `taints`: {address: origin of its taint}.
    `locked`: {provider: (version, place)} of the lock file."""

    def __init__(
        self,
        plan: Plan,
        config: Config,
        context: EvaluationContext,
        variables: Mapping[str, RootVariable],
        worlds: FormerWorldsOf | None = None,
        taints: Mapping[str, TaintOrigin] | None = None,
        locked: Mapping[str, tuple[str, Span]] | None = None,
    ) -> None:
        self.taints, self.locked = taints or {}, locked or {}
        self.plan, self.config, self.variables, self.worlds = plan, config, variables, worlds
        self.places = LocationLookup(context)
        self.idle_edits: tuple[CauseStep, ...] = ()
        """the edits of known inputs that are not a cause of any change; set by `causes`"""

    def trace(self, subject: ResourceChange | OutputChange | None = None) -> Trace:
        """A new trace, which collects facts for one question about a change or (None) a value."""
        self._check_assumptions()
        return self._trace(self.worlds.of(subject) if self.worlds is not None else None)

    def _trace(self, former: FormerWorld | None) -> Trace:
        trace = Trace(self.plan, self.config, self.places, self.variables, former)
        trace.taints, trace.locked = self.taints, self.locked
        return trace

    # ---------------------------------------------------------------- actions

    def action(self, address: str, verb: str = "") -> dict[str, Any]:
        """The proof of a change's action, traced back to the cause of the action. Raises Failure if there is no such
        change, if the plan lacks the facts for a proof, or if `verb` (a key of `verbs`) does not include the action. In
        the last case, the message contains the failed conditions."""
        asked = self.find(address)
        name = asked.name
        base, trace = self._facts(asked)
        prover = Prover(product_program("causes"), evaluate(product_program("causes"), base))
        if verb and verb_of(asked.action) != verb:
            word = verb_of(asked.action)
            (near,) = near_actions(name, asked.action, self._not_planned(prover, asked, verb), base, prover.database)
            known = f"The plan is to {word} {name}: use planner why {word}." if word != "no-op" else near["text"]
            lines = [known, *(f"  {line}" for line in near["lines"])]
            lines += [f"To see all rules that were tried: planner why -not -full {verb} {name}"]
            raise Failure(error("why.other_action", f"No {verb} is planned for {name}", "\n".join(lines)))
        proof = prover.why("explained", (name, asked.action))
        if proof is None:
            detail = f"The plan does not record the inputs of the action of {name}."
            raise Failure(error("why.no_facts", "Nothing to explain", detail))
        document = proof_json(proof, base, source_json)
        relations = evaluate(product_program("causes"), base, RELATIONS)
        because = chains_of([Derivation(relations, base, [name], trace)], has_others=True).get(name)
        if because is not None:
            document |= because.json
            known = {change_name(c) for c in self.plan.changes if c.action != NO_OP} - {name}
            ways = [[step.json for step in way.steps] for way in because.ways if way.steps[0].what in known]
            document |= {"ways": ways} if ways else {}
            notes = self.worlds.notes if self.worlds is not None and because.is_guess else ()
            document |= {"notes": list(notes)} if notes else {}
            unknown = {row[0] for row in base.relation("unknown_value")}
            others = [step for key in ("other_causes", "ways") for steps in document.get(key, ()) for step in steps]
            for step in others:
                step.update({"is_unknown": True} if step["what"] in unknown else {})
            owners = {step["what"].rpartition(".")[0] for step in others}
            actions = {change_name(c): c.action for c in self.plan.changes if change_name(c) in owners}
            document |= {"actions": actions} if actions else {}
        parts = sorted(row for row in base.relation("planned_change") if row[0].startswith((f"{name}.", f"{name}[")))
        if len(parts) > 1:
            places = FactLocations(base)
            document["differences"] = [CauseStep(what, "", places.of(what), *rest).json for what, *rest in parts]
        if because is not None and any(" more): " in text for _, *texts in parts for text in texts):
            roots = [root.what for root in because.roots]
            lines = [line for what, *_ in parts for line in trace.differing_lines(what, roots)]
            document |= {"lines": lines} if lines else {}
        more = self._more_causes(name, because, document)
        steps = [_cause_step(root) for root in more[:_MOST_CAUSES]]
        if len(more) > _MOST_CAUSES:
            steps.append({"text": f"{len(more) - _MOST_CAUSES} others", "sources": []})
        chains = [{"text": more_causes(name), "steps": steps}] if steps else []
        chains += [_identity_chain(prover, row) for row in prover.database["identified"] if row[0] == name]
        return {**document, "chains": chains} if chains else document

    def _more_causes(self, name: str, because: Because | None, document: dict[str, Any]) -> list[CauseStep]:
        """The root causes that are missing in the proof of an action, because a proof contains only one of several
        reasons. Empty if there is only one root cause, or if the causes are a guess."""
        if because is None or because.is_guess or len(because.roots) < 2:
            return []
        rows = [step["tuple"] for step in document["proofs"].values()]
        decided = {row[0] for row in rows if row[1:2] == [name]}
        mentioned = {column for row in rows for column in row[1:] if column != name}
        return [
            root
            for root in because.roots
            if root.what not in mentioned and not (root.what == name and _DECIDED.get(root.kind, "") in decided)
        ]

    def causes(self, has_others: bool = False) -> dict[str, Because]:
        """{name of a change or output: its causes}. `has_others`: whether the chains of all causes of a change are
        included."""
        with collector_paused():
            return self._check_assumptions(has_others) or self._causes(has_others)

    def _idle_edits(self, traces: Collection[Trace], causes: Mapping[str, Because]) -> tuple[CauseStep, ...]:
        """The edits of known inputs on which no change depends. Empty if some causes are a guess, because any edit may
        then be one of the causes, and if the changes are compared with several former configurations."""
        if len(traces) != 1 or any(because.is_guess for because in causes.values()):
            return ()
        roots = {_without_keys(root.what) for because in causes.values() for root in because.roots}
        edits: dict[str, CauseStep] = {}
        for name, kind, source in next(iter(traces)).edits():
            what = _without_keys(name)
            pairs = ((one, other) for root in roots for one, other in ((root, what), (what, root)))
            if not any(f"{one}.".startswith(f"{other}.") for one, other in pairs):
                edits.setdefault(what, CauseStep(name, kind, source))
        return tuple(edits.values())

    def _check_assumptions(self, has_others: bool = False) -> dict[str, Because]:
        """Check whether the state can be explained if unrecorded values are treated as unchanged. If not, these values
        are treated as unknown from now on. Returns {name of a change: its causes} if the causes were derived for this
        check and are still valid, otherwise {}."""
        if self.worlds is None or not self.worlds.assumes:
            return {}
        self.worlds.assumes = False
        causes = self._causes(has_others)
        if not any(root.kind == "unapplied" for because in causes.values() for root in because.roots):
            return causes
        self.worlds.doubt()
        return {}

    def _causes(self, has_others: bool) -> dict[str, Because]:
        worlds: dict[FormerWorld | None, list[str]] = {}
        traces: dict[FormerWorld | None, Trace] = {}
        changes: list[ResourceChange | OutputChange] = [c for c in self.plan.changes if c.action != NO_OP]
        changes += [output for output in self.plan.outputs if output.action != NO_OP]
        for change in changes:
            former = self.worlds.of(change) if self.worlds is not None else None
            trace = traces.get(former) or traces.setdefault(former, self._trace(former))
            if isinstance(change, OutputChange):
                trace.output(change)
                worlds.setdefault(former, []).append(f"output.{change.name}")
            else:
                trace.change(change)
                worlds.setdefault(former, []).append(change_name(change))
        derived = []
        for former, names in worlds.items():
            facts = traces[former].build()
            relations = evaluate(product_program("causes"), facts, RELATIONS)
            derived.append(Derivation(relations, facts, names, traces[former]))
        chains = chains_of(derived, has_others)
        self.idle_edits = self._idle_edits(traces.values(), chains)
        return chains

    def what_was(self, asked: QuestionSubject) -> Mapping[str, Collection[Any]]:
        """{relation: its rows} with known former values: `former_value` for the inputs of a change, `planned_change`
        for the values of the object."""
        return evaluate(product_program("causes"), self.facts(asked), ("former_value", "planned_change"))

    def not_action(self, address: str, verb: str) -> dict[str, Any]:
        """The document with the reasons why a change does not have one of the actions of `verb`. Raises Failure if the
        change has such an action, or if there is no such change."""
        asked = self.find(address)
        if verb_of(asked.action) == verb:
            detail = f"The plan is to {verb} {asked.name}; omit -not to see why."
            raise Failure(error("why.holds", "The fact holds", detail))
        base = self.facts(asked)
        prover = Prover(product_program("causes"), evaluate(product_program("causes"), base))
        rules = self._not_planned(prover, asked, verb)
        goal = [asked.predicate, asked.name, verbs()[verb][0]]
        near = near_actions(asked.name, asked.action, rules, base, prover.database)
        because = self.causes().get(asked.name) if does(asked.action, "replaces") else None
        is_caused = because is not None and not because.is_guess and not because.is_itself(asked.name)
        causes = {"root_causes": [root.json for root in because.roots]} if because is not None and is_caused else {}
        return {"format_version": "1.0", "goal": goal, "holds": False, "nearest": near, **causes, "rules": rules}

    def _not_planned(self, prover: Prover, asked: QuestionSubject, verb: str) -> list[dict[str, Any]]:
        rules = []
        for action in verbs()[verb]:
            fitting = obstacles(prover, asked.predicate, (asked.name, action))
            rules += [o for o in fitting if o["head_fits"]]
        return rules

    def find(self, address: str) -> QuestionSubject:
        """The subject at an address. Raises Failure if the plan has no change at this address."""
        known = {
            change_name(change): QuestionSubject(change_name(change), change.action, (change,))
            for change in self.plan.changes
        }
        known |= {f"output.{o.name}": QuestionSubject(f"output.{o.name}", o.action, (o,)) for o in self.plan.outputs}
        known |= {c.address: QuestionSubject(c.address, c.action, (c,)) for c in read_now(self.plan)}
        asked = known.get(address)
        if asked is None:
            modules = {str(parse_resource_instance(c.address).module) for c in self.plan.changes} - {""}
            detail = f'The plan has no change for "{address}".{instead(address, {*known, *modules})}'
            raise Failure(error("why.no_change", "Nothing to explain", detail))
        return asked

    def instances(self, address: str) -> list[str]:
        """The names of all changes that an address means if each omitted key matches every key, in plan order. [] if
        the address is not valid, or if it is itself the name of a change."""
        try:
            wanted = parse_resource_instance(address)
        except AddressError:
            return []

        def is_meant(change: ResourceChange) -> bool:
            at = parse_resource_instance(change.address)
            if at.config != wanted.config:
                return False
            keys = zip((*wanted.module.steps, ("", wanted.key)), (*at.module.steps, ("", at.key)), strict=True)
            return all(key in (None, own) for (_, key), (_, own) in keys)

        names = [change_name(change) for change in self.plan.changes if is_meant(change)]
        return names if address not in names else []

    def facts(self, asked: QuestionSubject) -> FactBase:
        """All facts that the answer to a question about this subject may need."""
        return self._facts(asked)[0]

    def _facts(self, asked: QuestionSubject) -> tuple[FactBase, Trace]:
        trace = self.trace(asked.changes[0] if asked.changes else None)
        for change in asked.changes:
            if isinstance(change, OutputChange):
                trace.output(change)
            else:
                trace.change(change)
        for change in self.plan.drift:
            if change.address == asked.name:
                trace.drift(change)
        return trace.build(), trace

    def about(self, address: str) -> FactBase:
        """All facts about the subject at this address, even if it was only changed outside planner. Raises Failure if
        there is no such subject."""
        drifted = any(change.address == address for change in self.plan.drift)
        known = any(change_name(change) == address for change in self.plan.changes)
        return self.facts(QuestionSubject(address, "", ()) if drifted and not known else self.find(address))

    # ---------------------------------------------------------------- unknown values

    def unknown(self, text: str) -> dict[str, Any]:
        """The proof that the value with the address `text` is unknown. Raises Failure if the value is known or does not
        exist."""
        base, open_ones = self.unknown_facts(text)
        proof = Prover(product_program("causes"), evaluate(product_program("causes"), base)).why(
            "unknown", (open_ones[0],)
        )
        assert proof is not None, open_ones
        document = proof_json(proof, base, source_json)
        decided = (step["tuple"] for step in document["proofs"].values() if step["tuple"][0] == "explained")
        name, action = next(((name, action) for _, name, action in decided), ("", ""))
        because = self.causes().get(name) if name and action != "create" else None
        if because is None or because.is_guess:
            return document
        return {**document, "root_causes": [root.json for root in because.roots]}

    def unknown_facts(self, text: str) -> tuple[FactBase, list[str]]:
        """(facts about an unknown value, names of its unknown places). Raises Failure if the value is known or does not
        exist."""
        trace = self.trace()
        read = self._values(trace, text)
        open_ones = [str(at) for at, value in read if not is_wholly_known(value)]
        if not open_ones:
            values = [short_text(value, self.places.is_sensitive(at)) for at, value in read]
            raise Failure(error("why.known", "Nothing to explain", f"{text} is known: {', '.join(values)}."))
        return trace.build(), open_ones

    def not_unknown(self, text: str) -> dict[str, Any]:
        """The document with the reasons why a value is known: for each rule that derives unknown values, the conditions
        that fail. Raises Failure if the value is unknown or does not exist."""
        trace = self.trace()
        read = self._values(trace, text)
        if not all(is_wholly_known(value) for _, value in read):
            raise Failure(error("why.holds", "The fact holds", f"{text} is not known yet; omit -not to see why."))
        prover = Prover(product_program("causes"), evaluate(product_program("causes"), trace.build()))
        goal = ["unknown", str(read[0][0])]
        rules = obstacles(prover, "unknown", (goal[1],))
        values = ", ".join(short_text(value, self.places.is_sensitive(at)) for at, value in read)
        near = [{"kind": "known", "text": f"{text} is known: {values}.", "sources": []}]
        return {"format_version": "1.0", "goal": goal, "holds": False, "nearest": near, "rules": rules}

    def values_like(self, text: str) -> str:
        """A sentence with the attribute, output, local value or variable that a name most likely means; "" if there is
        none."""
        root = self.places.context.root
        if inner := min(self._in_modules(text, root), key=lambda name: "(.terraform/" in name, default=""):
            return f" The root module does not declare it. Did you mean {inner}?"
        names = [f"output.{name}" for name in root.outputs] + [f"local.{name}" for name in root.locals]
        names += [f"var.{name}" for name in root.variables]
        address = text.rpartition(".")[0]
        for change in self.plan.changes:
            names += [change.address] if not change.deposed else []
            if change.address == address and isinstance(change.after, dict):
                names += [f"{address}.{name}" for name in change.after]
        return instead(text, names) or instead(address, [n for n in names if n.rpartition(".")[0] != address])

    def _in_modules(self, text: str, module: ModuleInstance) -> Iterator[str]:
        """The names, with the source locations, of local values and variables called `text` in the modules below a
        module."""
        for called in sorted(module.calls):
            for instance in module.calls[called].values():
                place = self.places.read(f"{instance.text}.{text}") if text.startswith(("local.", "var.")) else None
                span = self.places.declaration(place) if place is not None else None
                if span is not None:
                    yield f"{instance.text}.{text} ({span.filename}:{span.start_position.line})"
                yield from self._in_modules(text, instance)

    def _values(self, trace: Trace, text: str) -> list[tuple[ValueLocation, Value]]:
        """(place, value) for each place that a user names. These values become subjects of the trace. Raises Failure if
        there are none."""
        place = self.places.read(text)
        values = trace.value(place) if place is not None else []
        if not values:
            detail = (
                f'There is no planned value "{text}". Name an attribute of an instance (terraform_data.web[0].id), '
                "output.NAME, local.NAME, var.NAME, or one of these in a module (module.net.id, module.net.local.x)."
            )
            detail += self.values_like(text)
            raise Failure(error("why.no_value", "Nothing to explain", detail))
        return values


def _without_keys(name: str) -> str:
    """The name of an edited value, without the words "the text of" and without instance keys."""
    return KEY.sub("", name).removeprefix(TEXT)


_MOST_CAUSES = 6
"""maximum number of root causes in addition to the root cause in the proof"""
_DECIDED = {"replace_by_request": "replace_requested", "replace_because_tainted": "tainted"}
"""{kind of a root cause that is the changed object itself: the fact from which its action was derived}"""
_CAUSES = {
    "text": "{what} was edited",
    "file": "{what} changed",
    "drift": "{what} was changed outside planner",
    "replace_by_request": "-replace names {what}",
    "replace_because_tainted": "{what} is tainted",
}


def _cause_step(root: CauseStep) -> dict[str, Any]:
    """A root cause as a step of a chain."""
    text = _CAUSES.get(root.kind, "{what}").format(what=root.what)
    if root.before:
        text = f"{root.what} changed from {root.before} to {root.value}"
    elif root.kind == "variable":
        text = f"{root.what} is {root.value}"
    return {"text": text, "sources": [source_json(root.source)] if root.source is not None else []}


def _identity_chain(prover: Prover, row: tuple[Any, ...]) -> dict[str, Any]:
    """The identity of an imported or moved object, with the place of its import block, as a chain of steps. `row`: the
    row of the relation `identified`."""
    proof = prover.why("identified", row)
    assert proof is not None and proof.rule is not None
    facts = prover.database.facts
    places = [facts.source(leaf.predicate, leaf.row) for leaf in proof.leaves()]
    sources = [source_json(place) for place in places if isinstance(place, Span)]
    return {"text": "Identity", "steps": [{"text": reason_text(proof.rule, proof.assignment), "sources": sources[:1]}]}


# Why an action is not planned: the action planned instead, and the failed conditions of the nearest rules. The
# obstacles come from rules/plan/actions.dl; this module only contains the wording


_LACKS = {
    "exists": "it has no object yet",
    "desired": "it is not declared, or everything is destroyed",
    "changed": "it does not differ from its configuration",
    "data_source": "it is not a data source",
    "read_later": "its arguments are known and none of its dependencies change, so it is read during planning",
    "tainted": "it is not tainted",
    "replace_requested": "-replace does not name it",
    "triggered": "no object in its replace_triggered_by changes",
    "write_only_replace": "no write-only argument requires replacement",
    "orphaned": "it is still declared",
    "destroy_requested": "-destroy was not given",
    "kept_by_configuration": "lifecycle.destroy is not false",
    "kept_by_state": "lifecycle.destroy was not false when it was last applied",
    "removal": "no removed block keeps its object",
    "output_differs": "its value does not differ",
}
_NOT = {
    "exists": "it already has an object",
    "desired": "the configuration declares it",
    "data_source": "it is a data source, which is read and never created",
    "replaced": "it is replaced",
    "retained": "its object must not be destroyed",
    "created_first": "its replacement is created first",
}
_ALONE = ("differs", "requires_replace", *_LACKS)
"""conditions that are reported without the reasons why they fail"""
_EITHER = frozenset(("created_first", "retained"))
"""conditions that only distinguish between forms of one action"""
_ASKS = ("tainted", "replace_requested", "triggered", "write_only_replace")
"""conditions that replace an object although its values do not differ"""


def planned_sentence(name: str, action: str) -> str:
    """A sentence such as `terraform_data.a is updated in place.`"""
    return f"{name} {words_for(action).is_planned}."


def near_actions(
    name: str,
    action: str,
    rules: Collection[dict[str, Any]],
    facts: FactBase,
    relations: Mapping[str, Collection[Any]],
) -> list[dict[str, Any]]:
    """The planned action with the failed conditions of the action that is not planned, as the member `nearest` of the
    document of `why -not`. `rules`: for each rule of the action that is not planned, the conditions that fail."""
    places = FactLocations(facts)
    # decided in Python: which failed conditions of an action are reported -- this affects the output, not the plan
    failing = list(dict.fromkeys(_failing(rules)))
    if (
        "changed",
        True,
    ) in failing:  # no-op: the object is as declared
        failing = [("changed", True)]
    missing = {predicate for predicate, is_negated in failing if not is_negated}
    is_unmoved = not missing.isdisjoint(("differs", "requires_replace")) and missing.issuperset(_ASKS)
    lines: list[str] = []
    for predicate, is_negated in failing:
        if is_negated and predicate == "replaced":
            lines += _forced(name, relations, places)
        elif is_negated and predicate == "changed":
            paths = _differing(name, relations)
            lines.append(f"{_some(paths)} differ{'s' if len(paths) == 1 else ''}" if paths else "it differs")
        elif is_negated:
            lines.append(_NOT.get(predicate, ""))
        elif predicate == "orphaned" and (at := _at(facts.source("desired", (name,)))):
            lines.append(f"{_LACKS[predicate]}{at}")
        elif predicate in ("requires_replace", "differs", "changed"):
            lines.append(_in_place(name, relations))
        elif predicate == "read_later" and not _holds(relations, "data_source", name):
            lines.append(_LACKS["data_source"])
        elif predicate not in _ASKS or not is_unmoved:
            lines.append(_LACKS.get(predicate, ""))
    if is_unmoved:
        lines.append("nothing requests its replacement: no taint, no -replace, no replace_triggered_by")
    return [
        {
            "kind": "planned-instead",
            "text": planned_sentence(name, action),
            "lines": list(dict.fromkeys(line for line in lines if line)),
            "sources": [],
        }
    ]


def _failing(rules: Collection[dict[str, Any]]) -> Iterator[tuple[str, bool]]:
    """(predicate, whether it is negated) for each failed condition of rules. A derived condition is replaced by the
    failed conditions of the rules that derive it, unless it is in _ALONE or negated. A condition may occur several
    times."""
    for obstacle in rules:
        fails = obstacle["fails"]
        is_negated = fails.startswith("not ")
        predicate = fails.removeprefix("not ").partition("(")[0].strip()
        if predicate in _EITHER and len(rules) > 1 and any(o["fails"].partition("(")[0] != predicate for o in rules):
            continue
        inner = [o for o in obstacle.get("because", ()) if o["head_fits"]]
        if inner and not is_negated and predicate not in _ALONE:
            yield from _failing(inner)
        else:
            yield predicate, is_negated


def _holds(relations: Mapping[str, Collection[Any]], predicate: str, name: str) -> bool:
    return any(row[0] == name for row in relations.get(predicate, ()))


def _at(source: Any) -> str:
    return f" ({source.filename}:{source.start_position.line})" if isinstance(source, Span) else ""


def _forced(name: str, relations: Mapping[str, Collection[Any]], places: FactLocations) -> list[str]:
    """The clauses about the causes of the replacement of an object."""
    paths = sorted({row[1] for row in relations.get("requires_replace", ()) if row[0] == name})
    lines = [_forcing(name, path, relations, places) for path in paths]
    lines += ["it is tainted"] if _holds(relations, "tainted", name) else []
    lines += ["-replace names it"] if _holds(relations, "replace_requested", name) else []
    lines += [
        f"{row[1]} changes, which its replace_triggered_by names"
        for row in sorted(relations.get("triggered", ()))
        if row[0] == name
    ]
    return lines or [_NOT["replaced"]]


def _forcing(name: str, path: str, relations: Mapping[str, Collection[Any]], places: FactLocations) -> str:
    """The reason why an attribute (`path`) forces the replacement of an object, such as `ports[0] 80 -> 81 forces
    replacement (main.tf:3)`. The reason contains values only if exactly one part is known to differ."""
    whole = f"{name}.{path}"
    known = relations.get("planned_change", ())
    parts = [row for row in known if row[0] == whole or row[0].startswith((f"{whole}.", f"{whole}["))]
    if len(parts) != 1 or len({*parts[0][1:]}) != 2:
        return f"{path} forces replacement"
    what, before, value = parts[0]
    return f"{what[len(name) + 1 :]} {before} -> {value} forces replacement{_at(places.of(what))}"


def _in_place(name: str, relations: Mapping[str, Collection[Any]]) -> str:
    paths = _differing(name, relations)
    if paths:
        return f"the provider can change {_some(paths)} in place"
    ignored = sorted({row[1] for row in relations.get("ignored_difference", ()) if row[0] == name})
    if ignored:
        verb = "differs" if len(ignored) == 1 else "differ"
        return f"only {_some(ignored)} {verb} from its configuration, and ignore_changes ignores that"
    return _LACKS["changed"]


def _differing(name: str, relations: Mapping[str, Collection[Any]]) -> list[str]:
    return sorted({row[1] for row in relations.get("differs", ()) if row[0] == name})


def _some(paths: list[str]) -> str:
    return ", ".join(paths[:4]) + (f" and {len(paths) - 4} more" if len(paths) > 4 else "")
