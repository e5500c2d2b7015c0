"""The command of a container. Any Python runs it; the guest follows on standard input, in parts that begin with their length.

It reads the descriptor without a buffer, because the first byte after the bundle belongs to the guest protocol. Nothing here may need
Python 3.9: an older one must live to say that it is too old.
"""

import os


def take(count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = os.read(0, count - len(data))
        if not piece:
            raise SystemExit("hotcell: the guest did not arrive whole")
        data += piece
    return data


def take_part() -> bytes:
    return take(int.from_bytes(take(4), "big"))


scope = {"__name__": "hotcell_bootstrap"}
exec(compile(take_part(), "/hotcell_guest/bootstrap.py", "exec"), scope)
scope["serve"](take_part(), take_part(), take_part())  # type: ignore[operator]
