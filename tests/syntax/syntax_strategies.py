"""Random configurations: right ones cut and stirred, and tokens in any order."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import strategies as st

CASES = Path(__file__).parent / "cases"
_PIECES = (
    "{ } ( ) [ ] \" ${ %{ ~} = == => ... . * .* [*] , : :: ? for in if x 1 1.5 - ! && || / // /* */ # \\ ' ` ; é $ % "
    '< > & | null a.b a.0 "s" $${ for.x %%{'
)
_SPACED = ("\n", "\r", "\r\n", " ", "<<A\n", "<<-A\n", "\nA\n", "%{ if x }", "%{ endif }", "%{for x in y}", "%{endfor}")
PIECES = [*_PIECES.split(), *_SPACED]


def cases(name: str) -> list[list[str]]:
    loaded: list[list[str]] = json.loads((CASES / name).read_text(encoding="utf-8"))
    return loaded


CONFIGURATIONS = [text for text, _ in cases("configurations.json")] + [
    f"b {{\n  a = {text}\n}}\n" for text, _ in cases("expressions.json")
]


@st.composite
def stirred(draw: st.DrawFn) -> str:
    """A right configuration with a few pieces inserted, removed or replaced."""
    text = draw(st.sampled_from(CONFIGURATIONS))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        end = min(len(text), at + draw(st.integers(0, 3)))
        text = text[:at] + draw(st.sampled_from(["", *PIECES])) + text[end:]
    return text


scrambled = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)
texts = st.one_of(stirred(), scrambled, st.text(max_size=40))
