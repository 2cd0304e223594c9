"""Checks a linked program before any fact is loaded. Each public function is one check and yields diagnostics. It
leaves out problems that an earlier check has reported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from planner.foundation.support.lazy import MAX_NESTED, is_too_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, error, warning
from planner.foundation.vocabulary.span import Span
from planner.language.syntax import rule_syntax as syntax
from planner.logic.datalog.language.builtins import FUNCTIONS, KINDS, RELATIONS, TESTS
from planner.logic.datalog.language.builtins import BuiltinPredicate as Entry
from planner.logic.datalog.language.model import (
    Predicate,
    Rule,
    Stratum,
    atoms,
    inner_names,
    inner_variables,
    names,
    outer_names,
    variables,
)
from planner.logic.datalog.language.spaces import nearest
from planner.logic.datalog.language.strata import components

Predicates = Mapping[str, Predicate]


def at(rule: Rule, node: syntax.RuleNode) -> Span:
    return Span(rule.span.source, node.start, node.end)


def all_atoms(rule: Rule) -> Iterator[syntax.Atom]:
    yield rule.head
    for atom, _how in atoms(rule.body):
        yield atom


def unknown_predicates(
    rules: Iterable[Rule], predicates: Predicates, advice: str = "Declare it with .decl."
) -> Iterator[Diagnostic]:
    """Check that every predicate is declared."""
    for rule in rules:
        for atom in all_atoms(rule):
            if atom.predicate in predicates:
                continue
            if atom is rule.head and (
                atom.predicate in TESTS or atom.predicate in FUNCTIONS or atom.predicate in RELATIONS
            ):
                what = "relation" if atom.predicate in RELATIONS else "function"
                detail = f"{atom.predicate} is a built-in {what}: no rule can derive it."
            elif atom.predicate in FUNCTIONS:
                detail = f"{atom.predicate} returns a value: compare it, as in X = {atom.predicate}(...)."
            else:
                near = nearest(atom.predicate, predicates, lambda name: predicates[name].declaration)
                detail = f"There is no predicate {atom.predicate}.{near}"
                detail += f" {advice}" if advice else ""
            yield error("rules.unknown_predicate", "Unknown predicate", detail, at(rule, atom))


def arity(rules: Iterable[Rule], predicates: Predicates) -> Iterator[Diagnostic]:
    """Check that every predicate is used with the declared number of arguments."""
    for rule in rules:
        for atom in all_atoms(rule):
            predicate = predicates.get(atom.predicate)
            if predicate is not None and len(atom.arguments) != predicate.arity:
                given = count_text(len(atom.arguments), "argument")
                wanted = count_text(predicate.arity, "column")
                detail = f"{predicate.declaration} has {wanted}, but is used with {given}."
                yield error("rules.arity", "Wrong number of arguments", detail, at(rule, atom))


def count_text(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def check_derivations(rules: Iterable[Rule], predicates: Predicates) -> Iterator[Diagnostic]:
    """Check that no rule derives an input or a native predicate, and that users' rules derive a predicate of the
    product only if the predicate is open."""
    for rule in rules:
        predicate = predicates.get(rule.head.predicate)
        span = at(rule, rule.head)
        if predicate is None:
            continue
        if predicate.is_input or predicate.operator is not None:
            how = "an input: its facts are provided" if predicate.is_input else "computed by a native operator"
            detail = f"{predicate.name} is {how}. Derive another predicate and read both."
            yield error("rules.input_derived", "Rule for an input predicate", detail, span)
        elif predicate.is_core and not rule.is_core and not predicate.is_open:
            open_ = sorted(p.name for p in predicates.values() if p.is_open and p.is_core)
            detail = f"{predicate.name} is a predicate of planner's own rules, and other rules cannot add to it."
            detail += f" Other rules can add to: {', '.join(open_)}." if open_ else ""
            yield error("rules.core_predicate", "Rule for a built-in predicate", detail, span)


_DECLARATION = re.compile(r"^\.(?:decl|native) +([a-z]\w*)", re.M)


def declared_elsewhere(predicates: Predicates, beside: Iterable[tuple[str, str]]) -> Iterator[Diagnostic]:
    """Check that no predicate has a name that a file of the product outside this program declares, because a name must
    have one meaning in all programs."""
    for declared, name, place in _declarations(tuple(beside)):
        predicate = predicates.get(declared)
        if predicate is not None and predicate.is_core and predicate.span.filename != name:
            detail = (
                f"{declared} is declared at {place}, too. A predicate that several programs use is declared only once."
            )
            yield error("rules.duplicate", "Predicate declared twice", detail, predicate.span)


@lru_cache(1)
def _declarations(files: tuple[tuple[str, str], ...]) -> list[tuple[str, str, str]]:
    """(predicate, file, position) for each declaration. The result is cached, because the product's files never
    change."""
    return [
        (match[1], name, f"{name}:{text.count(chr(10), 0, match.start()) + 1}")
        for name, text in files
        for match in _DECLARATION.finditer(text)
    ]


def rule_names(rules: Iterable[Rule]) -> Iterator[Diagnostic]:
    """Check that rule names are unique, because proofs and `rules list` refer to rules by name."""
    seen: dict[str, Rule] = {}
    for rule in rules:
        if rule.name in seen:
            detail = f"The name {rule.name} is already taken by the rule at {seen[rule.name].span}."
            yield error("rules.duplicate_name", "Duplicate rule name", detail, rule.span)
        seen.setdefault(rule.name, rule)


_BRACES = re.compile(r"\{([^{}]*)\}")


def reasons(rules: Iterable[Rule]) -> Iterator[Diagnostic]:
    """Check that names in braces in a reason are variables of the rule."""
    for rule in rules:
        known = outer_names(rule.head, rule.body)
        for name in _BRACES.findall(rule.reason):
            if name not in known:
                detail = f"The reason mentions {{{name}}}, but the rule has no variable {name}.{nearest(name, known)}"
                yield error("rules.reason", "Unknown variable in a reason", detail, rule.span)


# ---------------------------------------------------------------- safety


def unsafe(rules: Iterable[Rule]) -> Iterator[Diagnostic]:
    """Check that every variable gets a value from an atom, an aggregate or a built-in relation, or by `=` from
    variables with values. This includes the variables in a head, a negation or a test. Check that wildcards occur only
    where no value is needed."""
    for rule in rules:
        yield from unsafe_rule(rule)


def unsafe_rule(rule: Rule) -> Iterator[Diagnostic]:
    outer = outer_names(rule.head, rule.body)
    for literal in (rule.head, *rule.body):
        yield from _wildcards(rule, literal, literal is rule.head)
    bound = bound_names(rule.body, set(), outer)
    reported: set[str] = set()
    for variable in (v for literal in (*rule.body, rule.head) for v in _variables_read(literal, outer)):
        if variable.name not in bound and variable.name not in reported:
            reported.add(variable.name)
            yield error("rules.unsafe_variable", *_without_value(rule.body, variable.name, bound), at(rule, variable))
    for literal in rule.body:
        if isinstance(literal, syntax.Aggregate):
            inner = bound_names(literal.body, bound & outer, outer | names(literal.result))
            for variable in inner_variables(literal):
                if variable.name not in inner and variable.name not in reported:
                    reported.add(variable.name)
                    detail = f"No literal between the braces or outside them assigns a value to {variable.name}."
                    yield error("rules.unsafe_variable", "Variable without a value", detail, at(rule, variable))


def _without_value(body: tuple[syntax.Literal, ...], name: str, bound: set[str]) -> tuple[str, str]:
    """(summary, detail) of the error that the variable `name` has no value."""
    for literal in body:
        if isinstance(literal, syntax.Builtin) and not literal.negated and literal.relation != syntax.MEMBER:
            waiting = sorted(names(*literal.inputs) - bound)
            columns = [column for column, _ in RELATIONS[literal.relation].inputs]
            if not waiting or name not in names(literal):
                continue
            needs = f"{literal.relation} needs values for {' and '.join(columns)} before it returns rows"
            if name in waiting:
                detail = (
                    f"{needs}, but no literal assigns one to {name}: the relation is "
                    f"{RELATIONS[literal.relation].declaration}."
                )
                return "Built-in relation without its inputs", detail
            return (
                "Variable without a value",
                f"No literal assigns a value to {name}: {needs}, but {waiting[0]} has none.",
            )
    detail = (
        f"No literal assigns a value to {name}. Bind it in a positive literal of the body: "
        "negations, tests and aggregates only read values."
    )
    return "Variable without a value", detail


def _variables_read(literal: syntax.Literal, outer: set[str]) -> Iterator[syntax.RuleVariable]:
    """The variables of a literal that need a value. In an aggregate, these are its result and the variables that also
    occur outside its braces."""
    if isinstance(literal, syntax.Aggregate):
        yield from variables(literal.result)
        yield from (v for v in inner_variables(literal) if v.name in outer)
    else:
        yield from variables(literal)


def bound_names(body: tuple[syntax.Literal, ...], given: set[str], outer: set[str]) -> set[str]:
    """The names in `given`, and the variables to which a body assigns values. `outer`: the names that are not local to
    an aggregate."""
    bound = set(given)
    for literal in body:
        if isinstance(literal, syntax.Atom):
            bound |= {a.name for a in literal.arguments if isinstance(a, syntax.RuleVariable)}
    changed = True
    while changed:
        changed = False
        for literal in body:
            target = assigned(literal, bound, outer)
            if target is not None:
                bound.add(target)
                changed = True
            elif isinstance(literal, syntax.Builtin) and (more := generated(literal, bound)):
                bound |= more
                changed = True
    return bound


def generated(literal: syntax.Builtin, bound: set[str]) -> set[str]:
    """The variables that a built-in relation binds if the variables in `bound` have values."""
    if literal.negated or not names(*literal.inputs) <= bound:
        return set()
    return {a.name for a in literal.outputs if isinstance(a, syntax.RuleVariable)} - bound


def assigned(literal: syntax.Literal, bound: set[str], outer: set[str]) -> str | None:
    """The variable to which a comparison or aggregate assigns a value if the variables in `bound` have values; None if
    there is none."""
    if isinstance(literal, syntax.Comparison) and literal.operator == "=":
        for target, value in literal.sides:
            if isinstance(target, syntax.RuleVariable) and target.name not in bound and names(value) <= bound:
                return target.name
    if isinstance(literal, syntax.Aggregate) and inner_names(literal) & outer <= bound:
        target = literal.result
        return target.name if isinstance(target, syntax.RuleVariable) and target.name not in bound else None
    return None


def _wildcards(rule: Rule, literal: syntax.Literal, is_head: bool) -> Iterator[Diagnostic]:
    for wildcard in _misplaced_wildcards(literal, is_head):
        where = "The head of a rule" if is_head else "A test or a computation"
        detail = f"{where} needs a value, but the wildcard _ has none. Use a variable."
        yield error("rules.unsafe_variable", "Wildcard without a value", detail, at(rule, wildcard))


def _misplaced_wildcards(node: syntax.RulePart, is_head: bool = False) -> Iterator[syntax.Wildcard]:
    """The wildcards at places where a value is needed. These are all places except arguments of atoms in bodies and
    outputs of built-in relations."""
    free: tuple[syntax.Term, ...] = node.arguments if isinstance(node, syntax.Atom) and not is_head else ()
    if isinstance(node, syntax.Builtin) and node.relation != syntax.MEMBER:
        free = node.outputs
    for child in node.children():
        if not isinstance(child, syntax.Wildcard):
            yield from _misplaced_wildcards(child)
        elif child not in free:
            yield child


# ---------------------------------------------------------------- form


MAX_LITERALS = 200


MAX_LITERALS_MADE = 1000


def form(rules: Iterable[Rule], most: int = MAX_LITERALS) -> Iterator[Diagnostic]:
    """Check the form of rules: functions exist and have the right number of arguments, atoms in bodies contain no
    computations, aggregates are not nested, constant patterns are valid, and bodies have at most `most` literals."""
    for rule in rules:
        for literal in (rule.head, *rule.body):
            yield from _form(rule, literal, literal is rule.head, False)
        length = len(rule.body) + max((len(x.body) for x in rule.body if isinstance(x, syntax.Aggregate)), default=0)
        if length > most:
            detail = f"A body can have at most {most} literals. Move a part of it to another predicate."
            yield error("rules.too_long", "Rule too long", detail, rule.span)


def _form(rule: Rule, node: syntax.RulePart, is_head: bool, inside: bool) -> Iterator[Diagnostic]:
    if isinstance(node, syntax.Atom) and not is_head:
        yield from _plain_columns(rule, node.arguments)
    elif isinstance(node, syntax.Builtin) and node.relation != syntax.MEMBER:
        yield from _builtin_form(rule, node)
    elif isinstance(node, syntax.RuleCall | syntax.Test):
        table = FUNCTIONS if isinstance(node, syntax.RuleCall) else TESTS
        signature = table.get(node.function)
        (asked, *_) = node.arguments or (None,)
        if node.function == "undefined" and isinstance(asked, syntax.RuleCall) and asked.function in RELATIONS:
            table = RELATIONS  # `undefined` tests whether the relation has no rows
            node = asked
            signature = table[node.function]
        if signature is None:
            detail = f"There is no function {node.function}.{nearest(node.function, FUNCTIONS)}"
            if node.function in TESTS or node.function in RELATIONS:
                what = "test" if node.function in TESTS else "relation"
                detail = f"{node.function} is a {what} and has no value: use it as a literal."
            yield error("rules.function", "Unknown function", detail, at(rule, node))
        elif len(signature.parameters) != len(node.arguments):
            given, wanted = len(node.arguments), len(signature.parameters)
            detail = f"{node.function} takes {count_text(wanted, 'argument')}, not {given}."
            yield error("rules.function", "Wrong number of arguments", detail, at(rule, node))
        else:
            yield from _constants(rule, signature, node.arguments)
    elif isinstance(node, syntax.Aggregate):
        if inside:
            detail = "Aggregates cannot be nested. Derive the inner one as a predicate first."
            yield error("rules.form", "Aggregate inside an aggregate", detail, at(rule, node))
        if not isinstance(node.result, syntax.RuleVariable):
            detail = f"Write the result as a variable: N = {node.formula}, and compare N."
            yield error("rules.form", "Aggregate without a result", detail, at(rule, node.result))
        elif node.result.name in inner_names(node):
            detail = f"{node.result} is the result of the aggregate and cannot be used between its braces."
            yield error("rules.form", "Aggregate over its own result", detail, at(rule, node))
        inside = True
    for child in node.children():
        yield from _form(rule, child, False, inside)


def _plain_columns(rule: Rule, columns: Iterable[syntax.Term]) -> Iterator[Diagnostic]:
    for argument in columns:
        if isinstance(argument, syntax.RuleCall):
            detail = f"Assign the value to a variable (X = {argument}), and write X here."
            yield error("rules.form", "Computation inside a literal", detail, at(rule, argument))


def _builtin_form(rule: Rule, node: syntax.Builtin) -> Iterator[Diagnostic]:
    """Check that a built-in relation has the right number of arguments, and that its outputs are not computed. (Inputs
    may be computed.)"""
    relation = RELATIONS[node.relation]
    if len(node.outputs) != len(relation.outputs) or len(node.inputs) != len(relation.inputs):
        given, wanted = len(node.inputs) + len(node.outputs), len(relation.inputs) + len(relation.outputs)
        detail = (
            f"{relation.declaration} has {count_text(wanted, 'column')}, but is used with "
            f"{count_text(given, 'argument')}."
        )
        yield error("rules.arity", "Wrong number of arguments", detail, at(rule, node))
        return
    yield from _constants(rule, relation, node.inputs)
    yield from _plain_columns(rule, node.outputs)


_KINDS = {
    "cidr": "a range of IP addresses",
    "constraint": "a version constraint",
    "duration": "a duration, such as 72h30m or 30d",
    "time": "a time in RFC 3339, such as 2026-01-31T12:00:00Z",
    "version": "a version",
    "json": "JSON",
    "yaml": "a single YAML document",
    "base64": "base64 of text",
    "gzip": "base64 of compressed text",
}


def _constants(rule: Rule, builtin: Entry, arguments: Sequence[syntax.Term]) -> Iterator[Diagnostic]:
    """Check that constant strings are of the kind that a built-in function requires."""
    for argument, (_, kind) in zip(arguments, builtin.inputs, strict=True):
        if kind not in KINDS or not isinstance(argument, syntax.Constant) or not isinstance(argument.value, str):
            continue
        if TESTS[KINDS[kind]].function(argument.value):
            continue
        if kind == "pattern":
            detail = "The pattern is not a valid regular expression of RE2 (no back references, no look-around)."
            if is_too_deep(argument.value):
                detail = f"The pattern has more than {MAX_NESTED:,} nested groups."
            yield error("rules.pattern", "Invalid pattern", detail, at(rule, argument))
        else:
            detail = f"{builtin.name} needs {_KINDS[kind]} here, but {argument} is not one."
            yield error("rules.constant", "String of the wrong kind", detail, at(rule, argument))


# ---------------------------------------------------------------- warnings


def unread(rules: Iterable[Rule], predicates: Predicates) -> Iterator[Diagnostic]:
    """Warn about derived predicates that no rule reads and that are neither outputs nor exported."""
    read = {atom.predicate for rule in rules for atom, _how in atoms(rule.body)}
    read |= {name for p in predicates.values() for name in p.inputs}
    for predicate in predicates.values():
        if predicate.name not in read and not (predicate.is_output or predicate.is_input or predicate.is_exported):
            detail = f"No rule reads {predicate.name}. Remove it, or add .output {predicate.name} if it is a result."
            yield warning("rules.unread", "Unused predicate", detail, predicate.span)


_LISTED = re.compile(r"[\w-][\w.-]*(?:(?:, | or |, or )[\w-][\w.-]*)+")
_ASIDE = re.compile(r" \([^()]*\)|[:;.](?: .*|$)")


def listed_words(predicate: Predicate, column: str) -> list[str]:
    """The complete list of strings that may be in a column, from the doc comment of the predicate; empty if the comment
    contains no such list."""
    for line in predicate.doc.split("\n"):
        name, _, meaning = line.strip().partition("  ")
        if name == column and line[:1] == " ":
            text = _ASIDE.sub("", meaning.strip())
            return re.split(r",? or |, ", text) if _LISTED.fullmatch(text) else []
    return []


def unknown_words(rules: Iterable[Rule], predicates: Predicates) -> Iterator[Diagnostic]:
    """Warn about constant strings that are compared with a column, but are not in the complete list of its strings (see
    `listed_words`), so that no row can match."""
    reported_spans: set[Span] = set()  # alternatives of one rule are expanded to rules at the same position
    for rule in rules:
        for term, predicate, column in _asked_words(rule, predicates):
            words = listed_words(predicate, column)
            place = at(rule, term)
            if words and term.value not in words and place not in reported_spans:
                reported_spans.add(place)
                detail = f"No row of {predicate.name} has {term} as its {column}. Possible values: {', '.join(words)}."
                yield warning("rules.unknown_word", "Unknown word", detail, place)


def _asked_words(rule: Rule, predicates: Predicates) -> Iterator[tuple[syntax.Constant, Predicate, str]]:
    """(constant, predicate, column) for each string with which a column is compared, in an atom or by `=`, `!=` or
    `in`."""
    sources: dict[str, tuple[Predicate, str]] = {}
    for atom, how in atoms(rule.body):
        predicate = predicates[atom.predicate]
        for term, column in zip(atom.arguments, predicate.columns, strict=True):
            if isinstance(term, syntax.Constant) and isinstance(term.value, str):
                yield term, predicate, column.name
            elif isinstance(term, syntax.RuleVariable) and how == "positive" and listed_words(predicate, column.name):
                sources.setdefault(term.name, (predicate, column.name))
    for literal in rule.body if sources else ():
        compared = _compared_terms(literal)
        source = next(
            (sources[t.name] for t in compared if isinstance(t, syntax.RuleVariable) and t.name in sources), None
        )
        if source is not None:
            written = (t for t in compared if isinstance(t, syntax.Constant) and isinstance(t.value, str))
            yield from ((term, *source) for term in written)


def _compared_terms(literal: syntax.Literal) -> list[syntax.Term]:
    if isinstance(literal, syntax.Comparison):
        return literal.children() if literal.operator in ("=", "!=") else []
    return literal.children() if isinstance(literal, syntax.Builtin) and literal.relation == syntax.MEMBER else []


def whole_decimals(rules: Iterable[Rule]) -> Iterator[Diagnostic]:
    """Warn about integers that are written as decimals (1.0), because they are not equal to integers, to values in
    facts or to computed values."""
    reported_spans: set[Span] = set()
    for rule in rules:
        terms: list[syntax.Term] = [t for atom, _ in atoms(rule.body) for t in atom.arguments]
        terms += rule.head.arguments
        terms += (term for literal in rule.body for term in _compared_terms(literal))
        for term in terms:
            if (
                not isinstance(term, syntax.Constant)
                or isinstance(term.value, str | int)
                or term.value != int(term.value)
            ):
                continue
            place = at(rule, term)
            if place not in reported_spans:
                reported_spans.add(place)
                whole = int(term.value)
                detail = f"{term} never equals {whole} or a computed whole number. Write {whole}."
                yield warning("rules.whole_decimal", "Whole number as a decimal", detail, place)


def unproduced(rules: Iterable[Rule], predicates: Predicates) -> Iterator[Diagnostic]:
    """Warn about predicates that no rule derives, unless they are inputs, open or native."""
    heads = {rule.head.predicate for rule in rules}
    for predicate in predicates.values():
        given = predicate.is_input or predicate.is_open or predicate.operator is not None
        if predicate.name not in heads and not given:
            detail = f"No rule derives {predicate.name}. Add .input {predicate.name} if its facts are provided."
            yield warning("rules.unproduced", "Predicate without rules", detail, predicate.span)


def single_use(rules: Iterable[Rule]) -> Iterator[Diagnostic]:
    """Warn about variables that occur only once in a rule and its reason, because this is usually a mistake. Names that
    begin with `_` are not reported."""
    written: dict[tuple[str, int, int], list[Rule]] = {}
    for rule in rules:  # alternatives of one rule are expanded to rules at the same position
        key = (rule.file, rule.span.start, rule.span.end) if " (or " in rule.name else ("", rule.number, 0)
        written.setdefault(key, []).append(rule)
    for alternatives in written.values():
        rule = alternatives[0]
        seen: dict[str, list[syntax.RuleVariable]] = {}
        literals = {(x.start, x.end) if x.end else id(x): x for each in alternatives for x in (each.head, *each.body)}
        for literal in literals.values():
            everything = (
                *variables(literal),
                *(inner_variables(literal) if isinstance(literal, syntax.Aggregate) else ()),
            )
            for variable in everything:
                seen.setdefault(variable.name, []).append(variable)
        for name, places in seen.items():
            if len(places) == 1 and name[0] != "_" and f"{{{name}}}" not in rule.reason:
                detail = f"{name} occurs only once in the rule. Write _ if its value does not matter."
                detail += f" The truth value is written {name.lower()}." if name in ("True", "False") else ""
                yield warning("rules.single_use", "Variable used once", detail, at(rule, places[0]))


# ---------------------------------------------------------------- termination


def computed_recursion(rules: list[Rule], strata: Iterable[Stratum]) -> Iterator[Diagnostic]:
    """Check that, within a recursive component, no computed value is used in its own computation. Without computed
    values, there are only finitely many values, so the evaluation ends. Columns are connected if a rule of the
    component passes values from one to the other (as in weak acyclicity: Fagin, Kolaitis, Miller, Popa, Data exchange,
    2005). A cycle through a computed column is an error."""
    for stratum in strata:
        if stratum.is_recursive:
            yield from _flows(stratum, [rules[n] for n in stratum.rules])


Place = tuple[str, int]


def _flows(stratum: Stratum, rules: list[Rule]) -> Iterator[Diagnostic]:
    graph: dict[Place, dict[Place, None]] = {}
    computed: list[tuple[Place, Place, Rule, syntax.Term]] = []
    for rule in rules:
        places: dict[str, set[Place]] = {}
        finite: set[str] = set()
        for literal in rule.body:
            if isinstance(literal, syntax.Atom):
                for i, argument in enumerate(literal.arguments):
                    if isinstance(argument, syntax.RuleVariable):
                        if literal.predicate in stratum.predicates:
                            places.setdefault(argument.name, set()).add((literal.predicate, i))
                        else:
                            finite.add(argument.name)  # the value is one of finitely many values of an earlier stratum
        for name in finite:
            places[name] = set()
        origins = _origins(rule.body, places)
        for i, argument in enumerate(rule.head.arguments):
            target = (rule.head.predicate, i)
            if isinstance(argument, syntax.RuleVariable) and argument.name in places:
                for place in places[argument.name]:
                    graph.setdefault(place, {})[target] = None
                    graph.setdefault(target, {})
            else:
                for name in names(argument):
                    for place in origins.get(name, places.get(name, set())):
                        graph.setdefault(place, {})[target] = None
                        graph.setdefault(target, {})
                        computed.append((place, target, rule, argument))
    component = {place: i for i, group in enumerate(components(graph)) for place in group}
    reported: set[int] = set()
    for place, target, rule, argument in computed:
        if component[place] == component[target] and rule.number not in reported:
            reported.add(rule.number)
            detail = (
                f"{argument} is computed from {place[0]}, and {place[0]} depends on {rule.head.predicate}: such a "
                "recursion might never end. Compute the value outside the recursion."
            )
            yield error("rules.computed_recursion", "Computation in a recursion", detail, at(rule, argument))


def _origins(body: tuple[syntax.Literal, ...], places: dict[str, set[Place]]) -> dict[str, set[Place]]:
    """{variable: columns of the recursive component from which its value comes} for each variable that is computed by
    `=`, an aggregate or a built-in relation."""
    computations: list[tuple[syntax.Term, set[str]]] = []
    for literal in body:
        if isinstance(literal, syntax.Comparison) and literal.operator == "=":
            computations += [(target, names(term)) for target, term in literal.sides]
        elif isinstance(literal, syntax.Aggregate):
            computations.append((literal.result, inner_names(literal)))
        elif isinstance(literal, syntax.Builtin) and not literal.negated:
            given = names(*literal.inputs)
            computations += [(output, given) for output in literal.outputs]
    origins: dict[str, set[Place]] = {}
    changed = True
    while changed:
        changed = False
        for target, read in computations:
            if isinstance(target, syntax.RuleVariable) and target.name not in places:
                items: set[Place] = set()
                for name in read:
                    items |= origins.get(name, places.get(name, set()))
                if not items <= origins.get(target.name, set()):
                    origins[target.name] = origins.get(target.name, set()) | items
                    changed = True
    return origins
