"""A world to install from, on this machine: a host with registries of providers and modules, mirrors and archives over
TLS, with a certificate authority of its own. What it serves is in `files` (by path), and every request is noted, so
that tests can spoil any part of it.
"""

from __future__ import annotations

import datetime
import hashlib
import http.server
import io
import ipaddress
import json
import ssl
import tarfile
import threading
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import define, field, frozen
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from planner.world.provider.locate import own_platform

PLATFORM = own_platform()
PROGRAM = b"#!/bin/sh\nexit 3\n"


@frozen
class Reply:
    """`promised` bytes are announced when that is not None; `ranges`: whether parts may be asked for."""

    body: bytes = b""
    status: int = 200
    media_type: str = "application/json"
    headers: Mapping[str, str] = {}
    promised: int | None = None
    ranges: bool = False


@define
class World:
    """`tokens`: the Authorization header that paths beginning like a key ask for."""

    folder: Path
    files: dict[str, Any] = field(factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(factory=list)
    tokens: dict[str, str] = field(factory=dict)
    posted: list[bytes] = field(factory=list)
    port: int = 0
    signer: Any = None
    _server: Any = None

    @property
    def host(self) -> str:
        return f"localhost:{self.port}"

    @property
    def url(self) -> str:
        return f"https://{self.host}"

    @property
    def authority(self) -> str:
        """The file that SSL_CERT_FILE has to name."""
        return str(self.folder / "ca.pem")

    def paths(self) -> list[str]:
        return [path for path, _ in self.requests]

    def json(self, path: str, value: Any) -> None:
        self.files[path] = Reply(json.dumps(value).encode())

    # -------------------------------------------------------------- what there is

    def discovery(self) -> None:
        self.json("/.well-known/terraform.json", {"providers.v1": "/p/", "modules.v1": "/m/"})

    def provider(
        self,
        name: str = "acme/box",
        version: str = "1.0.0",
        platforms: tuple[str, ...] = (PLATFORM,),
        content: Mapping[str, bytes] | None = None,
        everywhere: bool = False,
        signed: bool = True,
        protocols: tuple[str, ...] = ("5.0", "6.0"),
    ) -> None:
        """Publish a version. `everywhere`: with the checksums of all platforms in each answer."""
        type_ = name.rpartition("/")[2]
        archives = {
            p: package(
                content or {f"terraform-provider-{type_}_v{version}": PROGRAM + p.encode(), "README": b"words\n"}
            )
            for p in platforms
        }
        names = {p: f"terraform-provider-{type_}_{version}_{p}.zip" for p in platforms}
        sums = "".join(f"{sha(archives[p])}  {names[p]}\n" for p in sorted(platforms)).encode()
        base = f"/files/{name}/{version}"
        self.files[f"{base}/SHA256SUMS"] = Reply(sums, media_type="text/plain")
        self.files[f"{base}/SHA256SUMS.sig"] = Reply(self.sign(sums), media_type="application/octet-stream")
        listed = self.versions(f"/p/{name}/versions")
        listed["versions"] = [v for v in listed["versions"] if v["version"] != version]
        listed["versions"].append({"version": version, "protocols": list(protocols)})
        self.json(f"/p/{name}/versions", listed)
        packages = {p: {"hashes": [f"zh:{sha(archives[p])}"], "package_size": len(archives[p])} for p in platforms}
        for p in platforms:
            self.files[f"{base}/{names[p]}"] = Reply(archives[p], media_type="application/zip", ranges=True)
            system, machine = p.split("_")
            answer = {
                "protocols": list(protocols),
                "os": system,
                "arch": machine,
                "filename": names[p],
                "download_url": f"{base}/{names[p]}",
                "shasum": sha(archives[p]),
                "shasums_url": f"{base}/SHA256SUMS",
                "shasums_signature_url": f"{base}/SHA256SUMS.sig",
                "signing_keys": {"gpg_public_keys": [{"ascii_armor": self.public_key}] if signed else []},
            }
            if everywhere:
                answer["packages"] = packages
            self.json(f"/p/{name}/{version}/download/{system}/{machine}", answer)

    def answer(
        self, name: str, version: str, change: Callable[[dict[str, Any]], None], platform: str = PLATFORM
    ) -> None:
        """Change what the registry says about a package."""
        path = f"/p/{name}/{version}/download/{platform.replace('_', '/')}"
        value = json.loads(self.files[path].body)
        change(value)
        self.json(path, value)

    def archive_path(self, name: str = "acme/box", version: str = "1.0.0", platform: str = PLATFORM) -> str:
        return f"/files/{name}/{version}/terraform-provider-{name.rpartition('/')[2]}_{version}_{platform}.zip"

    def versions(self, path: str) -> Any:
        return json.loads(self.files[path].body) if path in self.files else {"versions": []}

    def module(self, name: str = "acme/net/any", versions: tuple[str, ...] = ("1.0.0",), location: str = "") -> None:
        """Publish a module of a registry."""
        self.json(f"/m/{name}/versions", {"modules": [{"versions": [{"version": v} for v in versions]}]})
        for version in versions:
            path = f"/archives/{name}/{version}.zip"
            self.files[path] = Reply(
                package({"main.tf": f'output "version" {{\n  value = "{version}"\n}}\n'.encode()}),
                media_type="application/zip",
            )
            where = location or f"{self.url}{path}"
            self.files[f"/m/{name}/{version}/download"] = Reply(status=204, headers={"X-Terraform-Get": where})

    # -------------------------------------------------------------- keys

    def sign(self, document: bytes) -> bytes:
        import pysequoia

        if self.signer is None:
            self.signer = new_key()
        return bytes(pysequoia.sign(self.signer.signer(), document, mode=pysequoia.SignatureMode.DETACHED, armor=False))

    @property
    def public_key(self) -> str:
        return str(self.signer.extract_certificate())

    # -------------------------------------------------------------- serving

    def start(self, days: int = 10) -> None:
        """Serve with a certificate that is valid for some days (negative: has expired)."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates(self.folder, days))
        world = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                world._respond(self)

            do_HEAD = do_GET  # noqa: N815 (the name that the library looks for)

            def do_POST(self) -> None:
                world.posted.append(self.rfile.read(int(self.headers["Content-Length"])))
                world._respond(self)

            def log_message(self, *words: object) -> None: ...

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *words: object) -> None: ...

        self._server = Server(("127.0.0.1", self.port), Handler)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _respond(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        path = handler.path.partition("?")[0]
        headers = {name.lower(): value for name, value in handler.headers.items()}
        self.requests.append((handler.path, headers))
        found = self.files.get(handler.path, self.files.get(path, Reply(b"nothing here\n", 404, "text/plain")))
        for prefix, token in self.tokens.items():
            if path.startswith(prefix) and headers.get("authorization") != token:
                found = Reply(b"", 401)
        if callable(found):
            found = found(headers)
        self._send(handler, found, headers)

    def _send(self, handler: http.server.BaseHTTPRequestHandler, reply: Reply, headers: dict[str, str]) -> None:
        body, status, extra = reply.body, reply.status, dict(reply.headers)
        if reply.ranges:
            tag = f'"{sha(body)[:16]}"'
            extra |= {"ETag": tag, "Accept-Ranges": "bytes"}
            wanted = headers.get("range", "")
            if wanted and headers.get("if-range", tag) == tag:
                begin = int(wanted.removeprefix("bytes=").rstrip("-"))
                extra["Content-Range"] = f"bytes {begin}-{len(body) - 1}/{len(body)}"
                body, status = body[begin:], 206
        handler.send_response(status)
        handler.send_header("Content-Type", reply.media_type)
        if status != 204:
            handler.send_header("Content-Length", str(len(body) if reply.promised is None else reply.promised))
        for name, value in extra.items():
            handler.send_header(name, value)
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(body)
        if reply.promised is not None:
            handler.close_connection = True


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def new_key(validity: int | None = None) -> Any:
    import pysequoia

    return pysequoia.Tsk.generate(user_id="Acme <acme@example.com>", validity_seconds=validity)


def package(content: Mapping[str, bytes]) -> bytes:
    """A zip archive, the same bytes each time; programs may be executed."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            info = zipfile.ZipInfo(name)
            info.create_system = 3
            info.external_attr = (0o100755 if name.startswith("terraform-provider") else 0o100644) << 16
            archive.writestr(info, data)
    return stream.getvalue()


def tarball(content: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, data in content.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def certificates(folder: Path, days: int) -> Path:
    """A new authority (ca.pem) and a server's certificate with its key, both for a day ago until `days` from now."""
    now = datetime.datetime.now(datetime.UTC)
    begin, end = now - datetime.timedelta(days=30), now + datetime.timedelta(days=days)
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])

    def built(subject: x509.Name, public: Any, *extensions: tuple[x509.ExtensionType, bool]) -> x509.Certificate:
        until = end if subject == name else now + datetime.timedelta(days=30)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(authority_name).public_key(public)
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(begin).not_valid_after(until)
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        return builder.sign(authority_key, hashes.SHA256())

    usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
    own = x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key())
    authority = built(
        authority_name,
        authority_key.public_key(),
        (x509.BasicConstraints(True, None), True),
        (usage, True),
        (own, False),
    )
    addresses = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    server = built(
        name,
        key.public_key(),
        (x509.SubjectAlternativeName(addresses), False),
        (x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own), False),
    )
    pem = serialization.Encoding.PEM
    (folder / "ca.pem").write_bytes(authority.public_bytes(pem))
    chain = folder / "server.pem"
    chain.write_bytes(
        server.public_bytes(pem)
        + key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return chain
