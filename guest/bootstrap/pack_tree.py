"""Packs what a builder of packages has made, for the host: `pack_tree.py OUT MOST_BYTES PART=FOLDER...`.

Each entry is a length (four bytes, big-endian), a head of that length in JSON, and the bytes of a file. What is packed is removed: both are
in the memory of the sandbox. So a part may lie in a later one, as `bin` in what uv installs.
"""

import json
import os
import stat
import sys
from typing import Any, BinaryIO

PIECE = 1 << 20


def pack(out: BinaryIO, most_bytes: int, parts: "dict[str, str]") -> None:
    left = most_bytes

    def entry(**head: Any) -> None:
        text = json.dumps(head).encode("utf-8")
        out.write(len(text).to_bytes(4, "big") + text)

    def pack_file(path: str, name: str, status: os.stat_result) -> None:
        nonlocal left
        left -= status.st_size
        if left < 0:
            raise SystemExit(f"the packages are larger than {most_bytes} bytes")
        entry(kind="file", path=name, size=status.st_size, executable=bool(status.st_mode & 0o111))
        with open(path, "rb") as file:
            remaining = status.st_size
            while remaining > 0:
                piece = file.read(min(PIECE, remaining))
                if not piece:
                    raise SystemExit(f"{name!r} became shorter")
                remaining -= len(piece)
                out.write(piece)
        os.unlink(path)

    def pack_folder(folder: str, name: str) -> None:
        entry(kind="folder", path=name)
        for child in sorted(os.listdir(folder)):
            if child == ".lock" and name in parts:
                continue  # uv's own
            path, below = os.path.join(folder, child), f"{name}/{child}"
            status = os.lstat(path)
            if stat.S_ISDIR(status.st_mode):
                pack_folder(path, below)
                os.rmdir(path)
            elif stat.S_ISLNK(status.st_mode):
                entry(kind="link", path=below, target=os.readlink(path))
                os.unlink(path)
            elif stat.S_ISREG(status.st_mode):
                pack_file(path, below, status)
            else:
                raise SystemExit(f"{below!r} is neither a file nor a folder nor a link")

    for part, folder in parts.items():
        if os.path.isdir(folder):
            pack_folder(folder, part)
            if not os.listdir(folder):
                os.rmdir(folder)
    entry(kind="end")


if __name__ == "__main__":
    with open(sys.argv[1], "xb") as out:
        pack(out, int(sys.argv[2]), dict(argument.split("=", 1) for argument in sys.argv[3:]))
