"""Exchanges two names of a folder, again and again, as code in a sandbox that can write to it would. Ends when its input does, or after ten minutes."""

import ctypes
import random
import select
import sys
import time

RENAME_EXCHANGE = 2
AT_FDCWD = -100

one, other = (name.encode() for name in sys.argv[1:3])
libc = ctypes.CDLL(None, use_errno=True)
end = time.monotonic() + 600


def exchange():
    if libc.renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) != 0:
        sys.exit(f"renameat2: {ctypes.get_errno()}")


print("begun", flush=True)
while time.monotonic() < end and not select.select([sys.stdin], [], [], 0)[0]:
    # There for long enough to be checked, and away for as long as it may take to be bound.
    time.sleep(random.uniform(0.004, 0.02))
    exchange()
    time.sleep(random.choice([0.0005, 0.005, 0.02, 0.1]) * random.random())
    exchange()
