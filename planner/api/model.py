"""Records that library calls return. The records are immutable, and `attrs.asdict` converts them to dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, overload

from planner.api.values import without
from planner.foundation.support.notebook import graph_html, proof_html, table_html
from planner.foundation.vocabulary.diagnostic import Failure, has_errors
from planner.foundation.vocabulary.records import evolve, field, frozen

if TYPE_CHECKING:
    from planner.answers.explain.causes import Because, CauseStep
    from planner.logic.model.graph import Graph as GraphModel


@frozen
class Cause:
    """An input that caused a change, or a step between the input and the change.

    `what` is a name as in `why`: `var.image`, `local.tags["a"]`, `file config/app.tpl`, `-replace`, or an object.
    `kind` is the kind of a root cause, such as variable, text, file, drift or replace_by_request. It is "" for a step
    between a root cause and the change. `before` and `value` are the former and the current value as text, "" if a
    value is not recorded or must not be shown. `origin` is a remark, for example the source of a variable's value.
    `file` and `line` are the position of the input or step. The first line has the number 1, and 0 means that there is
    no position."""

    what: str
    kind: str = ""
    before: str = ""
    value: str = ""
    origin: str = ""
    file: str = ""
    line: int = 0

    @classmethod
    def of(cls, step: CauseStep) -> Cause:
        place = step.json.get("source", {})
        where = (str(place.get("file", "")), int(place.get("line", 0))) if "file" in place else ("", 0)
        return cls(step.what, step.kind, step.before, step.value, step.note, *where)

    def __str__(self) -> str:
        values = f"   {self.before} -> {self.value}" if self.before or self.value else ""
        place = f"   {self.file}:{self.line}" if self.file else ""
        return f"{self.what}{values}{place}"


@frozen
class Explanation:
    """The explanation of a change. `roots` are the first causes of the change, such as changed inputs. `chain` leads
    from the first root to the change. `certain`: whether the roots are exactly the causes of the change; if not, the
    roots are only candidates, for example because former values are missing. `checked`: whether the roots were
    confirmed by evaluating the change again with each root reverted."""

    roots: tuple[Cause, ...] = ()
    chain: tuple[Cause, ...] = ()
    certain: bool = False
    checked: bool = False

    @classmethod
    def of(cls, because: Because) -> Explanation:
        """The public form of an explanation."""
        chain = tuple(map(Cause.of, because.steps))
        return cls(tuple(map(Cause.of, because.roots)), chain, not because.is_guess, because.is_checked)


def cleared_causes(explanation: Explanation, secrets: Iterable[str]) -> Explanation:
    """The explanation with the strings `secrets` replaced by `(sensitive value)`."""
    if not secrets:
        return explanation
    roots, chain = (
        tuple(
            evolve(c, what=without(c.what, secrets), before=without(c.before, secrets), value=without(c.value, secrets))
            for c in causes
        )
        for causes in (explanation.roots, explanation.chain)
    )
    return evolve(explanation, roots=roots, chain=chain)


@frozen
class Fix:
    """Edits that together remove a change, an edge or a denial. `places` contains (text, file, line) for each edit.
    `checked`: whether the edits were tested and have this effect. `note`: how the edits were tested, or why they were
    not tested."""

    places: tuple[tuple[str, str, int], ...]
    checked: bool
    note: str = ""


@frozen
class Difference:
    """A difference between two plans. `name` is the object or output, `before` and `after` are the actions on it in the
    first and the second plan ("no-op" for no action)."""

    name: str
    before: str
    after: str
    explanation: Explanation = Explanation()


@frozen(eq=False)
class Proof:
    """The derivation of a fact. `document` is the derivation as `planner why -json` prints it, and `text` is the
    derivation as `planner why` prints it."""

    document: Mapping[str, Any] = field(repr=False)
    text: str

    @property
    def goal(self) -> tuple[Any, ...]:
        """The proved fact: a relation and its columns."""
        return tuple(self.document["goal"])

    @property
    def rules(self) -> tuple[str, ...]:
        """The names of the rules that the proof uses, sorted."""
        return tuple(sorted({step["rule"] for step in self.document.get("proofs", {}).values() if "rule" in step}))

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return proof_html(self.text)


@frozen(eq=False)
class Rows(Sequence[tuple[Any, ...]]):
    """The answer to a query: a table. `columns` are the variables of the query in order of appearance; the rows are
    sorted. A query without variables has no columns, and one empty row if it is true."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __repr__(self) -> str:
        return f"<{len(self.rows)} rows of {', '.join(self.columns) or 'no columns'}>"

    @overload
    def __getitem__(self, index: int) -> tuple[Any, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[Any, ...]]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def as_dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries {column: value}."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame. Raises ImportError if pandas is not installed."""
        return to_pandas(self.columns, self.rows)

    def to_polars(self) -> Any:
        """The rows as a polars DataFrame; a column with several types, or with Decimals, becomes a column of strings.
        Raises ImportError if polars is not installed."""
        return to_polars(self.columns, self.rows)

    def _repr_html_(self) -> str:
        return table_html(self.columns, self.rows)


@frozen
class Vertex:
    """A vertex of a graph. `kind` is, for example, resource, variable or provider. `module` is the address of the
    module ("" for the root module). `object` is the address of the vertex's object within the module."""

    name: str
    kind: str
    module: str
    object: str

    @property
    def address(self) -> str:
        """The address of the object, including its module."""
        return f"{self.module}.{self.object}" if self.module else self.object


@frozen(eq=False)
class Graph:
    """The graph of an operation. `vertices` contains the vertices by name. `edges` are sorted pairs (dependent,
    dependency); the work on a dependency is completed before the work on its dependents begins. `reduced` omits the
    edges that paths of other edges imply."""

    vertices: Mapping[str, Vertex] = field(repr=False)
    edges: tuple[tuple[str, str], ...] = field(repr=False)
    reduced: tuple[tuple[str, str], ...] = field(repr=False)

    @classmethod
    def of(cls, graph: GraphModel) -> Graph:
        """The public form of a graph. Raises Failure for a graph that could not be built."""
        if has_errors(graph.diagnostics):
            raise Failure(graph.diagnostics)
        vertices = {n: Vertex(n, node.kind, node.module, node.object) for n, node in sorted(graph.nodes.items())}
        pairs, reduced = (
            tuple((one, other) for one in sorted(edges) for other in sorted(edges[one]))
            for edges in (graph.edges, graph.reduced)
        )
        return cls(vertices, pairs, reduced)

    def __repr__(self) -> str:
        return f"<Graph of {len(self.vertices)} vertices and {len(self.edges)} edges>"

    def dependencies(self, name: str) -> tuple[str, ...]:
        """The vertices for which a vertex waits directly. Raises KeyError for an unknown vertex."""
        self.vertices[name]
        return tuple(dependency for dependent, dependency in self.edges if dependent == name)

    def dependents(self, name: str) -> tuple[str, ...]:
        """The vertices that wait for a vertex directly. Raises KeyError for an unknown vertex."""
        self.vertices[name]
        return tuple(dependent for dependent, dependency in self.edges if dependency == name)

    def to_networkx(self) -> Any:
        """A networkx DiGraph with an edge from each dependent to its dependencies; vertices have the attributes kind,
        module and object. Raises ImportError if networkx is not installed."""
        details = {v.name: {"kind": v.kind, "module": v.module, "object": v.object} for v in self.vertices.values()}
        return to_networkx(details, self.edges)

    def _repr_html_(self) -> str:
        return graph_html(tuple(self.vertices), self.reduced)


# Converts answers to objects of other libraries, if they are installed.


def to_pandas(columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> Any:
    """A pandas DataFrame."""
    import pandas

    return pandas.DataFrame(list(rows), columns=list(columns))


def to_polars(columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> Any:
    """A polars DataFrame. Each column of a DataFrame has one type; a column with several types, or with Decimals,
    becomes a column of strings."""
    import polars

    table = list(rows)
    series = []
    for number, name in enumerate(columns):
        values = [row[number] for row in table]
        kinds = {type(value) for value in values if value is not None}
        if len(kinds) > 1 or kinds & {Decimal}:
            values = [None if value is None else str(value) for value in values]
        series.append(polars.Series(name, values))
    return polars.DataFrame(series)


def to_networkx(vertices: Mapping[str, Mapping[str, Any]], edges: Iterable[tuple[str, str]]) -> Any:
    """A networkx DiGraph."""
    import networkx

    graph = networkx.DiGraph()
    graph.add_nodes_from(vertices.items())
    graph.add_edges_from(edges)
    return graph
