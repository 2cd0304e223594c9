"""The user's cache is believed only when he wrote it: nothing that others put there is run."""

from __future__ import annotations

import hashlib
import marshal
import os
import pickle
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from planner.foundation.support import assets, store
from planner.foundation.support.assets import PACKAGE
from planner.foundation.support.store import Shelf

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("PLANNER_NO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    forget()
    return tmp_path


def forget() -> None:
    """As another process would."""
    store._home.cache_clear()
    store._key_of.cache_clear()


SHELF = Shelf("f", 100)


def kept(shelf: Shelf = SHELF, name: str = "n") -> bytes | None:
    forget()
    data = shelf.load(name)
    return None if data is None else bytes(data)


def test_what_was_stored_is_there(home: Path) -> None:
    other = Shelf("g", 100)
    SHELF.store("n", b"data")
    SHELF.store("empty", b"")
    assert (kept(), kept(name="empty"), kept(name="other"), kept(other)) == (b"data", b"", None, None)
    SHELF.store("n", b"newer")
    assert kept() == b"newer"
    key = home / "state" / "planner" / "cache-key"
    assert [p.stat().st_mode & 0o777 for p in (key, key.parent, home / "cache" / "planner" / "f")] == [
        0o600,
        0o700,
        0o700,
    ]
    assert sorted(p.name for p in (home / "cache" / "planner" / "f").iterdir()) == ["empty", "n"]


def test_what_is_read_in_parts(home: Path) -> None:
    SHELF.store("n", b"head", b"0123456789")
    entry = SHELF.open("n")
    assert entry is not None and (entry.head, entry.read(2, 3), entry.read(9, 9)) == (b"head", b"234", b"9")
    assert SHELF.load("n") is None  # the rest is under no sum, so that nobody takes it for the head
    path = home / "cache" / "planner" / "f" / "n"
    for data in (b"", path.read_bytes()[:35], path.read_bytes()[:42], path.read_bytes().replace(b"head", b"HEAD")):
        path.write_bytes(data)
        assert SHELF.open("n") is None


def test_objects(home: Path) -> None:
    SHELF.keep("n", [1, "a"])
    assert SHELF.value("n") == [1, "a"]
    SHELF.store("n", b"cnowhere\nnothing\n.")
    assert SHELF.value("n") is None


def test_one_key_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    assert SHELF.name("a", "bc") != SHELF.name("ab", "c") != SHELF.name("abc")
    assert SHELF.name("\ud800") != SHELF.name("\ud801")
    made = Shelf("f", 1, made_by=("language/syntax", "config.lark"))
    before = made.name("x")
    assert before == made.name("x") != SHELF.name("x")
    monkeypatch.setattr("planner.foundation.support.store.RELEASE", "another")
    store._stamp.cache_clear()
    assert made.name("x") != before
    store._stamp.cache_clear()


def test_shelves_name_code_that_is_there() -> None:
    """A directory that is not there would not count, and an entry of older code would be believed."""
    shelves: list[Shelf] = []
    for path in sorted(Path(PACKAGE).rglob("*.py")):
        if "Shelf(" in path.read_text("utf-8") and path.name != "store.py":
            module = import_module(".".join(path.relative_to(Path(PACKAGE).parent).with_suffix("").parts))
            shelves += [value for value in vars(module).values() if isinstance(value, Shelf)]
    directories = {name for shelf in shelves for name in shelf.made_by if not name.endswith(".lark")}
    assert len(shelves) > 7 and len(directories) > 4
    assert [name for name in sorted(directories) if not Path(PACKAGE, name).is_dir()] == []


def test_code_that_changes_makes_other_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PACKAGE", tmp_path)
    made, names = Shelf("f", 1, made_by=("code",)), set()
    (tmp_path / "code").mkdir()
    for text in (None, "a = 1", "a = 12"):
        if text is not None:
            (tmp_path / "code" / "a.py").write_text(text)
        store._stamp.cache_clear()
        names.add(made.name("x"))
    assert len(names) == 3
    store._stamp.cache_clear()


def test_old_entries_make_room(home: Path) -> None:
    folder = home / "cache" / "planner" / "f"
    shelf, large = Shelf("f", 3), Shelf("f", 300)
    for i in range(5):
        large.store(f"{i}", b"")
        os.utime(folder / f"{i}", (i, i))
    assert len(list(folder.iterdir())) == 5
    shelf.store("5", b"")
    assert sorted(entry.name for entry in folder.iterdir()) == ["3", "4", "5"]
    Shelf("f", 3, most_bytes=100).store("6", b"x" * 200)  # the newest stays, however large
    assert [entry.name for entry in folder.iterdir()] == ["6"]


def test_entries_in_use_stay_on_a_small_shelf(home: Path) -> None:
    folder = home / "cache" / "planner" / "f"
    shelf = Shelf("f", 3)
    for age, name in enumerate(("used", "b", "c")):
        shelf.store(name, b"x")
        os.utime(folder / name, (age, age))
    assert shelf.load("used") == b"x"
    shelf.store("d", b"x")
    assert {path.name for path in folder.iterdir()} == {"used", "c", "d"}


def test_a_large_shelf_is_trimmed_now_and_then(home: Path) -> None:
    folder = home / "cache" / "planner" / "f"
    shelf = Shelf("f", 300)
    for i in range(303):
        shelf.store(f"1{i:03}", b"")
        os.utime(folder / f"1{i:03}", (i, i))
    assert len(list(folder.iterdir())) == 303
    shelf.store("00", b"")
    assert len(list(folder.iterdir())) == 300 and not (folder / "1003").exists()


def test_switched_off(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SHELF.store("n", b"data")
    monkeypatch.setenv("PLANNER_NO_CACHE", "1")
    SHELF.store("m", b"data")
    assert (kept(), kept(name="m"), SHELF.open("n"), SHELF.value("n")) == (None, None, None, None)
    monkeypatch.delenv("PLANNER_NO_CACHE")
    assert (kept(), kept(name="m")) == (b"data", None)


def writable(path: Path, bits: int = 0o022) -> None:
    path.chmod(path.stat().st_mode | bits)


def as_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


def as_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def renamed(path: Path) -> None:
    """One entry in the place of another one."""
    SHELF.store("m", b"of another name")
    os.replace(path.with_name("m"), path)


def changed(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes((data[-1] ^ 1,)))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20])


ENTRY, FOLDER, OURS, CACHE = "cache/planner/f/n", "cache/planner/f", "cache/planner", "cache"
KEY, STATE = "state/planner/cache-key", "state/planner"


@pytest.mark.parametrize(
    ("where", "spoil"),
    [
        (ENTRY, writable),
        (ENTRY, as_link),
        (ENTRY, as_pipe),
        (ENTRY, renamed),
        (ENTRY, changed),
        (ENTRY, cut),
        (FOLDER, writable),
        (FOLDER, as_link),
        (OURS, writable),
        (OURS, as_link),
        (CACHE, writable),
        (KEY, Path.unlink),
        (KEY, cut),
        (KEY, as_link),
        (KEY, as_pipe),
        (KEY, lambda path: writable(path, 0o044)),
        (STATE, writable),
        (STATE, as_link),
        (STATE, shutil.rmtree),
    ],
)
def test_what_others_may_have_written_counts_for_nothing(home: Path, where: str, spoil: Any) -> None:
    SHELF.store("n", b"data")
    assert kept() == b"data"
    spoil(home / where)
    assert kept() is None
    SHELF.store("n", b"again")  # and does no harm
    assert kept() in (b"again", None)


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can give files away")
@pytest.mark.parametrize("where", [ENTRY, FOLDER, OURS, CACHE, KEY, STATE])
def test_what_is_of_another_user_counts_for_nothing(home: Path, where: str) -> None:
    SHELF.store("n", b"data")
    os.chown(home / where, 12345, 12345)
    assert kept() is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can give files away")
def test_the_superuser_leaves_nothing_in_the_cache_of_others(home: Path) -> None:
    (home / "cache").mkdir()
    os.chown(home / "cache", 12345, 12345)
    assert assets.cache_dir() is None
    assert not list((home / "cache").iterdir())


def test_a_shared_folder_that_keeps_what_is_ones_own_will_do(home: Path) -> None:
    (home / "cache").mkdir()
    (home / "cache").chmod(0o1777)
    SHELF.store("n", b"data")
    assert kept() == b"data"


def test_another_user_has_another_key(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a CI server whose cache was restored."""
    SHELF.store("n", b"data")
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "other"))
    assert kept() is None


def test_what_is_known_of_a_fleet_is_not_told_to_others(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout may come with a folder `.planner` that says that nothing has changed."""
    from planner.workflows.batch.cache import Cache

    def analysis() -> Any:
        forget()
        return Cache(str(home / "fleet")).analysis("plan", "key")

    (home / "fleet").mkdir()
    cache = Cache(str(home / "fleet"))
    cache.keep_analysis("plan", "key", {"all": "clean"})
    cache.save()
    assert analysis() == {"all": "clean"}
    shutil.copytree(home / "fleet", home / "moved")
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "other"))
    assert analysis() is None
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    shutil.rmtree(home / "fleet")
    os.rename(home / "moved", home / "again")
    forget()
    assert Cache(str(home / "again")).analysis("plan", "key") is None


class Evil:
    def __reduce__(self) -> Any:
        return os.mkdir, ("evil",)


EVIL = pickle.dumps(Evil())
CODE = compile("__import__('os').mkdir('evil')", "", "exec")


@pytest.mark.slow
def test_hostile_entries_are_not_run(tmp_path: Path) -> None:
    """Every entry that a run left is replaced by what would run code, with the sums that an attacker can make."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "main.tf").write_text('resource "terraform_data" "a" {\n  input = 1\n}\n')
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "PYTHONPATH": str(ROOT),
    }

    def plan() -> str:
        words = [sys.executable, "-m", "planner", "plan", "-no-color"]
        done = subprocess.run(words, cwd=tmp_path / "work", env=environment, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    first = plan()
    entries = [path for path in (tmp_path / "cache" / "planner").rglob("*") if path.is_file()]
    assert {path.parent.name for path in entries} == {"derived", "grammars", "programs", "syntax"}
    for path in entries:
        for content in (EVIL, marshal.dumps((CODE, EVIL, EVIL)), marshal.dumps(CODE)):
            path.write_bytes(content)
            for sealed in (content, hashlib.sha256(content).digest() + content, bytes(store.SEAL) + content):
                path.write_bytes(sealed)
    assert plan() == first
    assert not (tmp_path / "work" / "evil").exists()
    for path in entries:  # once more with another content, as the entries are good again
        path.write_bytes(hashlib.sha256(EVIL).digest() + EVIL)
    assert plan() == first
    assert not (tmp_path / "work" / "evil").exists()
