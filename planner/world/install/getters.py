"""Fetches packages at module sources: git and Mercurial repositories, archives over http, in buckets, in OCI registries
and in files, and local directories.

Addresses are normalized by planner.language.config.sources: `git::https://...?ref=v1`, `https://host/module.zip`,
`file:///directory`. go-getter, OpenTofu's downloader, interprets them in the same way."""

from __future__ import annotations

import hashlib
import netrc
import os
import shutil
import subprocess
import sys
from base64 import b64decode
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from shlex import quote
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from planner.foundation.clients.oci import OciSettings
from planner.foundation.support.archive import ArchiveLimits, check_links, unpack
from planner.foundation.support.put_files import copy_directory
from planner.foundation.vocabulary.diagnostic import InstallError, ServiceError
from planner.foundation.vocabulary.records import field, frozen
from planner.language.config.sources import split_subdirectory, without_secrets
from planner.world.install.web import Web, basic, display_url, host_of, resolve, status_text, with_user_of

KINDS = {
    "zip": "zip",
    "tar.gz": "tar.gz",
    "tgz": "tar.gz",
    "tar.bz2": "tar.bz2",
    "tbz2": "tar.bz2",
    "tar.tbz2": "tar.bz2",
    "tar.xz": "tar.xz",
    "txz": "tar.xz",
}
"""the kind of archive for each suffix of names"""
_MAX_REDIRECTS = 10
_GIT_PROTOCOLS = ("file", "git", "http", "https", "ssh")
"""the protocols that git may use. Other protocols would run programs: `ext` is never allowed, and installed helpers are
allowed only by the user's GIT_ALLOW_PROTOCOL"""


@frozen(eq=False)
class Fetcher:
    """Fetches packages. `progress` is called during downloads. `terminal`: whether the user can answer git's prompts.
    `limits`: stricter limits for the size of archives, if only small packages are expected. `oci`: credentials for OCI
    registries."""

    web: Web
    progress: Callable[[str, int, int], None] | None = None
    environ: Mapping[str, str] = field(factory=lambda: os.environ, repr=False)
    terminal: bool = field(factory=lambda: sys.stdin is not None and sys.stdin.isatty())
    limits: ArchiveLimits | None = None
    oci: OciSettings = OciSettings()

    def fetch(self, address: str, target: Path, redirects: int = 0) -> None:
        """Fetch a package into a new directory. For a package in a local directory, make a link to it instead.
        `redirects`: the number of redirects that led to this address. Raises InstallError and OSError."""
        forced, colons, rest = address.partition("::")
        if not colons or not forced.isalnum():
            forced, rest = "", address
        try:
            scheme = urlsplit(rest).scheme
        except ValueError as bad:
            raise InstallError(f"{display_url(rest)} is not a valid URL ({without_secrets(str(bad))})") from None
        scheme = forced or scheme
        bare, parameters = _parameters(rest)
        if scheme == "oci":
            self._registry(rest, target)
            return
        kind = _kind(bare, parameters)
        if scheme == "git":
            try:
                self._git(rest, target)
            except InstallError as problem:  # the output of git or ssh
                raise InstallError(_without_password(str(problem), rest), problem.kind) from None
        elif scheme == "hg":
            try:
                self._mercurial(rest, target)
            except InstallError as problem:
                raise InstallError(_without_password(str(problem), rest), problem.kind) from None
        elif scheme in ("s3", "gcs"):
            self._bucket(scheme, bare, kind, parameters, target)
        elif scheme == "file":
            self._file(bare, kind, parameters, target)
        elif scheme in ("http", "https"):
            if kind:
                self._archive(_without(rest, "archive", "checksum", "filename"), kind, parameters, target)
            else:
                self._indirect(rest, target, redirects)
        else:
            raise InstallError(f"{display_url(rest)} has the scheme {scheme!r}, which this program cannot fetch")

    # ------------------------------------------------------------ files

    def _file(self, url: str, kind: str, parameters: Mapping[str, str], target: Path) -> None:
        path = Path(unquote(urlsplit(url).path))
        if kind and path.is_file():
            _compare(path, path.name, parameters.get("checksum", ""), self.web)
            unpack(path, target, kind, limits=self.limits)
        elif path.is_dir():
            target.symlink_to(path, target_is_directory=True)
        else:
            raise InstallError(f"{path} is not a directory" if path.exists() else f"there is no directory {path}")

    # ------------------------------------------------------------ http

    def _archive(self, url: str, kind: str, parameters: Mapping[str, str], target: Path) -> None:
        def download(archive: Path) -> None:
            self.web.download(url, str(archive), self._netrc(url), partial(self._progress, display_url(url)))

        self._unpack(download, urlsplit(url).path, kind, parameters, target)

    def _progress(self, shown: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(shown, done, total)

    def _unpack(
        self, download: Callable[[Path], object], path: str, kind: str, parameters: Mapping[str, str], target: Path
    ) -> None:
        archive = target.with_name(f"{target.name}.archive")
        try:
            download(archive)
            _compare(archive, path.rpartition("/")[2], parameters.get("checksum", ""), self.web)
            unpack(archive, target, kind, limits=self.limits)
        finally:
            archive.unlink(missing_ok=True)

    def _registry(self, url: str, target: Path) -> None:
        from planner.world.install.oci import module_package

        repository, digest = module_package(url, self.web, self.oci, self.environ)
        shown = display_url(url)
        self._unpack(lambda a: repository.download(digest, a, partial(self._progress, shown)), shown, "zip", {}, target)

    def _bucket(self, scheme: str, url: str, kind: str, parameters: Mapping[str, str], target: Path) -> None:
        """Fetch an archive, or the files below a path, from a bucket. Raises InstallError and OSError."""
        from planner.world.install.buckets import bucket_at, files_below

        store, path = bucket_at(scheme, url, parameters, self.environ)
        if not kind:
            for name, content in files_below(store, path).items():
                file = target / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            return
        try:
            self._unpack(lambda archive: archive.write_bytes(store.read(path)), path, kind, parameters, target)
        except ServiceError as problem:
            raise InstallError(problem.text) from None

    def _indirect(self, url: str, target: Path, redirects: int) -> None:
        """Fetch the package at the address in the response's header X-Terraform-Get or in the page's <meta> element.
        Raises InstallError and OSError."""
        if redirects >= _MAX_REDIRECTS:
            raise InstallError(f"{display_url(url)} redirects too many times")
        address = url + ("&" if urlsplit(url).query else "?") + "terraform-get=1"
        answer = self.web.get(address, self._netrc(url))
        if not 200 <= answer.status < 300:
            raise InstallError(f"{host_of(url)} answered {status_text(answer.status)} for {display_url(url)}")
        source = answer.headers.get("X-Terraform-Get") or _meta(answer.body)
        if not source:
            raise InstallError(
                f"{display_url(url)} neither has the suffix of an archive ({', '.join(KINDS)}) nor returns the "
                "location of the module in a header X-Terraform-Get"
            )
        package, sub = split_subdirectory(source)
        if package.startswith(("/", "./", "../")):
            package = resolve(with_user_of(url, answer.url), package)
        if sub:
            self._part(package, sub, target, redirects + 1)
        else:
            self.fetch(package, target, redirects + 1)

    def _part(self, package: str, sub: str, target: Path, redirects: int) -> None:
        whole = target.with_name(f"{target.name}.whole")
        try:
            self.fetch(package, whole, redirects)
            part = below(whole, sub)
            if not part.is_dir():
                raise InstallError(f"{display_url(package)} has no directory {sub}")
            check_links(part)
            copy_directory(part, target)
        finally:
            if whole.is_symlink():
                whole.unlink()
            shutil.rmtree(whole, ignore_errors=True)

    def _netrc(self, url: str) -> dict[str, str]:
        """The Authorization header with user name and password from the user's netrc file; empty if the file has no
        entry for the host, or if the URL itself contains a user name and password."""
        parts = urlsplit(url)
        if parts.username is not None:
            return {}  # Web sends the credentials that are in the URL
        path = self.environ.get("NETRC") or os.path.join(self.environ.get("HOME", ""), ".netrc")
        try:
            login = netrc.netrc(path).authenticators(parts.hostname or "")
        except (OSError, netrc.NetrcParseError):
            return {}
        return basic(login[0], login[2] or "") if login else {}

    # ------------------------------------------------------------ Mercurial

    def _mercurial(self, url: str, target: Path) -> None:
        _, parameters = _parameters(url)
        revision = parameters.get("rev") or parameters.get("ref") or ""
        environ = {**self.environ, "HGPLAIN": "1"}
        _execute(["hg", "clone", "--noninteractive", "-U", "--", _without(url, "rev", "ref"), str(target)], environ)
        _execute(["hg", "update", "--noninteractive", *(["--", revision] if revision else [])], environ, target)

    # ------------------------------------------------------------ git

    def _git(self, url: str, target: Path) -> None:
        bare, parameters = _parameters(url)
        ref, key = parameters.get("ref", ""), parameters.get("sshkey", "")
        depth = parameters.get("depth", "")
        depth = depth if depth.isascii() and depth.isdigit() and int(depth) > 0 else ""
        rest = urlencode([(n, v) for n, v in parameters.items() if n not in ("ref", "sshkey", "depth")])
        repository = f"{bare}?{rest}" if rest else bare
        port = urlsplit(repository).netloc.rpartition("@")[2].partition(":")[2]
        if port and not port.isdigit():
            raise InstallError(
                f"{port!r} is not a valid port; if you mean git@HOST:PATH, write git::git@HOST:PATH without ssh://"
            )
        environ = _restricted_environment(self.environ)
        if not self.terminal:
            environ["GIT_TERMINAL_PROMPT"] = "0"  # without a terminal, prompts cannot be answered
        key_file = target.with_name(f"{target.name}.key")
        try:
            if key:
                _write_key(key_file, key)
                # The path is quoted because git passes the command to a shell, and absolute because git fetches
                # submodules from another directory.
                ssh = environ.get("GIT_SSH_COMMAND") or "ssh"
                environ["GIT_SSH_COMMAND"] = f"{ssh} -i {quote(str(key_file.absolute()))}"
            shallow = ["--depth", depth, f"--branch={ref or _default_branch(repository, environ)}"] if depth else []
            try:
                _run(["clone", *shallow, "--", repository, str(target)], environ)
            except InstallError as problem:
                hint = ""
                if depth and len(ref) >= 7 and all(c in "0123456789abcdefABCDEF" for c in ref):
                    hint = "; with depth, ref must be a branch or a tag"
                raise InstallError(f"{problem}{hint}") from None
            if ref:
                _run(["checkout", _commit(ref, target, environ)], environ, target)
            more = ["--depth", depth] if depth else []
            _run(["submodule", "update", "--init", "--recursive", *more], environ, target)
        finally:
            key_file.unlink(missing_ok=True)


def below(folder: Path, sub: str) -> Path:
    """The path of a subdirectory of a package. `sub` may be a pattern that matches exactly one directory. Raises
    InstallError, also if a link leads out of a fetched package; local directories may contain any links."""
    sub = sub.lstrip("/")
    if ".." in sub.split("/"):
        raise InstallError(f"the sub-directory {sub} is outside the package", "subdirectory")
    place, whole = folder / sub, folder.resolve()
    if any(c in sub for c in "*?["):
        folders = sorted(whole.glob(sub))
        if len(folders) != 1:
            many = len(folders) or "no"
            raise InstallError(f"the pattern {sub} must match exactly one directory of the package, but matches {many}")
        place = folder / folders[0].relative_to(whole)
    if not folder.is_symlink() and not place.resolve().is_relative_to(whole):
        raise InstallError(f"the sub-directory {sub} is a link to a target outside the package", "subdirectory")
    return place


def _parameters(url: str) -> tuple[str, dict[str, str]]:
    bare, _, query = url.partition("?")
    return bare, dict(parse_qsl(query, keep_blank_values=True))


def _without(url: str, *names: str) -> str:
    bare, _, query = url.partition("?")
    rest = urlencode([(n, v) for n, v in parse_qsl(query, keep_blank_values=True) if n not in names])
    return f"{bare}?{rest}" if rest else bare


def _kind(url: str, parameters: Mapping[str, str]) -> str:
    """The kind of archive at an address; "" if it is not an archive or has archive=false. Raises InstallError."""
    given = parameters.get("archive")
    if given is not None:
        if given.lower() in ("false", "0", "f"):
            return ""
        if given not in KINDS:
            raise InstallError(f"{given} is not a supported kind of archive; use one of {', '.join(KINDS)}")
        return KINDS[given]
    url = url.partition("#")[0]
    endings = [ending for ending in KINDS if url.endswith(f".{ending}")]
    return KINDS[max(endings, key=len)] if endings else ""


def _compare(file: Path, name: str, wanted: str, web: Web) -> None:
    """Compare a file with the checksum in an address: [md5|sha1|sha256|sha512:]HEX, file:URL of a list of checksums, or
    "", which any file matches. Raises InstallError and OSError."""
    if not wanted:
        return
    kind, colon, value = wanted.partition(":")
    if not colon:
        kind, value = "", wanted
    if kind == "file":
        lines = [line.split() for line in web.document(value).decode("utf-8", "replace").splitlines() if line.strip()]
        fitting = [w[0] for w in lines if len(w) == 1 or w[-1].lstrip("*").rpartition("/")[2] == name]
        if not fitting:
            raise InstallError(f"{value} does not list a checksum for {name}")
        kind, value = "", fitting[0]
    kind = kind or {32: "md5", 40: "sha1", 64: "sha256", 128: "sha512"}.get(len(value), "")
    if kind not in ("md5", "sha1", "sha256", "sha512"):
        raise InstallError(f"{wanted} is not a checksum of a known kind")
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, kind).hexdigest()
    if digest != value.lower():
        raise InstallError(f"the archive has the {kind} checksum {digest}, not {value.lower()}")


def _meta(body: bytes) -> str:
    """The content of <meta name="terraform-get" content="..."> in a page; "" if there is none."""
    from html.parser import HTMLParser

    contents: list[str] = []

    class MetaTagReader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            given = dict(attrs)
            if tag == "meta" and given.get("name") == "terraform-get":
                contents.append(given.get("content") or "")

    with suppress(AssertionError):  # html.parser fails on some pages; the result so far is used
        MetaTagReader().feed(body.decode("utf-8", "replace"))
    return contents[0] if contents else ""


def _write_key(path: Path, encoded: str) -> None:
    try:
        text = b64decode(encoded, validate=True)
    except ValueError:
        raise InstallError("the parameter sshkey is not valid Base64") from None
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(text)


def _default_branch(repository: str, environ: Mapping[str, str]) -> str:
    try:
        output = _run(["ls-remote", "--symref", "--", repository, "HEAD"], environ)
    except InstallError:
        return "master"
    for line in output.splitlines():
        if line.startswith("ref: refs/heads/"):
            return line.removeprefix("ref: refs/heads/").split("\t")[0]
    return "master"


def _commit(ref: str, folder: Path, environ: Mapping[str, str]) -> str:
    for name in (ref, f"refs/remotes/origin/{ref}", f"refs/tags/{ref}"):
        try:
            words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
            return _run(words, environ, folder).strip()
        except InstallError:
            continue
    raise InstallError(f"the repository has no branch, tag or commit {ref}")


def _restricted_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment in which git runs. The user's GIT_ALLOW_PROTOCOL overrides the settings in `_RULES`, but cannot
    allow `ext` and `fd`, with which an address could run any command."""
    made = dict(environ)
    if "GIT_ALLOW_PROTOCOL" in made:
        made["GIT_ALLOW_PROTOCOL"] = ":".join(
            n for n in made["GIT_ALLOW_PROTOCOL"].split(":") if n not in ("ext", "fd")
        )
    return made


def _without_password(text: str, url: str) -> str:
    """The output of a program, with "..." in place of the password in `url`, whether plain or encoded."""
    password = url.partition("://")[2].partition("/")[0].rpartition("@")[0].partition(":")[2]
    for secret in (password, unquote(password), *unquote(password).split("/")):
        text = text.replace(secret, "...") if secret else text
    return text


_RULES = tuple(
    word
    for name, rule in (
        ("", "never"),
        *((f".{name}", "always") for name in _GIT_PROTOCOLS if name != "file"),
        (".file", "user"),
        (".ext", "never"),
        (".fd", "never"),
    )
    for word in ("-c", f"protocol{name}.allow={rule}")
)
"""git's protocol settings, which also apply to submodules; file protocols are allowed only if the user requests them
(`user`)"""


def _run(words: list[str], environ: Mapping[str, str], folder: Path | None = None) -> str:
    return _execute(["git", *_RULES, *words], environ, folder, words[0])


def _execute(words: list[str], environ: Mapping[str, str], folder: Path | None = None, command: str = "") -> str:
    """Run a program, and return its output. `command`: the name of its subcommand in error messages, by default the
    second word. Raises InstallError."""
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            env=dict(environ),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except FileNotFoundError:
        raise InstallError(f"{words[0]} is required, but was not found on the PATH") from None
    if done.returncode:
        output = done.stderr.decode("utf-8", "replace").strip() or done.stdout.decode("utf-8", "replace").strip()
        text = without_secrets(output) or f"exit code {done.returncode}"
        raise InstallError(f"{words[0]} {command or words[1]} failed: {text}")
    return done.stdout.decode("utf-8", "replace")
