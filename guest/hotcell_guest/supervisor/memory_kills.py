"""Who died for want of memory: what the sandbox's own limit has killed, where the guest can see that, and what says so itself."""

from __future__ import annotations

_COUNTERS = (
    "/sys/fs/cgroup/memory.events",
    "/sys/fs/cgroup/memory/memory.oom_control",
)


# How V8 says that its heap, or the process, has no more.
_LAST_WORDS = (b"JavaScript heap out of memory", b"Fatal process out of memory", b"Fatal JavaScript out of memory")


def says_out_of_memory(last_words: bytes) -> bool:
    """Whether a program that died by itself did so for want of memory. It can lie about that, and about itself only."""
    return any(words in last_words for words in _LAST_WORDS)


def memory_kills() -> int:
    """0 where nothing tells: then the driver outside knows."""
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
