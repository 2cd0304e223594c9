"""Numbers: 512-bit binary floating point, as OpenTofu computes them (go-cty over Go's big.Float, round to nearest even).

A whole number is kept as a Python int, any other as a gmpy2 mpfr of precision 512.
"""

from __future__ import annotations

from typing import Any

import gmpy2

PRECISION = 512
CONTEXT = gmpy2.context(precision=PRECISION, emax=gmpy2.get_emax_max(), emin=gmpy2.get_emin_min())


def normal(x: Any) -> Any:
    """An mpfr as a language number: int when it is whole (infinities and negative zero stay mpfr)."""
    if gmpy2.is_integer(x) and not (gmpy2.is_zero(x) and gmpy2.is_signed(x)):
        return int(x)
    return x


def parse_number(text: str) -> Any:
    """The number that a decimal text denotes. Raises ValueError when it is none."""
    with gmpy2.local_context(CONTEXT):
        return normal(gmpy2.mpfr(text, PRECISION))
