"""Fetches modules from buckets: Amazon S3 and compatible services (`s3::`), and Google Cloud Storage (`gcs::`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol
from urllib.parse import quote, unquote, urlencode, urlsplit

from planner.foundation.clients.aws import Service, elements, encoded_path, endpoint_of
from planner.foundation.clients.aws_credentials import CredentialChain, CredentialSettings
from planner.foundation.clients.google import GoogleAccount, GoogleTokens, error_text
from planner.foundation.clients.http import Http, HttpResponse
from planner.foundation.vocabulary.diagnostic import InstallError, ServiceError
from planner.foundation.vocabulary.records import frozen
from planner.world.install.web import display_url

_SCOPE = "https://www.googleapis.com/auth/devstorage.read_only"
_AWS = (".amazonaws.com", ".amazonaws.com.cn")


class ObjectStore(Protocol):
    """A bucket. The methods raise InstallError and ServiceError."""

    def keys(self, prefix: str) -> Iterator[str]: ...

    def read(self, key: str) -> bytes: ...


def bucket_at(
    scheme: str, url: str, parameters: Mapping[str, str], environ: Mapping[str, str]
) -> tuple[ObjectStore, str]:
    """The bucket that a URL (without its query) names, and the path in the bucket. Raises InstallError."""
    return _s3(url, parameters, environ) if scheme == "s3" else _google(url, environ)


@frozen(eq=False)
class _S3Objects:
    """A bucket of S3 or a compatible service. `version`: the version of objects, "" for the newest."""

    service: Service
    bucket: str
    version: str

    def keys(self, prefix: str) -> Iterator[str]:
        token = ""
        while True:
            query = {"list-type": "2", "prefix": prefix, **({"continuation-token": token} if token else {})}
            path = f"/{self.bucket}?{urlencode(sorted(query.items()), quote_via=quote)}"
            listed = self.service.ask("ListObjectsV2", "GET", path).text
            yield from elements(listed, "Key")
            token = next(iter(elements(listed, "NextContinuationToken")), "")
            if not token:
                return

    def read(self, key: str) -> bytes:
        query = f"?versionId={quote(self.version, safe='')}" if self.version else ""
        return self.service.ask("GetObject", "GET", f"/{self.bucket}/{encoded_path(key)}{query}").body


def _s3(url: str, parameters: Mapping[str, str], environ: Mapping[str, str]) -> tuple[ObjectStore, str]:
    parts = urlsplit(url)
    host, path = parts.hostname or "", unquote(parts.path).lstrip("/")
    suffix = next((suffix for suffix in _AWS if host.endswith(suffix)), "")
    bucket, region = "", parameters.get("region") or "us-east-1"
    endpoint = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    if suffix:
        labels = host.removesuffix(suffix).split(".")
        places = [i for i, label in enumerate(labels) if label == "s3" or label.startswith("s3-")]
        if not places:
            raise InstallError(f"{display_url(url)} is not the address of an object of S3")
        at = places[-1]
        bucket = ".".join(labels[:at])
        region = labels[at][3:] if at == len(labels) - 1 else labels[-1]
        region = region or "us-east-1"
        own = environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL")
        endpoint = own or endpoint_of("s3", region)
    if not bucket:
        bucket, _, path = path.partition("/")
    if not bucket or not path:
        raise InstallError(f"{display_url(url)} does not name a bucket and a path in it")
    http = Http()
    settings = CredentialSettings(
        parameters.get("aws_access_key_id", ""),
        parameters.get("aws_access_key_secret", ""),
        parameters.get("aws_access_token", ""),
        parameters.get("aws_profile", ""),
        region=region,
        metadata_endpoint=environ.get("AWS_METADATA_URL", ""),
        environment=environ,
    )
    service = Service("s3", "S3", endpoint, region, CredentialChain(settings, http), http)
    return _S3Objects(service, quote(bucket, safe=""), parameters.get("version", "")), path


@frozen(eq=False)
class _GoogleObjects:
    """A bucket of Google Cloud Storage. `url` ends with `/o`. `generation`: the generation of objects."""

    url: str
    token: Callable[[], str] | None
    http: Http
    generation: str

    def keys(self, prefix: str) -> Iterator[str]:
        token = ""
        while True:
            query = {"prefix": prefix, **({"pageToken": token} if token else {})}
            listed = self._get(f"{self.url}?{urlencode(query)}").json()
            items = listed.get("items") if isinstance(listed, dict) else None
            yield from (str(item.get("name")) for item in items or () if isinstance(item, dict))
            token = str(listed.get("nextPageToken") or "") if isinstance(listed, dict) else ""
            if not token:
                return

    def read(self, key: str) -> bytes:
        query = {"alt": "media", **({"generation": self.generation} if self.generation else {})}
        return self._get(f"{self.url}/{quote(key, safe='')}?{urlencode(query)}").body

    def _get(self, url: str) -> HttpResponse:
        headers = {"Authorization": f"Bearer {self.token()}"} if self.token is not None else {}
        answer = self.http.ask("GET", url, headers)
        if answer.status >= 300:
            raise InstallError(error_text(answer))
        return answer


def _google(url: str, environ: Mapping[str, str]) -> tuple[ObjectStore, str]:
    parts = urlsplit(url)
    names = unquote(parts.path).split("/", 4)
    if not (parts.hostname or "").endswith(".googleapis.com") or len(names) < 5 or not names[3] or not names[4]:
        raise InstallError(f"{display_url(url)} is not of the form https://www.googleapis.com/storage/v1/BUCKET/PATH")
    http = Http()
    token: Callable[[], str] | None = None
    endpoint = environ.get("STORAGE_EMULATOR_HOST", "")
    if endpoint:
        endpoint = endpoint if "://" in endpoint else f"http://{endpoint}"
    else:
        endpoint = "https://storage.googleapis.com"
        token = GoogleTokens(GoogleAccount(environ.get("GOOGLE_OAUTH_ACCESS_TOKEN", "")), (_SCOPE,), http)
    address = f"{endpoint.rstrip('/')}/storage/v1/b/{quote(names[3], safe='')}/o"
    return _GoogleObjects(address, token, http, parts.fragment), names[4]


def files_below(store: ObjectStore, path: str) -> dict[str, bytes]:
    """The contents of the objects below a path, by relative name. Raises InstallError, also if a name leads out of the
    path."""
    prefix = f"{path.rstrip('/')}/"
    contents: dict[str, bytes] = {}
    try:
        for key in store.keys(prefix):
            name = key.removeprefix(prefix)
            if not name or name.endswith("/"):
                continue
            if not key.startswith(prefix) or any(part in ("", ".", "..") for part in name.split("/")):
                raise InstallError(f"the object {key} has a name that cannot be a file of a module")
            contents[name] = store.read(key)
    except ServiceError as problem:
        raise InstallError(problem.text) from None
    if not contents:
        raise InstallError(f"there are no objects below {prefix} in the bucket")
    return contents
