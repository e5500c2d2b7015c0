"""Decodes what the fuzzer sends with the guest's own decoder: a line of hexadecimal pieces in, a line of JSON out."""

import json
import sys

sys.path.insert(0, sys.argv[1])

from hotcell_guest.wire.frames import FrameDecoder, ProtocolViolation

for line in sys.stdin:
    decoder = FrameDecoder()
    frames = []
    violation = None
    try:
        for piece in line.rstrip("\n").split(","):
            for frame in decoder.feed(bytes.fromhex(piece)):
                frames.append([frame.head["type"], frame.body.hex(), frame.stream, frame.sequence, frame.ack, frame.size])
    except ProtocolViolation as error:
        violation = str(error).split(":")[0]
    print(json.dumps({"frames": frames, "violation": violation, "pending": decoder.pending_bytes}), flush=True)
