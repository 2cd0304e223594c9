"""The program of a plugin that plugin_forks.py plays. Run as `python plugin_client.py SOCKET PROGRAM
PROTOCOL`. It imports
nothing that takes time."""

import os
import sys
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket

variables = [f"{name}={value}" for name, value in os.environ.items()]
data = os.fsencode("\0".join([str(os.getpid()), os.getcwd(), *sys.argv[2:4], *variables]))
forks = socket(AF_UNIX, SOCK_STREAM)
forks.connect(sys.argv[1])
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
forks.sendmsg([len(data).to_bytes(8, "little")], [(SOL_SOCKET, SCM_RIGHTS, streams)])
forks.sendall(data)
code = int(forks.recv(16) or 1)
if code < 0:
    os.kill(os.getpid(), -code)
os._exit(code)
