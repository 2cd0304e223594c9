"""An import within a function is there for one reason: what it loads is not needed at every start. So it stands where
it is seen, first in its function, and what it names is not loaded with its module anyway."""

from __future__ import annotations

from import_graph import imports, loaded_with


def test_nothing_is_delayed_that_is_loaded_anyway() -> None:
    delayed = (one for one in imports() if one.kind == "function")
    assert [str(one) for one in delayed if one.target in loaded_with(one.module)] == []


def test_delayed_imports_stand_first_in_their_functions() -> None:
    """Behind the docstring only; one that may fail within its `try` or `with suppress`. What comes after a quick way
    out, or is needed in one branch only, is a function of its own."""
    assert [str(one) for one in imports() if not one.stands_first] == []
