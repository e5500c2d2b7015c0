"""A guest that answers the greeting and then floods the host with one kind of frame, without reading another byte."""

import json
import socket
import struct
import sys

path, kind, count = sys.argv[1], sys.argv[2], int(sys.argv[3])


def frame(head, sequence=0, stream=0, body=b""):
    text = json.dumps(head).encode()
    return struct.pack(">HBBIIIII", 0x4843, 1, 0, len(text), len(body), stream, sequence, 0) + text + body


FLOODS = {
    "stdout": lambda n: frame({"type": "background", "execution": "x", "source": "stdout"}, sequence=n, stream=1),
    "ping": lambda n: frame({"type": "ping", "nonce": n}),
    "call": lambda n: frame({"type": "call", "id": n, "execution": "x", "method": "m", "stream": 2 * n + 1}, sequence=n),
    "chunk": lambda n: frame({"type": "chunk"}, sequence=n, stream=2, body=b"x"),
}

host = socket.socket(socket.AF_UNIX)
host.connect(path)
host.recv(65536)
host.sendall(frame({"type": "welcome", "protocol": 1, "epoch": 1, "guest": {"version": "0", "python": "3"}, "offers": []}))
if kind == "chunk":
    host.recv(65536)  # the request that it answers
try:
    for first in range(1, count, 500):
        host.sendall(b"".join(FLOODS[kind](number) for number in range(first, first + 500)))
    sys.stdin.read()
except OSError:
    pass
