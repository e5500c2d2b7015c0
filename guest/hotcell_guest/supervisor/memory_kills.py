"""Out-of-memory kills: by the sandbox's own limit, if the guest can see its counter, and as programs report them."""

from __future__ import annotations

_COUNTERS = (
    "/sys/fs/cgroup/memory.events",
    "/sys/fs/cgroup/memory/memory.oom_control",
)


# Messages of V8 when its heap, or the process, is out of memory.
_LAST_WORDS = (b"JavaScript heap out of memory", b"Fatal process out of memory", b"Fatal JavaScript out of memory")


def says_out_of_memory(last_words: bytes) -> bool:
    """Whether a program that died by itself was out of memory. It can lie, but about itself only."""
    return any(words in last_words for words in _LAST_WORDS)


def memory_kills() -> int:
    """Returns the number of kills; 0 if there is no counter, and only the driver outside knows."""
    for path in _COUNTERS:
        try:
            with open(path, encoding="ascii") as file:
                for line in file:
                    name, _, count = line.partition(" ")
                    if name == "oom_kill":
                        return int(count)
        except (OSError, ValueError):
            continue
    return 0
