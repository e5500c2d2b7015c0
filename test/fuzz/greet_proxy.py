"""Greets the guest's proxy with what the fuzzer sends: a line of hexadecimal pieces in, a line of JSON out."""

import json
import sys

sys.path.insert(0, sys.argv[1])

from hotcell_guest.network.greeting import Greeting

for line in sys.stdin:
    greeting = Greeting()
    answer, asked, is_over, held = b"", None, False, 0
    rest = b""
    for piece in line.rstrip("\n").split(","):
        data = bytes.fromhex(piece)
        if asked is not None or is_over:
            rest += data
            continue
        step = greeting.feed(data)
        held = max(held, len(greeting._held))
        answer += step.answer
        is_over = step.is_over
        if step.asked is not None:
            asked = [step.asked.method, step.asked.argument, step.asked.speaks]
            rest = step.asked.rest
    print(
        json.dumps({"answer": answer.hex(), "asked": asked, "isOver": is_over, "rest": rest.hex() if asked else "", "held": held}),
        flush=True,
    )
