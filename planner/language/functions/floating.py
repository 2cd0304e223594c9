"""Logarithm and power of doubles, to the last bit as OpenTofu's released programs compute them.

`pow` and `log` of the language work on doubles, and C's library rounds some results another way. The methods: natural
logarithm after FreeBSD's e_log.c; exponential after N. Shibata, "Efficient evaluation methods of elementary functions
suitable for SIMD computation" (2010), with fused multiply-add; power by repeated squaring of the mantissa.
"""

from __future__ import annotations

import math
import struct

import gmpy2

_DOUBLE = gmpy2.context(precision=53)
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
_LOG2_E = 1.4426950408889634073599246810018920
_LN2_UPPER = 0.69314718055966295651160180568695068359375
_LN2_LOWER = 0.28235290563031577122588448175013436025525412068e-12
_TAYLOR = (
    2.4801587301587301587e-5,
    1.9841269841269841270e-4,
    1.3888888888888888889e-3,
    8.3333333333333333333e-3,
    4.1666666666666666667e-2,
    1.6666666666666666667e-1,
    0.5,
    1.0,
)


def log(x: float) -> float:
    """The natural logarithm; minus infinity at zero, NaN below."""
    if math.isnan(x) or x == math.inf:
        return x
    if x == 0:
        return -math.inf
    if x < 0:
        return math.nan
    bits = struct.unpack("<Q", struct.pack("<d", x))[0]
    mantissa = struct.unpack("<d", struct.pack("<Q", (bits & 0x000FFFFFFFFFFFFF) | 0x3FE0000000000000))[0]
    k = float((bits >> 52 & 0x7FF) - 0x3FE)
    if mantissa < 7.07106781186547524401e-01:
        mantissa *= 2
        k -= 1
    f = mantissa - 1
    l1, l2, l3, l4, l5, l6, l7 = _LOG
    s = f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    r = s2 * (l1 + s4 * (l3 + s4 * (l5 + s4 * l7))) + s4 * (l2 + s4 * (l4 + s4 * l6))
    half = 0.5 * f * f
    return k * _LN2_HIGH - ((half - (s * (half + r) + k * _LN2_LOW)) - f)  # type: ignore[no-any-return]


def _fused(x: float, y: float, z: float) -> float:
    result: float = float(_DOUBLE.fma(gmpy2.mpfr(x, 53), gmpy2.mpfr(y, 53), gmpy2.mpfr(z, 53)))
    return result


def exp(x: float) -> float:
    """The exponential of a finite number."""
    if x > 7.09782712893384e02:
        return math.inf
    if x < -800:
        return 0.0
    exponent = round(x * _LOG2_E)
    x = _fused(-float(exponent), _LN2_UPPER, x)
    x = _fused(-float(exponent), _LN2_LOWER, x)
    x *= 0.0625
    total = _TAYLOR[0]
    for coefficient in _TAYLOR[1:]:
        total = _fused(x, total, coefficient)
    x *= total
    for _ in range(3):
        x *= x + 2.0
    return math.ldexp(_fused(x + 2.0, x, 1.0), exponent)


def _is_odd(x: float) -> bool:
    return abs(x) < 2**53 and x == int(x) and int(x) % 2 == 1


def power(x: float, y: float) -> float:
    """x to the y, with the special cases of IEEE 754; NaN where there is no real result."""
    if y == 0 or x == 1:
        return 1.0
    if y == 1:
        return x
    if x == 0:
        negative = math.copysign(1, x) < 0 and _is_odd(y)
        if y < 0:
            return -math.inf if negative else math.inf
        return x if negative else 0.0
    if math.isinf(y):
        if x == -1:
            return 1.0
        return 0.0 if (abs(x) < 1) == (y > 0) else math.inf
    if math.isinf(x):
        if x < 0:
            return power(-0.0, -y)
        return 0.0 if y < 0 else math.inf
    if y in (0.5, -0.5):
        root = math.sqrt(x) if x >= 0 else math.nan
        return root if y > 0 else 1 / root
    fraction, whole = math.modf(abs(y))
    if fraction != 0 and x < 0:
        return math.nan
    if whole >= 2**63:
        if x == -1:
            return 1.0
        return 0.0 if (abs(x) < 1) == (y > 0) else math.inf
    result, exponent = 1.0, 0
    if fraction != 0:
        if fraction > 0.5:
            fraction -= 1
            whole += 1
        result = exp(fraction * log(x))
    mantissa, step = math.frexp(x)
    remaining = int(whole)
    while remaining:
        if not -4096 <= step <= 4096:
            exponent += step  # already beyond what a double can hold, one way or the other
            break
        if remaining & 1:
            result *= mantissa
            exponent += step
        mantissa *= mantissa
        step *= 2
        if mantissa < 0.5:
            mantissa += mantissa
            step -= 1
        remaining >>= 1
    if y < 0:
        result = 1 / result
        exponent = -exponent
    try:
        return math.ldexp(result, exponent)
    except OverflowError:
        return math.copysign(math.inf, result)
