"""A real registry of OCI artifacts on loopback (Debian's docker-registry), over TLS, with a user and a password."""

from __future__ import annotations

import hashlib
import json
import shutil
import ssl
import subprocess
import urllib.request
from base64 import b64encode
from pathlib import Path
from typing import Any

import bcrypt
from apply.ssh_servers import free_port, wait_for_port
from install.world import certificates

PROGRAM = shutil.which("docker-registry")
USER, PASSWORD = "someone", "a long password"
IMAGE = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


class RegistryServer:
    """A running registry. The user may do everything, others nothing."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        chain = certificates(folder, 10)
        self.authority, self.port = str(folder / "ca.pem"), free_port()
        self.domain = f"localhost:{self.port}"
        hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
        (folder / "users").write_text(f"{USER}:{hashed.replace('$2b$', '$2y$')}\n")
        (folder / "config.yml").write_text(
            f"version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {folder}/data}}}}\n"
            f"http: {{addr: '127.0.0.1:{self.port}', tls: {{certificate: {chain}, key: {chain}}}}}\n"
            f"auth: {{htpasswd: {{realm: here, path: {folder}/users}}}}\n"
        )
        assert PROGRAM is not None
        words = [PROGRAM, "serve", str(folder / "config.yml")]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for_port(self.port)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()

    def _send(self, method: str, url: str, data: bytes, media_type: str) -> Any:
        url = url if url.startswith("https:") else f"https://{self.domain}/v2/{url}"
        login = b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        headers = {"Authorization": f"Basic {login}", "Content-Type": media_type}
        request = urllib.request.Request(url, data, headers, method=method)
        return urllib.request.urlopen(request, context=ssl.create_default_context(cafile=self.authority))

    def push_blob(self, repository: str, data: bytes, media_type: str) -> dict[str, Any]:
        """Store content; returns its descriptor."""
        with self._send("POST", f"{repository}/blobs/uploads/", b"", "application/octet-stream") as answer:
            place = answer.headers["Location"]
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        self._send("PUT", f"{place}&digest={digest}", data, "application/octet-stream").close()
        return {"mediaType": media_type, "digest": digest, "size": len(data)}

    def push_manifest(self, repository: str, reference: str, content: dict[str, Any]) -> str:
        """Store a manifest by a tag; or, without one, by its digest, which is returned."""
        data = json.dumps(content).encode()
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        self._send("PUT", f"{repository}/manifests/{reference or digest}", data, content["mediaType"]).close()
        return digest

    def push_archive(
        self, repository: str, reference: str, archive: bytes, artifact_type: str, media_type: str = "archive/zip"
    ) -> dict[str, Any]:
        """Store an archive with its manifest; returns the descriptor of the manifest."""
        manifest = {
            "schemaVersion": 2,
            "mediaType": IMAGE,
            "artifactType": artifact_type,
            "config": self.push_blob(repository, b"{}", "application/vnd.oci.empty.v1+json"),
            "layers": [self.push_blob(repository, archive, media_type)],
        }
        digest = self.push_manifest(repository, reference, manifest)
        size = len(json.dumps(manifest))
        return {"mediaType": IMAGE, "digest": digest, "size": size, "artifactType": artifact_type}

    def push_provider(self, repository: str, version: str, archives: dict[str, bytes]) -> None:
        """Store the packages of a provider, by platform."""
        manifests = []
        for platform, archive in archives.items():
            system, machine = platform.split("_")
            one = self.push_archive(repository, "", archive, "application/vnd.opentofu.provider-target")
            manifests.append({**one, "platform": {"os": system, "architecture": machine}})
        index = {
            "schemaVersion": 2,
            "mediaType": INDEX,
            "artifactType": "application/vnd.opentofu.provider",
            "manifests": manifests,
        }
        self.push_manifest(repository, version, index)
