"""Runs a command beside silent TCP connections. Usage: silent.py PORT COUNT COMMAND…

Fails if the server has closed one of the connections before the command ends: then fewer were
beside it than COUNT.
"""

import resource
import select
import socket
import subprocess
import sys

port, count = int(sys.argv[1]), int(sys.argv[2])
limits = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
poll, silent = select.poll(), []
for _ in range(count):
    silent.append(socket.create_connection(("127.0.0.1", port)))
    poll.register(silent[-1], select.POLLIN)
status = subprocess.run(sys.argv[3:]).returncode
closed = len(poll.poll(0))
sys.exit(f"silent: the server closed {closed} connections" if closed else status)
