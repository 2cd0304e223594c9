"""Answers as objects of other libraries, where these are installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any


def to_pandas(columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> Any:
    """A pandas DataFrame."""
    import pandas

    return pandas.DataFrame(list(rows), columns=list(columns))


def to_polars(columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> Any:
    """A polars DataFrame. A column of it has one type: one with several becomes text."""
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
