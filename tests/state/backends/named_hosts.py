"""What stands between programs and a server of ours that plays one of a cloud: certificates, and a proxy that leads
names to it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any


def certified(folder: str, *hosts: str) -> str:
    """Makes server.pem and server.key in a folder, for these hosts; the file of the authority."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    now = datetime.now(UTC)

    def certificate(title: str, key: Any, issuer: str, issuer_key: Any, *extensions: Any) -> Any:
        names = [x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, t)]) for t in (title, issuer)]
        built = x509.CertificateBuilder().subject_name(names[0]).issuer_name(names[1]).public_key(key.public_key())
        built = built.serial_number(x509.random_serial_number())
        built = built.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=2))
        for extension, critical in extensions:
            built = built.add_extension(extension, critical)
        return built.sign(issuer_key, SHA256())

    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    identifier = x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key())
    basic = x509.BasicConstraints(ca=True, path_length=None)
    uses = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only"), False
    )
    usage = x509.KeyUsage(digital_signature=True, key_cert_sign=True, crl_sign=True, decipher_only=False, **uses)
    authority = certificate(
        "authority", authority_key, "authority", authority_key, (basic, True), (identifier, False), (usage, True)
    )
    server = certificate(
        "server",
        key,
        "authority",
        authority_key,
        (x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts]), False),
        (x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), False),
        (x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.SERVER_AUTH]), False),
    )
    place = Path(folder)
    (place / "authority.pem").write_bytes(authority.public_bytes(Encoding.PEM))
    (place / "server.pem").write_bytes(server.public_bytes(Encoding.PEM))
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (place / "server.key").write_bytes(secret)
    return str(place / "authority.pem")


def proxied(ports: Mapping[str, int]) -> int:
    """The port of a proxy for CONNECT that leads each of these hosts (with a port) to a port of this machine."""
    listening = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=_accept, args=(listening, ports), daemon=True).start()
    return int(listening.getsockname()[1])


def _accept(listening: socket.socket, ports: Mapping[str, int]) -> None:
    while True:
        client, _ = listening.accept()
        threading.Thread(target=_serve, args=(client, ports), daemon=True).start()


def _serve(client: socket.socket, ports: Mapping[str, int]) -> None:
    head = b""
    while b"\r\n\r\n" not in head:
        data = client.recv(4096)
        if not data:
            client.close()
            return
        head += data
    method, host, _ = head.split(b"\r\n")[0].decode().split(" ")
    if method != "CONNECT" or host not in ports:
        client.sendall(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
        client.close()
        return
    try:
        server = socket.create_connection(("127.0.0.1", ports[host]))
    except OSError:
        client.close()
        return
    client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    threading.Thread(target=_pass_on, args=(client, server), daemon=True).start()
    _pass_on(server, client)


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    for one in (source, sink):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
