"""Laws that the functions of a family keep, and corners that records do not show."""

from __future__ import annotations

import base64
import gzip
import hashlib
import ipaddress
import json
import math
import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples

from planner.foundation.values.types import NUMBER, STRING
from planner.foundation.values.value import NULL, List, Null
from planner.language.functions import CallContext, FunctionError, call, lookup
from planner.language.functions.encoding import CsvError, records
from planner.language.functions.filesystem import PatternError, glob
from planner.language.functions.json_reader import read as read_json
from planner.language.functions.network import parse_network
from planner.language.functions.numeric import double_power, exp, log
from planner.language.functions.yaml import YamlError
from planner.language.functions.yaml import read as read_yaml
from planner.language.functions.yaml import write as write_yaml

FEW = settings(max_examples=examples(60))
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
plain_values = st.recursive(
    st.one_of(texts, st.integers(-(10**20), 10**20), st.booleans(), st.just(NULL)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple), st.dictionaries(st.text("abc-é \n", max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


def run(name: str, *arguments: Any, base_dir: str = ".") -> Any:
    function = lookup(name)
    assert function is not None
    return call(function, arguments, CallContext(base_dir=base_dir))


def nfc(text: str) -> str:
    import unicodedata

    return unicodedata.normalize("NFC", text)


def normal(value: Any) -> Any:
    """The value with all its strings in NFC, as the language keeps them."""
    if isinstance(value, str):
        return nfc(value)
    if isinstance(value, tuple):
        return tuple(map(normal, value))
    return {nfc(k): normal(v) for k, v in value.items()} if isinstance(value, dict) else value


# ---------------------------------------------------------------- encodings


@FEW
@given(plain_values)
def test_yaml_reads_what_it_writes(value: Any) -> None:
    assert read_yaml(write_yaml(normal(value))) == normal(value)


@FEW
@given(plain_values)
def test_json_reads_what_it_writes(value: Any) -> None:
    assert read_json(run("jsonencode", normal(value))) == normal(value)


@FEW
@given(texts)
def test_base64_and_gzip_and_url(text: str) -> None:
    text = nfc(text)
    assert run("base64decode", run("base64encode", text)) == text
    assert run("base64gunzip", run("base64gzip", text)) == text
    assert gzip.decompress(base64.b64decode(run("base64gzip", text))) == text.encode()
    assert run("urldecode", run("urlencode", text)) == text
    assert run("textdecodebase64", run("textencodebase64", text, "UTF-16LE"), "utf-16le") == text


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ('{"a": 1, "a": 2}', {"a": 2}),
        (" [1, null] ", (1, NULL)),
        ("1 ]", 1),
        ('"\\ud800"', "\ufffd"),
        ("123456789012345678901234567890", 123456789012345678901234567890),
    ],
)
def test_json_corners(source: str, value: Any) -> None:
    assert run("jsondecode", source) == value


@pytest.mark.parametrize("source", ["", "{", "01", "NaN", "'a'", '{"a": 1, "a": "x"}', "[1,]", "1 2", '"\t"'])
def test_json_errors(source: str) -> None:
    with pytest.raises(FunctionError):
        run("jsondecode", source)


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        ("a,b\n1,2\n", [["a", "b"], ["1", "2"]]),
        ("a\r\n\r\n1\r", [["a"], ["1"]]),
        ('a\n"x\r\ny"\n', [["a"], ["x\ny"]]),
        ('"a""b",', [['a"b', ""]]),
        ("\n\n", []),
    ],
)
def test_csv_records(source: str, rows: list[list[str]]) -> None:
    assert [fields for _, fields in records(source)] == rows


@pytest.mark.parametrize("source", ['a"b', '"a', '"a"b'])
def test_csv_errors(source: str) -> None:
    with pytest.raises(CsvError):
        list(records(source))


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("|-\n  12", "12"),
        ("- yes\n- 017\n- 0o17\n- 0x1F\n- 1_000", (True, 17, 15, 31, "1_000")),
        ("2001-12-14 21:59:43.1", "2001-12-14T21:59:43Z"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n  d: 2", {"a": {"b": 1}, "c": {"b": 1, "d": 2}}),
        ("1: a\ntrue: b", {"1": "a", "true": "b"}),
        ("!!str 5", "5"),
    ],
)
def test_yaml_corners(source: str, value: Any) -> None:
    assert read_yaml(source) == value


@pytest.mark.parametrize(
    "source", ["", "a: 1\n---\nb: 2", "&a [*a]", "*a", ".nan", "!foo x", "? [a]\n: b", "~: 1", "["]
)
def test_yaml_errors(source: str) -> None:
    with pytest.raises(YamlError):
        read_yaml(source)


def test_yaml_folds_long_strings_and_quotes_keys() -> None:
    text = write_yaml({"k": " ".join(["word"] * 30), "long" * 40: (1, ())})
    assert text.count("\n") == 5
    assert "? " in text
    assert write_yaml(5) == "5\n...\n"


# ---------------------------------------------------------------- numbers and dates


@FEW
@given(st.floats(1e-300, 1e300), st.floats(-40, 40))
def test_floating_point_is_close_to_the_c_library(x: float, y: float) -> None:
    assert log(x) == pytest.approx(math.log(x), rel=1e-15, abs=1e-15)
    assert exp(y) == pytest.approx(math.exp(y), rel=1e-15)
    try:
        expected = x**y
    except OverflowError:
        expected = math.inf
    if expected > 1e-290:
        assert double_power(x, y) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (0.0, -1.0, math.inf),
        (-0.0, -3.0, -math.inf),
        (-8.0, 1 / 3, math.nan),
        (-1.0, math.inf, 1.0),
        (2.0, 1024.0, math.inf),
    ],
)
def test_powers_at_the_edges(x: float, y: float, expected: float) -> None:
    result = double_power(x, y)
    assert result == expected or (math.isnan(result) and math.isnan(expected))


@FEW
@given(st.integers(-(10**12), 10**12), st.integers(2, 62))
def test_parseint_reads_every_base(number: int, base: int) -> None:
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    rest, text = abs(number), ""
    while rest or not text:
        rest, digit = divmod(rest, base)
        text = digits[digit] + text
    assert run("parseint", "-" * (number < 0) + text, base) == number


@FEW
@given(st.integers(-(10**9), 10**9), st.integers(0, 30), st.sampled_from(["", "-", "+", " ", "0"]))
def test_whole_numbers_format_like_printf(number: int, width: int, flag: str) -> None:
    verb = f"%{flag}{width or ''}d"
    assert run("format", verb, number) == verb % number


@FEW
@given(st.floats(-1e9, 1e9).map(lambda x: round(x, 4)), st.integers(0, 8), st.sampled_from("feE"))
def test_fractions_format_like_printf(x: float, places: int, letter: str) -> None:
    from planner.foundation.values.numbers import from_float

    assert run("format", f"%.{places}{letter}", from_float(x)) == f"%.{places}{letter}" % x


@FEW
@given(
    st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)),
    st.integers(-86_400, 86_400),
    st.integers(-14 * 60, 14 * 60),
)
def test_dates_agree_with_datetime(moment: datetime, seconds: int, offset: int) -> None:
    zone = f"{'-' if offset < 0 else '+'}{abs(offset) // 60:02}:{abs(offset) % 60:02}" if offset else "Z"
    written = moment.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0") + zone
    later = moment.replace(microsecond=0) + timedelta(seconds=seconds)
    assert run("timeadd", written, f"{seconds}s") == later.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0") + zone
    assert run("formatdate", "EEEE D MMMM", written) == f"{moment:%A} {moment.day} {moment:%B}"
    assert run("timecmp", written, written) == 0


# ---------------------------------------------------------------- strings, lists, networks


@FEW
@given(st.lists(texts, max_size=6))
def test_lists_of_strings(strings: list[str]) -> None:
    values = List(STRING, tuple(map(nfc, strings)))
    assert run("sort", run("reverse", values)) == run("sort", values)
    assert run("sort", values).items == tuple(sorted(values.items))
    assert run("toset", run("distinct", values)) == run("toset", values)
    assert run("length", run("distinct", values)) == len(set(values.items))
    assert run("flatten", run("chunklist", values, 2)) == values.items


@FEW
@given(texts, st.integers(-5, 14), st.integers(0, 6))
def test_parts_of_strings(text: str, offset: int, length: int) -> None:
    text = nfc(text)
    part = run("substr", text, offset, length)
    assert part in text
    assert length == 0 or run("length", part) <= length
    assert run("length", run("strrev", text)) <= run("length", text)


def test_matches_and_replacements() -> None:
    assert run("regex", "(?P<a>x)(?P<a>y)?", "x") == {"a": Null(STRING)}
    assert run("regexall", "", "日本") == List(STRING, ("", "", ""))
    assert run("replace", "日1日a", r"/\B/", "-") == "-日1日a"
    assert run("replace", "abc", "/(b)|(z)/", "[${1}$2$x$$]") == "a[b$]c"
    for pattern in (r"\C", "(", "(?=a)", "(a)(?P<b>c)"):
        with pytest.raises(FunctionError):
            run("regex", pattern, "a")


@FEW
@given(st.integers(0, 2**32 - 1), st.integers(0, 28), st.integers(1, 4), st.integers(0, 15))
def test_subnets_lie_in_their_network(address: int, prefix: int, bits: int, number: int) -> None:
    network = ipaddress.ip_network((address, prefix), strict=False)
    number %= 2**bits
    subnet = run("cidrsubnet", f"{ipaddress.ip_address(address)}/{prefix}", bits, number)
    assert subnet == str(list(network.subnets(bits))[number])
    assert run("cidrcontains", str(network), subnet) is True
    assert run("cidrhost", str(network), -1) == str(network.broadcast_address)
    assert run("cidrnetmask", str(network)) == str(network.netmask)


@FEW
@given(st.integers(0, 2**128 - 1), st.integers(0, 128))
def test_ipv6_prefixes_read_and_write(address: int, prefix: int) -> None:
    network = ipaddress.IPv6Network((address, prefix), strict=False)
    if network.network_address.ipv4_mapped is None:
        assert str(parse_network(str(network))) == str(network)
        assert parse_network(network.exploded).first == int(network.network_address)


# ---------------------------------------------------------------- files


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("a.txt", "b.txt", ".hidden", "dir/c.txt", "dir/sub/d.json", "[x].txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "link").symlink_to(tmp_path / "dir")
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.txt", ["[x].txt", "a.txt", "b.txt"]),
        ("**/*.txt", ["[x].txt", "a.txt", "b.txt", "dir/c.txt", "link/c.txt"]),
        ("{a,b}.txt", ["a.txt", "b.txt"]),
        ("[!a].txt", ["b.txt"]),
        ("\\[x\\].txt", ["[x].txt"]),
        ("dir/**", ["dir/c.txt", "dir/sub/d.json"]),
        ("*/{c.txt,sub/*}", ["dir/c.txt", "dir/sub/d.json", "link/c.txt", "link/sub/d.json"]),
        (".*", [".hidden"]),
        ("nope/*", []),
    ],
)
def test_fileset(tree: Path, pattern: str, found: list[str]) -> None:
    assert list(run("fileset", ".", pattern, base_dir=str(tree)).items) == found


@pytest.mark.parametrize("pattern", ["[", "{a", "a}", "x\\", "[]"])
def test_bad_patterns(pattern: str) -> None:
    with pytest.raises(PatternError):
        glob(pattern)


def test_files(tree: Path) -> None:
    base = str(tree)
    assert run("file", "dir/c.txt", base_dir=base) == "dir/c.txt"
    assert run("filemd5", "a.txt", base_dir=base) == hashlib.md5(b"a.txt").hexdigest()
    assert run("filebase64", str(tree / "a.txt")) == base64.b64encode(b"a.txt").decode()
    assert run("fileexists", "a.txt", base_dir=base) is True
    assert run("fileexists", "nope", base_dir=base) is False
    with pytest.raises(FunctionError, match="directory"):
        run("fileexists", "dir", base_dir=base)
    with pytest.raises(FunctionError) as caught:
        run("file", "nope", base_dir=base)
    assert caught.value.argument == 0
    (tree / "binary").write_bytes(b"\xff")
    with pytest.raises(FunctionError, match="filebase64"):
        run("file", "binary", base_dir=base)


def test_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert run("pathexpand", "~/x/../y") == "/home/me/y"
    assert run("abspath", "a/../b") == f"{os.getcwd()}/b"
    assert [run("basename", p) for p in ("", "/", "a/b/", "..")] == [".", "/", "b", ".."]
    assert [run("dirname", p) for p in ("", "/", "a/b/", "a", "//x")] == [".", "/", "a/b", ".", "/"]
    with pytest.raises(FunctionError):
        run("pathexpand", "~other/x")


# ---------------------------------------------------------------- secrets


def test_rsadecrypt() -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

    key = rsa.generate_private_key(65537, 1024)
    formats = serialization.PrivateFormat
    plain = serialization.NoEncryption()
    message = base64.b64encode(key.public_key().encrypt("gehéim".encode(), padding.PKCS1v15())).decode()
    for form in (formats.TraditionalOpenSSL, formats.PKCS8, formats.OpenSSH):
        pem = key.private_bytes(serialization.Encoding.PEM, form, plain).decode()
        assert run("rsadecrypt", message, pem) == "gehéim"
    other = base64.b64encode(bytes(128)).decode()
    with pytest.raises(FunctionError, match="decrypted"):
        run("rsadecrypt", other, pem)
    curve = ec.generate_private_key(ec.SECP256R1()).private_bytes(serialization.Encoding.PEM, formats.PKCS8, plain)
    with pytest.raises(FunctionError, match="RSA"):
        run("rsadecrypt", message, curve.decode())


def test_bcrypt() -> None:
    import bcrypt

    hashed = run("bcrypt", "secret", 4)
    assert hashed.startswith("$2a$04$")
    assert bcrypt.checkpw(b"secret", hashed.encode())
    for arguments in (("x" * 73,), ("x", 32), ("x", 4, 5)):
        with pytest.raises(FunctionError):
            run("bcrypt", *arguments)


def test_uuids_are_written_alike() -> None:
    assert len(run("uuid")) == 36
    assert run("uuid") != run("uuid")
    plain = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
    forms = [plain, plain.replace("-", ""), "{" + plain + "}", "urn:uuid:" + plain, plain.upper(), "dns"]
    assert len({run("uuidv5", form, "x") for form in forms}) == 1
    with pytest.raises(FunctionError):
        run("uuidv5", plain[:-1], "x")


def test_numbers_survive_json(tmp_path: Path) -> None:
    third = run("jsondecode", "0.1")
    assert json.loads(run("jsonencode", (third, 10**30))) == [0.1, 10**30]
    assert run("sum", List(NUMBER, (third, third, third))) != run("jsondecode", "0.30000000000000004")
