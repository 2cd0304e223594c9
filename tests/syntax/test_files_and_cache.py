"""Reading files, and the cache of what they gave."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from syntax_show import show

from planner.foundation.support import assets
from planner.foundation.vocabulary.span import Source
from planner.language.syntax import files, tables
from planner.language.syntax.body import NativeBody
from planner.language.syntax.files import load_file, load_text
from planner.language.syntax.json_body import JsonBody
from planner.language.syntax.parse import STARTS, parse_config


def test_native_and_json_by_name(tmp_path: Path) -> None:
    native, json = tmp_path / "a.tf", tmp_path / "a.tf.json"
    native.write_text("a = 1\n")
    json.write_text('{"a": 1}')
    body, source, diagnostics = load_file(native, "dir/a.tf")
    assert (type(body), source.filename, source.text, diagnostics) == (NativeBody, "dir/a.tf", "a = 1\n", [])
    body, source, diagnostics = load_file(json, "dir/a.tf.json")
    assert (type(body), diagnostics) == (JsonBody, [])


@pytest.mark.parametrize("name", ["missing.tf", "folder", "nul\0"])
def test_what_cannot_be_read_is_reported(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    body, _, (problem,) = load_file(tmp_path / name, "x.tf")
    assert (body, problem.code) == (None, "file.unreadable")


@pytest.mark.parametrize("name", ["x.tf", "x.tf.json"])
def test_invalid_utf8(name: str) -> None:
    body, _, (problem,) = load_text(b"# \xc3\xa9\n\xff = 1\n", name)
    assert (body, problem.code) == (None, "file.encoding")
    assert problem.subject is not None
    position = problem.subject.start_position
    assert (position.line, position.column, position.byte) == (2, 1, 5)


def test_byte_order_mark_and_line_ends() -> None:
    body, _, diagnostics = load_text("\ufeffa = 1\r\nb = <<A\r\nx\r\nA\r\n".encode(), "x.tf")
    assert (show(body), diagnostics) == ('{a=1 b="x\\r\\n"}', [])


def test_a_file_with_mistakes_gives_what_could_be_read() -> None:
    body, _, diagnostics = load_text(b"a = = 1\nb = 2\n", "x.tf")
    assert (show(body), len(diagnostics)) == ("{a=unknown b=2}", 1)


# ---------------------------------------------------------------- cache

TEXT = b'b "x" {\n  a = "${y.z[0]}-${1.5}"\n  c = null\n}\n'


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []


def parses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files parsed from now on."""
    parsed: list[str] = []

    def spy(source: Source) -> object:
        parsed.append(source.filename)
        return parse_config(source)

    monkeypatch.setattr("planner.language.syntax.parse.parse_config", spy)
    return parsed


def test_the_second_reading_comes_from_the_cache(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = parses(monkeypatch)
    first, _, _ = load_text(TEXT, "x.tf")
    second, source, diagnostics = load_text(TEXT, "other/name.tf")
    assert (parsed, diagnostics) == (["x.tf"], [])
    assert repr(first).replace("x.tf", "other/name.tf") == repr(second)
    assert isinstance(second, NativeBody)
    (block,) = second.blocks
    assert block.source is source
    assert block.header_span.text == 'b "x"'
    assert str(block.header_span) == "other/name.tf:1"
    assert all(path.stat().st_mode & 0o077 == 0 for path in [own_cache])


def test_json_is_cached_apart(own_cache: Path) -> None:
    for _ in range(2):
        assert isinstance(load_text(b"{}", "x.json")[0], JsonBody)
        assert load_text(b"{}", "x.tf")[2] != []


def test_what_has_mistakes_is_not_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = parses(monkeypatch)
    first, second = load_text(b"a = = 1\n", "x.tf")[2], load_text(b"a = = 1\n", "x.tf")[2]
    assert parsed == ["x.tf", "x.tf"]
    assert first == second != []


@pytest.mark.parametrize("damage", [b"", b"x", b"\0" * 40, None])
def test_damaged_entries_are_written_anew(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes | None
) -> None:
    load_text(TEXT, "x.tf")
    for entry in entries(own_cache):
        data = entry.read_bytes()
        entry.write_bytes(data[:-1] + bytes([data[-1] ^ 1]) if damage is None else damage)
    parsed = parses(monkeypatch)
    load_text(TEXT, "x.tf")
    load_text(TEXT, "x.tf")
    assert parsed == ["x.tf"]


def test_an_entry_that_is_no_syntax_is_ignored(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import hashlib

    load_text(TEXT, "x.tf")
    wrong = b"cnowhere\nnothing\n."  # a pickle of something that does not exist
    for entry in entries(own_cache):
        entry.write_bytes(hashlib.sha256(wrong).digest() + wrong)
    parsed = parses(monkeypatch)
    assert load_text(TEXT, "x.tf")[2] == []
    assert parsed == ["x.tf"]


def test_switched_off(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_NO_CACHE", "1")
    load_text(TEXT, "x.tf")
    assert entries(own_cache) == []


def test_no_place_for_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert assets.cache_dir() is None
    assert load_text(TEXT, "x.tf")[2] == []


def test_syntax_too_deep_for_the_cache_is_still_parsed(own_cache: Path) -> None:
    text = ("a = " + "(" * 3000 + "1" + ")" * 3000 + "\n").encode()
    for _ in range(2):
        body, _, diagnostics = load_text(text, "x.tf")
        assert isinstance(body, NativeBody)
        assert diagnostics == []


def test_nothing_is_left_beside_the_entries(own_cache: Path) -> None:
    load_text(TEXT, "x.tf")
    assert [entry for entry in entries(own_cache) if entry.suffix] == []


# ---------------------------------------------------------------- tables


def test_tables_come_from_the_cache(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from planner.language.syntax.build import Builder

    first = tables.load_tables("config.lark", STARTS, partial(getattr, Builder))

    def fail(*_: object) -> None:
        raise AssertionError("built again")

    monkeypatch.setattr(tables, "construct", fail)
    second = tables.load_tables("config.lark", STARTS, partial(getattr, Builder))
    assert list(first.starts) == list(second.starts) == sorted(STARTS, key=STARTS.index)
    assert _shape(first.starts["file"]) == _shape(second.starts["file"])


def _shape(row: dict[str, object]) -> dict[str, object]:
    return {
        symbol: action[tables.SYMBOL] if isinstance(action, dict) else action for symbol, action in sorted(row.items())
    }


def test_files_import_no_parser_for_what_is_cached(tmp_path: Path) -> None:
    import subprocess
    import sys

    load_text(TEXT, "x.tf")
    code = (
        "import sys; from planner.language.syntax.files import load_text; "
        f"body, _, d = load_text({TEXT!r}, 'x.tf'); "
        "print(len(body.blocks), 'lark' in sys.modules, 'planner.language.syntax.lexer' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "False", "False"]
    assert files.load_text(TEXT, "x.tf")[2] == []


def test_only_the_file_that_was_touched_is_parsed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from planner.language.config.load import load_config

    for n in range(100):
        resources = (f'resource "terraform_data" "r{n}_{i}" {{\n  input = {i}\n}}\n' for i in range(10))
        (tmp_path / f"{n}.tf").write_text("".join(resources))
    parsed: list[str] = []
    monkeypatch.setattr(
        "planner.language.syntax.parse.parse_config", lambda s: parsed.append(s.filename) or parse_config(s)
    )
    for expected in (100, 0):
        parsed.clear()
        load_config(str(tmp_path))
        assert len(parsed) == expected
    with (tmp_path / "42.tf").open("a") as file:
        file.write("locals {\n  more = 1\n}\n")
    config, problems = load_config(str(tmp_path))
    assert config is not None and not problems
    assert [Path(name).name for name in parsed] == ["42.tf"] and "more" in config.root.locals
