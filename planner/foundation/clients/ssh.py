"""SSH connections (with asyncssh): keys, host keys, bastions, proxies, commands and uploads."""

from __future__ import annotations

import asyncio
import base64
import os
import shlex
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

import asyncssh

from planner.foundation.vocabulary.records import frozen

DIAL = 15.0  # seconds to wait for a TCP connection and the reply of a proxy
PIECE = 1 << 20  # bytes per read of a file
MAX_REPLIED = 64 * 1024
"""the maximum size, in bytes, of a proxy's reply, and of command output quoted in an error message"""


class SshError(Exception):
    """A connection or an upload failed. `lasting`: whether the error is permanent, so that a retry is useless."""

    def __init__(self, text: str, lasting: bool = False) -> None:
        super().__init__(text)
        self.lasting = lasting


@frozen(eq=False)
class Login:
    """A host, its key, and the user's credentials. Empty strings mean "not set"."""

    host: str
    port: int
    user: str
    password: str
    private_key: str
    certificate: str
    host_key: str

    @property
    def address(self) -> str:
        return f"{in_brackets(self.host)}:{self.port}"


@frozen(eq=False)
class Proxy:
    """An HTTP proxy that can connect to other hosts."""

    scheme: str
    host: str
    port: int
    user: str
    password: str


@frozen(eq=False)
class Agent:
    """The socket of an SSH agent, and the key to try first, identified by its file or comment."""

    path: str
    identity: str


@frozen(eq=False)
class Route:
    """A host to log in to, and the bastion, proxy and agent that are used for this; None for those that are not
    used."""

    target: Login
    bastion: Login | None
    proxy: Proxy | None
    agent: Agent | None


def in_brackets(host: str) -> str:
    """The host in the form that can be followed by a port: an IPv6 address is put in brackets."""
    return f"[{host}]" if ":" in host else host


def check_login(login: Login) -> None:
    """Raises SshError if the private key, its certificate or the host key is invalid."""
    _client_keys(login)
    _host_key(login)


@asynccontextmanager
async def open_connection(route: Route) -> AsyncIterator[asyncssh.SSHClientConnection]:
    """A context with a connection to the target of the route. Raises SshError."""
    async with AsyncExitStack() as stack:
        identities: list[Any] = []
        if route.agent is not None:
            identities = await _agent_keys(route.agent, stack)
        way: Any = _Dialer(route.proxy)
        if route.bastion is not None:
            try:
                way = await stack.enter_async_context(await _log_in(route.bastion, way, identities, None))
            except SshError as e:
                raise SshError(f"Error connecting to bastion: {e}", e.lasting) from None
        yield await stack.enter_async_context(await _log_in(route.target, way, identities, route.agent))


async def _log_in(login: Login, way: Any, identities: list[Any], agent: Agent | None) -> asyncssh.SSHClientConnection:
    expected = _host_key(login)
    keys = [*_client_keys(login), *identities]
    trusts: Sequence[Any] = (None,)
    if expected is not None:
        # accept a host key that a trusted authority signed, or that equals the expected key
        trusts = (([expected], [expected], []), ([expected], [], []))
    failure = ""
    for known_hosts in trusts:
        try:
            return await asyncssh.connect(
                login.host,
                login.port,
                tunnel=way,
                config=None,
                known_hosts=known_hosts,
                username=login.user,
                client_factory=lambda: _Client(login.password),
                client_keys=keys or None,
                agent_path=None,
                agent_forwarding=agent.path if agent is not None else False,
                gss_host=None,
                x509_trusted_certs=None,
                keepalive_interval=10,
                keepalive_count_max=12,
            )
        except asyncssh.HostKeyNotVerifiable as e:
            failure = f"{login.address} does not have the expected host key: {e.reason}"
        except asyncssh.PermissionDenied as e:
            raise SshError(f"SSH authentication failed ({login.user}@{login.address}): {e.reason}") from None
        except asyncssh.ChannelOpenError as e:
            raise SshError(f"cannot connect to {login.address}: {e.reason}") from None
        except asyncssh.Error as e:
            raise SshError(f"SSH handshake failed ({login.user}@{login.address}): {e.reason}") from None
        except TimeoutError:
            raise SshError(f"cannot connect to {login.address}: timed out") from None
        except (OSError, ValueError) as e:
            raise SshError(f"cannot connect to {login.address}: {reason(e)}") from None
    raise SshError(failure, lasting=True)


def reason(e: OSError | ValueError) -> str:
    """The message of an error, without the number and the path of an OSError."""
    return (isinstance(e, OSError) and e.strerror) or str(e)


class _Client(asyncssh.SSHClient):
    """Logs in with a password, first by password authentication, then by answering all prompts of the server with it
    (keyboard-interactive)."""

    def __init__(self, password: str) -> None:
        self.passwords = [password] if password else []
        self.answers = [password] if password else []

    def password_auth_requested(self) -> str | None:
        return self.passwords.pop() if self.passwords else None

    def kbdint_auth_requested(self) -> str | None:
        return "" if self.answers else None

    def kbdint_challenge_received(
        self, name: str, instructions: str, lang: str, prompts: Sequence[tuple[str, bool]]
    ) -> list[str] | None:
        if not prompts:
            return []
        return [self.answers.pop()] * len(prompts) if self.answers else None


class _Dialer:
    def __init__(self, proxy: Proxy | None) -> None:
        self.proxy = proxy

    async def create_connection(self, factory: Callable[[], Any], host: str, port: int) -> tuple[Any, Any]:
        """Connect to a host, through the proxy if there is one. asyncssh calls this method of its argument `tunnel`."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(DIAL):
            if self.proxy is None:
                return await loop.create_connection(factory, host, port)
            opened = loop.create_future()
            context = ssl.create_default_context() if self.proxy.scheme == "https" else None
            request = _connect_request(self.proxy, f"{in_brackets(host)}:{port}")
            transport, _ = await loop.create_connection(
                lambda: _Opening(request, factory, opened), self.proxy.host, self.proxy.port, ssl=context
            )
            try:
                return transport, await opened
            except BaseException:
                transport.close()
                raise


def _connect_request(proxy: Proxy, address: str) -> bytes:
    lines = [f"CONNECT {address} HTTP/1.1", f"Host: {address}"]
    if proxy.user or proxy.password:
        secret = base64.b64encode(f"{proxy.user}:{proxy.password}".encode()).decode()
        lines.append(f"Proxy-Authorization: Basic {secret}")
    return "\r\n".join([*lines, "", ""]).encode()


class _Opening(asyncio.Protocol):
    """Requests a connection from a proxy, and then passes it to the protocol that `factory` creates."""

    def __init__(self, request: bytes, factory: Callable[[], Any], opened: asyncio.Future[Any]) -> None:
        self.request, self.factory, self.opened = request, factory, opened
        self.reply = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        self.reply += data
        head, end, rest = self.reply.partition(b"\r\n\r\n")
        if self.opened.done():
            return
        if not end:
            if len(head) > MAX_REPLIED:
                self._fail("the reply of the proxy is too long")
            return
        status = head.split(b"\r\n")[0].decode("latin-1").split(" ", 2)
        if not status[0].startswith("HTTP/1.") or status[1:2] != ["200"]:
            self._fail(f"the proxy replied {' '.join(status[1:])[:200]!r}")
            return
        user = self.factory()
        self.transport.set_protocol(user)
        user.connection_made(self.transport)
        self.opened.set_result(user)
        if rest:
            user.data_received(rest)

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail("the proxy closed the connection")

    def _fail(self, text: str) -> None:
        if not self.opened.done():
            self.opened.set_exception(OSError(0, text))
        self.transport.close()


# ---------------------------------------------------------------- keys


def _host_key(login: Login) -> asyncssh.SSHKey | None:
    if not login.host_key:
        return None
    try:
        return asyncssh.import_public_key(login.host_key.strip())
    except (asyncssh.KeyImportError, ValueError) as e:
        raise SshError(f"the host key of {login.host} is not a public key: {e}", lasting=True) from None


def _client_keys(login: Login) -> list[Any]:
    if not login.private_key:
        return []
    try:
        key = asyncssh.import_private_key(login.private_key)
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError, ValueError) as e:
        hint = ". Decrypt the key, or load it into an agent" if "passphrase" in str(e).lower() else ""
        raise SshError(f"Failed to read the ssh private key: {e}{hint}", lasting=True) from None
    if not login.certificate:
        return [key]
    kind = login.certificate.split(" ")[0]
    try:
        certificate = asyncssh.import_certificate(login.certificate)
        asyncssh.load_keypairs([(key, certificate)])
        return [(key, certificate)]
    except (asyncssh.KeyImportError, ValueError) as e:
        detail = "use the content of the file *-cert.pub that belongs to the private key"
        raise SshError(f"invalid certificate ({kind[:40]!r}): {e}; {detail}", lasting=True) from None


async def _agent_keys(agent: Agent, stack: AsyncExitStack) -> list[Any]:
    """The keys of the agent: first the key that `agent.identity` names, then keys whose comment ends with the identity,
    then all others. Raises SshError."""
    try:
        client = await stack.enter_async_context(asyncssh.connect_agent(agent.path))
        keys = list(await client.get_keys())
    except (OSError, ValueError, asyncssh.Error) as e:
        raise SshError(f"cannot use the SSH agent at {agent.path}: {e}") from None
    if not agent.identity:
        return keys
    public = _identity_keys(agent.identity)

    def distance(key: Any) -> int:
        comment = key.get_comment_bytes().decode("utf-8", "replace")
        if key.public_data in public or comment == agent.identity:
            return 0
        return 1 if comment.endswith(agent.identity) else 2

    return sorted(keys, key=distance)


def _identity_keys(identity: str) -> set[bytes]:
    keys = set()
    for path in (Path(identity), Path(identity + ".pub")):
        for read in (asyncssh.read_private_key, asyncssh.read_public_key):
            try:
                keys.add(read(path).public_data)
            except (OSError, ValueError, asyncssh.Error):
                continue
    return keys


# ---------------------------------------------------------------- commands and files


async def run_command(
    connection: asyncssh.SSHClientConnection, command: str, output: Callable[[bytes], None], idle: float, terminal: bool
) -> str:
    """Pass stdout and stderr of a command to `output`, and b"" after each `idle` seconds without output. `terminal`:
    whether the command runs in a terminal. Returns a description of the failure, or "". Raises SshError if the command
    cannot be started, or the connection is lost."""
    options: dict[str, Any] = {}
    if terminal:
        options = {"term_type": "xterm", "term_size": (40, 80), "term_modes": {asyncssh.PTY_ECHO: 0}}
    try:
        process: Any = await connection.create_process(command, encoding=None, stderr=asyncssh.STDOUT, **options)
    except asyncssh.Error as e:
        raise SshError(f"Error starting script: {e.reason}") from None
    reading: asyncio.Task[bytes] | None = None
    try:
        while True:
            reading = reading or asyncio.ensure_future(process.stdout.read(1 << 16))
            done, _ = await asyncio.wait({reading}, timeout=idle)
            if not done:
                output(b"")
                continue
            data, reading = reading.result(), None
            if not data:
                break
            output(data)
        await process.wait_closed()
    except (asyncssh.Error, OSError) as e:
        raise SshError(f"the connection was lost: {e}") from None
    finally:
        if reading is not None:
            reading.cancel()
        process.close()
    if process.exit_signal:
        return f"ended by SIG{process.exit_signal[0]}"
    if process.exit_status is None:
        raise SshError("the connection was lost before the command ended")
    return f"exit status {process.exit_status}" if process.exit_status else ""


@asynccontextmanager
async def open_files(connection: asyncssh.SSHClientConnection, windows: bool) -> AsyncIterator[Files]:
    """A context with access to the files of the host, by SFTP. If a host other than a Windows host does not support
    SFTP, shell commands are used. Raises SshError."""
    try:
        client = await connection.start_sftp_client()
    except (asyncssh.Error, OSError) as e:
        if windows or connection.is_closed():
            raise SshError(f"the host does not support SFTP: {e}") from None
        yield _ShellFiles(connection)
        return
    async with client:
        yield _SftpFiles(client, windows)


class Files:
    """Writes files on a host. All methods raise SshError."""

    async def home(self) -> str:
        raise NotImplementedError

    async def is_directory(self, path: str) -> bool:
        raise NotImplementedError

    async def make_directory(self, path: str) -> None:
        raise NotImplementedError

    async def write(self, path: str, source: IO[bytes], mode: int, fresh: bool) -> None:
        """Write a stream to a file. `mode`: the permissions of a new file. `fresh`: whether an existing file or link is
        replaced instead of written to."""
        raise NotImplementedError

    async def remove(self, path: str) -> None:
        raise NotImplementedError


class _SftpFiles(Files):
    def __init__(self, client: asyncssh.SFTPClient, windows: bool) -> None:
        self.client, self.windows = client, windows

    def _path(self, path: str) -> str:
        if not self.windows:
            return path
        path = path.replace("\\", "/")
        return f"/{path}" if path[1:2] == ":" else path

    async def home(self) -> str:
        with _as_ssh_errors("."):
            return str(await self.client.realpath("."))

    async def is_directory(self, path: str) -> bool:
        with _as_ssh_errors(path):
            return bool(await self.client.isdir(self._path(path)))

    async def make_directory(self, path: str) -> None:
        if not await self.is_directory(path):
            with _as_ssh_errors(path):
                await self.client.mkdir(self._path(path), asyncssh.SFTPAttrs(permissions=0o755))

    async def write(self, path: str, source: IO[bytes], mode: int, fresh: bool) -> None:
        remote = self._path(path)
        with _as_ssh_errors(path):
            if fresh and await self.client.lexists(remote):
                await self.client.remove(remote)
            attributes = asyncssh.SFTPAttrs(permissions=mode)
            async with self.client.open(remote, "xb" if fresh else "wb", attributes) as file:
                while piece := source.read(PIECE):
                    await file.write(piece)

    async def remove(self, path: str) -> None:
        with _as_ssh_errors(path):
            await self.client.remove(self._path(path))


class _ShellFiles(Files):
    def __init__(self, connection: asyncssh.SSHClientConnection) -> None:
        self.connection = connection

    async def _run(self, command: str, path: str, source: IO[bytes] | None = None) -> tuple[int, str]:
        with _as_ssh_errors(path):
            process: Any = await self.connection.create_process(command, encoding=None, stderr=asyncssh.STDOUT)
            async with process:
                output = asyncio.ensure_future(_read_limited(process.stdout))
                try:
                    while source is not None and (piece := source.read(PIECE)):
                        process.stdin.write(piece)
                        await process.stdin.drain()
                    process.stdin.write_eof()
                except OSError:
                    pass  # the command ended before it read everything, and its exit status shows the reason
                text = (await output).decode("utf-8", "replace")
                await process.wait_closed()
        if process.exit_status is None:
            raise SshError(f"{path}: the connection was lost")
        return process.exit_status, text.strip()

    async def _must(self, command: str, path: str, source: IO[bytes] | None = None) -> str:
        status, text = await self._run(command, path, source)
        if status:
            raise SshError(f"{path}: {text or f'exit status {status}'}")
        return text

    async def home(self) -> str:
        return await self._must("pwd", ".")

    async def is_directory(self, path: str) -> bool:
        return not (await self._run(f"test -d {shlex.quote(path)}", path))[0]

    async def make_directory(self, path: str) -> None:
        if not await self.is_directory(path):
            await self._must(f"mkdir -- {shlex.quote(path)}", path)

    async def write(self, path: str, source: IO[bytes], mode: int, fresh: bool) -> None:
        name = shlex.quote(path)
        command = f"cat > {name}"
        if fresh:
            command = f"rm -f -- {name} && umask 077 && set -C && {command} && chmod {mode:o} -- {name}"
        await self._must(command, path, source)

    async def remove(self, path: str) -> None:
        await self._must(f"rm -f -- {shlex.quote(path)}", path)


async def _read_limited(stream: Any) -> bytes:
    """The first MAX_REPLIED bytes of a stream, which is read to its end."""
    kept = b""
    while data := await stream.read(1 << 16):
        kept = (kept + data)[:MAX_REPLIED]
    return kept


@contextmanager
def _as_ssh_errors(path: str) -> Iterator[None]:
    """Convert errors of the protocol and of local files to SshError."""
    try:
        yield
    except asyncssh.Error as e:
        raise SshError(f"{path}: {e.reason}") from None
    except OSError as e:
        raise SshError(f"{e.filename or path}: {reason(e)}") from None


async def upload(files: Files, source: str | IO[bytes], destination: str) -> None:
    """Upload a stream, a file or a directory. `~` at the beginning of the destination is the user's home directory. If
    the destination ends with a slash, its last name is repeated for a stream or a file, as with scp: `a/b/` becomes
    `a/b/b`. If the destination exists, a directory is uploaded into it; if not, the destination is created as a copy of
    the directory. If the path of a directory ends with a slash, only its content is uploaded, and the destination must
    exist. Raises SshError."""
    if destination == "~" or destination.startswith("~/"):
        destination = await files.home() + destination[1:]
    name = destination
    if destination.endswith("/"):  # like scp
        name = f"{destination}{PurePosixPath(destination).name}"
    if not isinstance(source, str):
        await files.write(name, source, 0o644, fresh=False)
        return
    if not os.path.isdir(source):
        with _as_ssh_errors(source), open(source, "rb") as file:
            await files.write(name, file, 0o644, fresh=False)
        return
    if await files.is_directory(destination):
        if not source.endswith("/"):
            destination = f"{destination.rstrip('/')}/{Path(source).resolve().name}"
    elif source.endswith("/"):
        raise SshError(f"{destination}: the directory does not exist")
    await _upload_directory(files, source, destination.rstrip("/"), ())


async def _upload_directory(files: Files, source: str, destination: str, parents: tuple[str, ...]) -> None:
    real = os.path.realpath(source)
    if real in parents:
        raise SshError(f"{source}: the link leads back to a directory that contains it")
    await files.make_directory(destination or "/")
    with _as_ssh_errors(source):
        names = sorted(os.listdir(source))
    for name in names:
        path = os.path.join(source, name)
        if os.path.isdir(path):
            await _upload_directory(files, path, f"{destination}/{name}", (*parents, real))
        elif os.path.isfile(path) or not os.path.exists(path):
            with _as_ssh_errors(path), open(path, "rb") as file:
                await files.write(f"{destination}/{name}", file, 0o644, fresh=False)
        else:
            raise SshError(f"{path}: not a file or directory")
