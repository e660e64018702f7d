"""Run a program with the scripted model, in a network of its own that has only loopback.

    unshare --net python -m tests.assistants.isolated PORT LOG PROGRAM ARGUMENT…

Ends as the program ends; whatever the program has left running has nobody to talk to.
"""

from __future__ import annotations

import fcntl
import socket
import struct
import subprocess
import sys
import threading

from tests.assistants.model import serve

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1  # netdevice(7)


def bring_up_loopback() -> None:
    """What `ip link set lo up` does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack_from("h", fcntl.ioctl(asked, _SIOCGIFFLAGS, request), 16)
        fcntl.ioctl(asked, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))


def main(port: int, log: str, command: list[str]) -> int:
    """Serve, and run the command to its end."""
    bring_up_loopback()
    threading.Thread(target=serve, args=(port, log), daemon=True).start()
    return subprocess.run(command, stdin=sys.stdin, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
