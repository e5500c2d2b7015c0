"""A FUSE file system on a folder, as another user mounts one: it says that its one folder is root's and closed.

Given a number of seconds as well, it answers nothing, and ends by itself after that time. Else it ends, and is gone, when its input ends.
"""

import ctypes
import os
import select
import struct
import sys
import time

INIT, LOOKUP, GETATTR = 26, 1, 3
MNT_DETACH = 2

place, user = sys.argv[1].encode(), int(sys.argv[2])
silent = float(sys.argv[3]) if len(sys.argv) > 3 else None
libc = ctypes.CDLL(None, use_errno=True)
device = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={device},rootmode=40000,user_id={user},group_id={user},allow_other"
if libc.mount(b"hotcell-test", place, b"fuse", 6, options.encode()) != 0:
    sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")


def attributes(inode):
    return struct.pack("<QII6Q10I", 0, 0, 0, inode, 0, 0, 0, 0, 0, 0, 0, 0, 0o40700, 2, 0, 0, 0, 4096, 0)


def answer(request):
    _, operation, unique, node = struct.unpack("<IIQQ", request[:24])
    if operation == INIT:
        return unique, 0, struct.pack("<IIIIHHI", 7, 31, 0, 0, 12, 10, 65536) + bytes(40)
    if operation == GETATTR:
        return unique, 0, attributes(node)
    return unique, -2 if operation == LOOKUP else -38, b""


print("mounted", flush=True)
try:
    end = None if silent is None else time.monotonic() + silent
    while True:
        left = None if end is None else max(0.0, end - time.monotonic())
        ready = select.select([device, sys.stdin], [], [], left)[0]
        if sys.stdin in ready or not ready:
            break
        request = os.read(device, 1 << 17)
        unique, error, data = answer(request)
        if silent is not None and struct.unpack("<I", request[4:8])[0] != INIT:
            continue
        os.write(device, struct.pack("<IiQ", 16 + len(data), error, unique) + data)
finally:
    libc.umount2(place, MNT_DETACH)
