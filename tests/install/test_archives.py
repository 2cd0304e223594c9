"""Hostile archives: whatever is in one stays in the directory that it is unpacked into, or nothing is installed."""

from __future__ import annotations

import gzip
import io
import os
import random
import stat
import tarfile
import warnings
import zipfile
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path

import pytest
from install.conftest import Project
from install.world import PLATFORM, Reply, World, tarball

from planner.foundation.support import archive as archives
from planner.foundation.support.archive import check_links, stays, unpack
from planner.foundation.vocabulary.diagnostic import InstallError

Entry = tuple[str, bytes, str] | tuple[str, bytes, str, int]
"""name, type as tar has it, content or target, mode"""
FILE, FOLDER, LINK, SAME = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE


def tar(*entries: Entry, form: int = tarfile.PAX_FORMAT) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=form) as made:
        for name, kind, content, *mode in entries:
            info = tarfile.TarInfo(name)
            info.type, info.mode = kind, mode[0] if mode else 0o644
            if kind == FILE:
                info.size = len(content)
            else:
                info.linkname = content
            made.addfile(info, io.BytesIO(content.encode()))
    return stream.getvalue()


def zipped(*entries: Entry, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(stream, "w") as made:  # of the same name
        for name, kind, content, *mode in entries:
            info = zipfile.ZipInfo("x")
            info.filename = name
            info.create_system, info.compress_type = 3, method
            formats = {FILE: stat.S_IFREG, LINK: stat.S_IFLNK, FOLDER: stat.S_IFDIR, tarfile.FIFOTYPE: stat.S_IFIFO}
            info.external_attr = (formats[kind] | (mode[0] if mode else 0o644)) << 16
            made.writestr(info, content)
    return stream.getvalue()


def long_links() -> list[Entry]:
    """Links whose real path is longer than a path may be, so that a check of real paths gives up (CVE-2025-4517)."""
    deep, steps, made, at = "d" * 247, "abcdefghijklmnop", [], ""
    for step in steps:
        made += [(f"{at}{deep}", FOLDER, ""), (f"{at}{step}", LINK, deep)]
        at += f"{deep}/"
    way = "/".join(steps) + "/" + "l" * 254
    made.append((way, LINK, "../" * len(steps)))
    made.append(("escape", LINK, f"{way}/../../outside"))
    made.append(("escape/evil", FILE, "x"))
    return made  # type: ignore[return-value]


def forged(change: Callable[[bytearray], None]) -> bytes:
    """A tar archive of one file whose header says something else, with a check sum that is right."""
    data = bytearray(tar(("a", FILE, "x")))
    change(data)
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    return bytes(data)


def field(start: int, value: bytes) -> Callable[[bytearray], None]:
    return lambda data: data.__setitem__(slice(start, start + len(value)), value)


def pax(records: bytes) -> bytes:
    header = bytearray(tarfile.TarInfo("pax").tobuf(tarfile.USTAR_FORMAT))
    header[156:157] = b"x"
    header[124:136] = b"%011o\0" % len(records)
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + records.ljust(-(-len(records) // 512) * 512, b"\0") + tar(("a", FILE, "x"))


def renamed(data: bytes, new: bytes) -> bytes:
    """A zip archive in which the name `abcd` is another one of the same length, which its maker would not write."""
    return data.replace(b"abcd", new)


BOMB = "\0" * (8 << 20)
OUT, LEADS = "a member whose path is outside the archive", "a link to a target outside"
HOSTILE = {
    "parent": (tar(("../evil", FILE, "x")), OUT),
    "parent in the middle": (tar(("a/../../evil", FILE, "x")), OUT),
    "parent with backslashes": (tar(("a\\..\\..\\evil", FILE, "x")), OUT),
    "absolute": (tar(("/tmp/evil", FILE, "x")), OUT),
    "absolute with a backslash": (tar(("\\evil", FILE, "x")), OUT),
    "a drive": (tar(("C:evil", FILE, "x")), OUT),
    "a folder above": (tar(("..", FOLDER, "")), OUT),
    "a long name": (tar(("d/" * 600 + "x", FILE, "x")), "an invalid name"),
    "long links": (tar(*long_links()), "archive has"),
    "a link above": (tar(("l", LINK, ".."), ("l/evil", FILE, "x")), LEADS),
    "a link by another": (tar(("a", LINK, "."), ("b", LINK, "a/../.."), ("b/evil", FILE, "x")), LEADS),
    "an absolute link": (tar(("l", LINK, "/tmp")), LEADS),
    "an absolute link with a backslash": (tar(("l", LINK, "\\tmp")), LEADS),
    "an empty link": (tar(("l", LINK, "")), LEADS),
    "through an inner link": (tar(("d", FOLDER, ""), ("l", LINK, "d"), ("l/x", FILE, "x")), "not a directory"),
    "over an inner link": (tar(("l", LINK, "x"), ("l", FILE, "x")), "several members"),
    "a directory over a link": (tar(("d", FOLDER, ""), ("l", LINK, "d"), ("l", FOLDER, "")), "not a directory"),
    "a hard link above": (tar(("l", SAME, "../../etc/passwd")), OUT),
    "an absolute hard link": (tar(("l", SAME, "/etc/passwd")), OUT),
    "a hard link to a link": (
        tar(("x", FILE, ""), ("s", LINK, "x"), ("h", SAME, "s")),
        "a link to a file that it does not contain",
    ),
    "a hard link to a folder": (tar(("d", FOLDER, ""), ("h", SAME, "d")), "a link to a file that it does not contain"),
    "a hard link to nothing": (tar(("h", SAME, "none/x")), "a link to a file that it does not contain"),
    "a hard link to itself": (tar(("h", SAME, "h")), "a link to a file that it does not contain"),
    "a device": (tar(("null", tarfile.CHRTYPE, "")), "neither file nor directory"),
    "a disk": (tar(("sda", tarfile.BLKTYPE, "")), "neither file nor directory"),
    "a pipe": (tar(("p", tarfile.FIFOTYPE, "")), "neither file nor directory"),
    "holes": (pax(b"29 GNU.sparse.major=1\n29 GNU.sparse.minor=0\n".replace(b"29", b"22")), "sparse file"),
    "the same name": (tar(("a", FILE, "1"), ("a", FILE, "2")), "several members"),
    "the same name, spelled otherwise": (tar(("a", FILE, "1"), ("./a", FILE, "2")), "several members"),
    "the same name in other letters": (tar(("Main.tf", FILE, "1"), ("main.tf", FILE, "2")), "several members"),
    "below a file": (tar(("a", FILE, "1"), ("a/b", FILE, "2")), "not a directory"),
    "a folder that is a file": (tar(("a/b", FILE, "1"), ("a", FILE, "2")), "several members"),
    "no name": (tar(("./", FILE, "1")), "several members"),
    "nothing": (tar(), "is empty"),
    "a size below zero": (forged(field(124, b"\xff" * 12)), "damaged"),
    "a size that is none": (forged(field(124, b"1_0\0")), "damaged"),
    "a size beyond the end": (forged(field(124, b"00000777777\0")), "damaged"),
    "a size of 16 EiB": (forged(field(124, b"\x80" + b"\0" * 3 + b"\xff" * 8)), "damaged"),
    "an unknown type": (forged(field(156, b"S")), "neither file nor directory"),
    "a wrong check sum": (tar(("a", FILE, "x")).replace(b"a", b"b", 1), "damaged"),
    "cut in a header": (tar(("a", FILE, "x"))[:700][:300], "damaged"),
    "cut in a file": (tar(("a", FILE, "x" * 5000))[:2000], "damaged"),
    "records without an end": (pax(b"9" * 40_000), "damaged"),
    "a record that is too long": (pax(b"99 path=x\n"), "damaged"),
    "a header of 1 GiB": (forged(lambda d: (field(156, b"L")(d), field(124, b"10000000000\0")(d))[0]), "damaged"),
    "an old long name above": (tar(("../" + "n" * 150, FILE, "x"), form=tarfile.GNU_FORMAT), OUT),
    "zip: parent": (zipped(("../evil", FILE, "x")), OUT),
    "zip: backslashes": (zipped(("a\\..\\..\\evil", FILE, "x")), OUT),
    "zip: absolute": (zipped(("/tmp/evil", FILE, "x")), OUT),
    "zip: a drive": (zipped(("C:\\evil", FILE, "x")), OUT),
    "zip: a link above": (zipped(("l", LINK, "../x")), LEADS),
    "zip: an absolute link": (zipped(("l", LINK, "/etc")), LEADS),
    "zip: an endless link": (zipped(("l", LINK, "x" * 5000)), LEADS),
    "zip: through an inner link": (zipped(("d/", FOLDER, ""), ("l", LINK, "d"), ("l/x", FILE, "x")), "not a directory"),
    "zip: a pipe": (zipped(("p", tarfile.FIFOTYPE, "")), "neither file nor directory"),
    "zip: the same name": (zipped(("a", FILE, "1"), ("a", FILE, "2")), "several members"),
    "zip: other letters": (zipped(("A/x", FILE, "1"), ("a/X", FILE, "2")), "several members"),
    "zip: a name with an end in it": (renamed(zipped(("abcd", FILE, "1")), b"a\0cd"), "an invalid name"),
    "zip: a bomb": (zipped(("a", FILE, BOMB)), "times its size"),
    "zip: many small bombs": (zipped(*((f"{n}", FILE, BOMB[: 1 << 18]) for n in range(40))), "times its size"),
    "zip: another method": (zipped(("a", FILE, "x"), method=zipfile.ZIP_LZMA), "an unsupported compression method"),
    "zip: nothing": (zipped(), "is empty"),
    "zip: cut": (zipped(("a", FILE, "x" * 5000))[:-30], "damaged"),
}
COMPRESSED = {
    "tar.gz": lambda data: gzip.compress(data),
    "tar.bz2": lambda data: __import__("bz2").compress(data),
    "tar.xz": lambda data: __import__("lzma").compress(data),
}


def unpacked(folder: Path, data: bytes, kind: str, links: bool = True) -> Path:
    """Unpacked two levels deep below a folder."""
    (folder / "in").mkdir(exist_ok=True)
    (folder / "archive").write_bytes(data)
    target = folder / "in" / "module"
    unpack(folder / "archive", target, kind, links)
    return target


def strangers(folder: Path) -> set[str]:
    """What is in a folder, and was not put there by `unpacked`."""
    return {p.name for p in folder.iterdir()} - {"in", "archive"} | {p.name for p in (folder / "in").iterdir()} - {
        "module"
    }


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(tmp_path: Path, name: str) -> None:
    data, told = HOSTILE[name]
    with pytest.raises(InstallError) as caught:
        unpacked(tmp_path, data, "zip" if name.startswith("zip: ") else "tar")
    assert told in str(caught.value)
    assert not strangers(tmp_path)
    for path in (tmp_path / "in").rglob("*"):
        assert not path.is_symlink() or path.resolve().is_relative_to(tmp_path / "in" / "module")


@pytest.mark.parametrize("kind", COMPRESSED)
def test_compressed(tmp_path: Path, kind: str) -> None:
    pack = COMPRESSED[kind]
    made = unpacked(tmp_path, pack(tar(("a/b", FILE, "content"))), kind)
    assert (made / "a" / "b").read_text() == "content"
    noise = tar(*((f"{n}", FILE, random.Random(n).randbytes(900).hex()) for n in range(20)))
    for number, (data, told) in enumerate(
        (
            (pack(tar(("a", FILE, BOMB))), "times its size"),
            (pack(bytes(1024)), "is empty"),
            (pack(noise)[:-3000], "damaged"),
            (b"none", "damaged"),
        )
    ):
        (tmp_path / str(number)).mkdir()
        with pytest.raises(InstallError, match=told):
            unpacked(tmp_path / str(number), data, kind)


def test_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_MEMBERS", 3)
    for kind, pack in (("tar", tar), ("zip", zipped)):
        folder = tmp_path / kind
        folder.mkdir()
        with pytest.raises(InstallError, match="more than 3 members"):
            unpacked(folder, pack(*((f"{n}", FILE, "x") for n in range(4))), kind)


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_limits_for_what_is_small(tmp_path: Path, kind: str) -> None:
    pack = {"tar": tar, "zip": zipped}[kind]
    (tmp_path / "archive").write_bytes(pack(*((f"{n}", FILE, "x" * 100) for n in range(4))))
    for limits, said in (
        (archives.ArchiveLimits(1000, 3), "more than 3 members"),
        (archives.ArchiveLimits(399, 9), "expands to more than 399 bytes"),
    ):
        with pytest.raises(InstallError, match=said):
            archives.unpack(tmp_path / "archive", tmp_path / f"at-{limits.members}", kind, limits=limits)
    archives.unpack(tmp_path / "archive", tmp_path / "fits", kind, limits=archives.ArchiveLimits(400, 4))


def test_what_is_no_harm_stays(tmp_path: Path) -> None:
    entries: list[Entry] = [
        ("./", FOLDER, ""),
        ("./sub/x.tf", FILE, "one"),
        ("./sub/", FOLDER, ""),
        ("run", FILE, "#!", 0o6775),
        ("a" * 90 + "/" + "b" * 90, FILE, "long"),
        ("ü", FILE, "umlaut"),
        ("up/link", LINK, "../sub/./x.tf"),
        ("..odd", FILE, "no parent"),
    ]
    for kind, data in (
        ("tar", tar(*entries, ("same", SAME, "sub/x.tf"))),
        ("tar", tar(*entries, form=tarfile.GNU_FORMAT)),
        ("tar", tar(*entries, form=tarfile.USTAR_FORMAT)),
        ("zip", zipped(*entries)),
    ):
        folder = tmp_path / f"{kind}{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        made = unpacked(folder, data, kind)
        assert (made / "sub" / "x.tf").read_text() == (made / "up" / "link").read_text() == "one"
        assert os.readlink(made / "up" / "link") == "../sub/./x.tf"
        assert (made / ("a" * 90) / ("b" * 90)).read_text() == "long"
        assert (made / "ü").read_text() == "umlaut" and (made / "..odd").is_file()
        assert stat.S_IMODE((made / "run").stat().st_mode) == 0o755
        assert stat.S_IMODE((made / "sub" / "x.tf").stat().st_mode) == 0o644
    assert (tmp_path / "tar0" / "in" / "module" / "same").read_text() == "one"
    assert not (tmp_path / "tar0" / "in" / "module" / "same").is_symlink()


@pytest.mark.parametrize(
    ("target", "depth", "inside"),
    [
        ("a", 0, True),
        ("../a", 0, False),
        ("../a", 1, True),
        ("../../a", 1, False),
        ("a/../b", 5, False),
        ("", 1, False),
        (".", 0, True),
        ("..", 1, True),
        ("./../a", 1, True),
        ("/a", 3, False),
        ("a\\..\\..", 3, False),
    ],
)
def test_where_links_lead(target: str, depth: int, inside: bool) -> None:
    assert stays(target, depth) is inside


@pytest.mark.parametrize(("target", "inside"), [("../b", True), ("../../b", False), ("/b", False)])
def test_links_of_a_part(tmp_path: Path, target: str, inside: bool) -> None:
    (tmp_path / "part" / "a").mkdir(parents=True)
    (tmp_path / "part" / "a" / "link").symlink_to(target)
    expected = nullcontext() if inside else pytest.raises(InstallError, match="outside the directory")
    with expected:
        check_links(tmp_path / "part")


@pytest.mark.slow
def test_damaged_at_random(tmp_path: Path) -> None:
    """Whatever bytes say, there is one kind of error and nothing outside."""
    entries: list[Entry] = [("a/b", FILE, "x" * 700), ("l", LINK, "a"), ("d/", FOLDER, ""), ("é" * 70, FILE, "y")]
    chance = random.Random(1)
    samples = [("tar", tar(*entries)), ("tar", tar(*entries, form=tarfile.GNU_FORMAT)), ("zip", zipped(*entries))]
    refused = 0
    for turn in range(900):
        kind, data = samples[turn % 3]
        changed = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            changed[chance.randrange(min(len(changed), 4000))] = chance.choice(
                (0, 0x2E, 0x2F, 0xFF, chance.randrange(256))
            )
        folder = tmp_path / str(turn)
        folder.mkdir()
        try:
            unpacked(folder, bytes(changed), kind)
        except InstallError:
            refused += 1
        except OSError:  # such as a name that this disk does not take
            refused += 1
        assert not strangers(folder)
    assert refused > 500


# ---------------------------------------------------------------- where archives come from

MODULE = b'output "found" {\n  value = 1\n}\n'


def call(source: str) -> str:
    return f'module "m" {{\n  source = "{source}"\n}}\n'


def test_a_hostile_module_is_not_installed(project: Project, world: World, tmp_path: Path) -> None:
    files: Iterable[Entry] = (("main.tf", FILE, MODULE.decode()), *long_links())
    world.files["/m.tgz"] = Reply(gzip.compress(tar(*files)))
    project.write(call(f"{world.url}/m.tgz"))
    assert "archive has" in project.run("get", code=1)
    assert not list(tmp_path.rglob("evil")) and not (project.work / ".terraform" / "modules" / "m").exists()


@pytest.mark.parametrize("sub", ["link", "..", "../x", "in/../../x", "/etc"])
def test_no_part_outside_of_a_package(project: Project, world: World, sub: str) -> None:
    """Named by the call, by a registry, or by a page; a link in a git repository is no different."""
    world.files["/m.tgz"] = Reply(tarball({"main.tf": MODULE, "in/main.tf": MODULE}))
    repository = project.folder / "repository"
    repository.mkdir()
    (repository / "main.tf").write_bytes(MODULE)
    (repository / "link").symlink_to("/etc")
    script = "git init -q && git add -A && git -c user.name=t -c user.email=t@example.com commit -qm one"
    assert os.system(f"cd {repository} && {script}") == 0
    world.module(location=f"git::file://{repository}//{sub}")
    world.files["/page"] = Reply(status=204, headers={"X-Terraform-Get": f"git::file://{repository}//{sub}"})
    for source in ("mods.example.com/acme/net/any", f"git::file://{repository}//{sub}", f"{world.url}/page"):
        project.write(call(source))
        project.run("get", code=1)
        assert not (project.work / ".terraform" / "modules" / "m").exists()


def test_a_provider_has_no_links(project: Project, world: World) -> None:
    mirror = project.folder / "mirror" / "prov.example.com" / "acme" / "box"
    mirror.mkdir(parents=True)
    data = zipped(("terraform-provider-box", LINK, "README"), ("README", FILE, "x"))
    (mirror / f"terraform-provider-box_1.0.0_{PLATFORM}.zip").write_bytes(data)
    project.requires()
    assert "a link ('terraform-provider-box'), which is not allowed" in project.run(
        "init", f"-plugin-dir={project.folder}/mirror", code=1
    )


@pytest.mark.parametrize("name", [n for n in HOSTILE if n.startswith("zip: ") and "nothing" not in n])
def test_a_hostile_plan_file(tmp_path: Path, name: str) -> None:
    from planner.answers.documents.plan_file import read_plan

    (tmp_path / "plan").write_bytes(HOSTILE[name][0])
    plan, sources, (problem,) = read_plan(str(tmp_path / "plan"))
    assert (plan, sources, problem.code) == (None, {}, "plan_file.invalid")


def test_a_plan_file_that_is_a_bomb(tmp_path: Path) -> None:
    from planner.answers.documents.plan_file import read_plan

    (tmp_path / "plan").write_bytes(zipped(("tfplan", FILE, " " * (8 << 20))))
    _, _, (problem,) = read_plan(str(tmp_path / "plan"))
    assert "times its size" in problem.detail
