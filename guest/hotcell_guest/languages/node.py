"""Starts the kernel of JavaScript and TypeScript: Node with the guest's program, which it reads from memory (guest/node_kernel)."""

from __future__ import annotations

import fcntl
import json
import os
import pkgutil
from typing import Optional

from ..kernels.fork import start_program
from ..kernels.process import Started
from ..system.limits import Limits
from ..system.loop import Loop

_PARTS = ("main", "link", "syntax")
_MiB = 1_048_576
# Memory of Node besides the heap of the user's objects: Node itself, the young generation, the link thread with its transpiler.
_BESIDE_HEAP_BYTES = 160 * _MiB
_LEAST_HEAP_BYTES = 32 * _MiB


def start_node(loop: Loop, limits: Limits, workspace: str) -> Started:
    """Starts a Node kernel with the `node` of the sandbox's PATH. Raises OSError if it cannot be started."""
    parts = {name: _part(f"node-{name}.js") for name in _PARTS}
    boot = _part("node-boot.js").decode().replace("SIZES", json.dumps({name: len(text) for name, text in parts.items()}))
    program = _sealed_memory_file(b"".join(parts.values()))
    try:
        return start_program(loop, limits, workspace, _arguments(limits, boot), environment={"UV_USE_IO_URING": "0"}, program_fd=program)
    finally:
        os.close(program)


def node_preload() -> bytes:
    """The script that makes Node use the proxy of the environment, for `--require`. Raises OSError if the guest came without it."""
    return _part("node-preload.js")


def _arguments(limits: Limits, boot: str) -> list[str]:
    return [
        "node",
        # An interrupt unwinds callbacks without the bookkeeping at their end, and the checks would then abort Node.
        "--no-force-async-hooks-checks",
        f"--max-old-space-size={heap_bytes(limits.memory_bytes) // _MiB}",
        # Threads of the garbage collector and the compiler. The default is four, even with fewer processors.
        f"--v8-pool-size={max(1, min(4, int(limits.cpus)))}",
        "--input-type=commonjs",
        "--eval",
        boot,
    ]


def heap_bytes(memory_bytes: int) -> int:
    """The share of the sandbox's memory for V8's heap. At that limit V8 reports the failure, where the sandbox's own limit only kills."""
    return max(_LEAST_HEAP_BYTES, memory_bytes // 2, memory_bytes - max(_BESIDE_HEAP_BYTES, memory_bytes // 5))


def _part(name: str) -> bytes:
    data: Optional[bytes] = pkgutil.get_data(__package__, name)
    if data is None:
        raise FileNotFoundError(2, f"the guest came without {name}")
    return data


def _sealed_memory_file(data: bytes) -> int:
    """SECURITY: a kernel reads the program again when it first needs the transpiler, and user code must not have changed it."""
    fd = os.memfd_create("hotcell-node", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with os.fdopen(os.dup(fd), "wb") as file:
        file.write(data)
    try:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    except OSError:
        pass  # a Linux kernel without seals
    return fd
