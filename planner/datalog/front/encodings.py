"""Built-in functions of texts that are written in base64."""

from __future__ import annotations

from planner.datalog.front.values import Value

LONGEST = 16_000_000
"""of a text that is decoded or encoded, in characters"""


def is_base64(value: Value) -> bool:
    """Whether a text is base64 of text in UTF-8."""
    return base64_decode(value) is not None


def base64_decode(text: Value) -> str | None:
    """The text whose base64 this is: of either alphabet, with or without padding."""
    from base64 import b64decode

    if type(text) is not str or len(text) > LONGEST:
        return None
    plain = "".join(text.split()).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return b64decode(plain + "=" * (-len(plain) % 4), validate=True).decode("utf-8")
    except ValueError:
        return None


def base64_encode(text: Value) -> str | None:
    """The base64 of a text in UTF-8."""
    from base64 import b64encode

    if type(text) is not str or len(text) > LONGEST:
        return None
    return b64encode(text.encode("utf-8", "replace")).decode("ascii")
