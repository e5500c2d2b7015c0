"""Passes bytes between its standard streams and the socket that the guest of a container listens on.

Its arguments are the name of the socket, the line that it writes when it has reached the guest, and what it says where nobody listens.
It waits a moment for the guest, and ends when either side does. It has no second thread: in a sandbox that has used up its processes none
can be started. It reads from a side only when the other has taken all that came before.
"""

import os
import select
import socket
import sys
import time

HOST_IN, HOST_OUT = 0, 1
PATIENCE_SECONDS = 10


def connected(name: str, complaint: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    give_up = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            connection.connect("\0" + name)
            return connection
        except OSError:
            if time.monotonic() > give_up:
                sys.exit(complaint)
            time.sleep(0.005)


def pass_on(guest: int, greeting: bytes) -> None:
    for descriptor in (HOST_IN, HOST_OUT, guest):
        os.set_blocking(descriptor, False)
    goes_to = {HOST_IN: guest, guest: HOST_OUT}
    held = {HOST_OUT: greeting, guest: b""}
    while True:
        sources = [source for source, target in goes_to.items() if not held[target]]
        targets = [target for target, data in held.items() if data]
        readable, _, _ = select.select(sources, targets, [])
        for source in readable:
            held[goes_to[source]] = os.read(source, 65536)
            if not held[goes_to[source]]:
                return
        for target, data in held.items():
            try:
                held[target] = data[os.write(target, data) :] if data else data
            except BlockingIOError:
                pass


def main(name: str, greeting: str, complaint: str) -> None:
    connection = connected(name, complaint)
    try:
        pass_on(connection.fileno(), greeting.encode() + b"\n")
    except OSError:
        pass


main(*sys.argv[1:])
