"""Stands for Python: `forked` runs modules of the suite in processes that have the imports, Python the rest."""

import os
import socket
import sys

if sys.argv[1:2] != ["-m"] or not sys.argv[2].startswith("admmbench"):
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as server:
    server.connect(os.path.join(os.path.dirname(sys.argv[0]), "jobs"))
    socket.send_fds(server, [b"."], [0, 1, 2])
    server.sendall(repr((sys.argv[2:], os.getcwd(), dict(os.environ))).encode())
    server.shutdown(socket.SHUT_WR)
    status = int(server.recv(16))
if status < 0:
    os.kill(os.getpid(), -status)
sys.exit(status)
