from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from language.strategies import numbers as some_numbers
from random_tests import examples

from planner.foundation.values import numbers, operations
from planner.foundation.values.numbers import from_float, number_to_text, parse_number
from planner.foundation.values.value import identical


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0.1", "0.1"),
        ("1e3", "1000"),
        ("1.50", "1.5"),
        ("5.", "5"),
        (".5", "0.5"),
        ("+7", "7"),
        ("1p4", "16"),
        ("-0", "-0"),
        ("-0.0", "-0"),
        ("Inf", "+Inf"),
        ("-inf", "-Inf"),
        ("1e-7", "0.0000001"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("1e160", "1" + "0" * 160),
    ],
)
def test_text_of_a_parsed_number(text: str, shown: str) -> None:
    assert number_to_text(parse_number(text)) == shown


@pytest.mark.parametrize(
    "text", ["", "x", "1x", "0x10", " 1", "1_000", "NaN", "1e", ".", "--1", "1e9999999999", "\u0661"]
)
def test_no_number(text: str) -> None:
    with pytest.raises(ValueError, match=r"number|exponent"):
        parse_number(text)


def test_arithmetic_is_binary_with_512_bits() -> None:
    one_tenth, two_tenths = parse_number("0.1"), parse_number("0.2")
    assert numbers.add(one_tenth, two_tenths) == parse_number("0.3")
    assert numbers.subtract(1, parse_number("0.9")) != one_tenth
    huge = parse_number("1e160")
    assert numbers.subtract(numbers.add(huge, 1), huge) == 0
    assert number_to_text(numbers.divide(1, 3)) == "0." + "3" * 154 + "5"
    assert number_to_text(numbers.remainder(parse_number("5.5"), parse_number("0.3"))).startswith("0.0999999")


def test_division_by_zero_is_infinite_and_zero_by_zero_undefined() -> None:
    assert number_to_text(numbers.divide(5, 0)) == "+Inf"
    assert number_to_text(numbers.divide(-5, 0)) == "-Inf"
    assert numbers.remainder(5, 0) == 5
    with pytest.raises(ArithmeticError):
        numbers.divide(0, 0)
    with pytest.raises(ArithmeticError):
        numbers.multiply(0, numbers.infinity())
    with pytest.raises(ArithmeticError):
        numbers.subtract(numbers.infinity(), numbers.infinity())


def test_zero_keeps_its_sign() -> None:
    assert number_to_text(numbers.negate(0)) == "-0"
    assert number_to_text(numbers.multiply(0, -3)) == "-0"
    assert number_to_text(numbers.remainder(numbers.negate(0), -3)) == "0"
    assert numbers.negate(0) == 0


def test_doubles_keep_their_precision() -> None:
    big = from_float(2.0**64)
    assert number_to_text(big) == "18446744073709550000"
    assert big == 2**64
    assert from_float(3.0).__class__ is int
    assert number_to_text(from_float(0.1)) == "0.1"


def test_enormous_numbers_cost_no_memory() -> None:
    assert parse_number("1e99999999") > 10**1000
    assert number_to_text(parse_number("1e5000")) == "1" + "0" * 5000


@given(some_numbers)
@settings(max_examples=examples(200))
def test_text_reads_back(number: object) -> None:
    text = number_to_text(number)
    assert parse_number(text) == number
    if isinstance(number, int):
        assert text == str(number)


@given(st.integers(-(2**250), 2**250), st.integers(-(2**250), 2**250))
@settings(max_examples=examples(100))
def test_whole_numbers_are_exact(a: int, b: int) -> None:
    assert numbers.add(a, b) == a + b
    assert numbers.multiply(a, b) == a * b
    assert numbers.add(a, b).__class__ is int
    if b:
        assert numbers.remainder(a, b) == int(Decimal(0)) + (abs(a) % abs(b)) * (1 if a >= 0 else -1)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (from_float(0.1), parse_number("0.1"), True),
        (from_float(0.1), parse_number("0.1000000000000000055511151231257827"), False),
        (from_float(1 / 3), parse_number("0.3333333333333333"), True),
        (from_float(1e23), parse_number("1e23"), False),
        (from_float(1e23), 99999999999999991611392, True),
        (parse_number("-0"), 0, True),
        (parse_number("-0"), parse_number("0.1"), False),
        (parse_number("Inf"), parse_number("Inf"), True),
        (parse_number("Inf"), parse_number("-Inf"), False),
        (parse_number("0.1"), parse_number("0.2"), False),
        (1, parse_number("1.5"), False),
    ],
)
def test_equality(left: object, right: object, same: bool) -> None:
    """A number that took the way through a float64 is the decimal that it stands for."""
    assert numbers.same_number(left, right) is numbers.same_number(right, left) is same
    assert identical(left, right) is identical((left,), (right,)) is same
    assert operations.equal(left, right) is operations.equal((left,), (right,)) is same
