"""A guest that answers the greeting and then floods the host with one kind of frame, without reading another byte."""

import json
import socket
import struct
import sys

path, kind, count = sys.argv[1], sys.argv[2], int(sys.argv[3])


def frame(head, sequence=0, stream=0):
    text = json.dumps(head).encode()
    return struct.pack(">HBBIIIII", 0x4843, 1, 0, len(text), 0, stream, sequence, 0) + text


FLOODS = {
    "stdout": lambda n: frame({"type": "background", "execution": "x", "source": "stdout"}, sequence=n, stream=1),
    "ping": lambda n: frame({"type": "ping", "nonce": n}),
    "call": lambda n: frame({"type": "call", "id": n, "execution": "x", "method": "m", "params": {}, "stream": 3}, sequence=n),
}

host = socket.socket(socket.AF_UNIX)
host.connect(path)
host.recv(65536)
host.sendall(frame({"type": "welcome", "protocol": 1, "epoch": 1, "guest": {"version": "0", "python": "3"}, "offers": []}))
try:
    for first in range(1, count, 500):
        host.sendall(b"".join(FLOODS[kind](number) for number in range(first, first + 500)))
    sys.stdin.read()
except OSError:
    pass
