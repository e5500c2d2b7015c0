"""Names that an execution changed, in the form of a frame: created in the kernel, checked in the supervisor."""

from __future__ import annotations

import json
from typing import Any

MOST_NAMES = 100
_MOST_NAME_CHARS = 200
# They are part of a frame's head, which needs space for the rest.
_MOST_BYTES = 16_384

Changes = dict[str, Any]


def bounded(found: dict[str, list[str]], omitted: int) -> Changes:
    """As many names as fit into a frame. `omitted` is increased by the others, unless it is -1 (unknown)."""
    kept: Changes = {}
    room = _MOST_BYTES
    for kind, names in found.items():
        kept[kind] = []
        for name in names[:MOST_NAMES]:
            cost = len(json.dumps(name[: _MOST_NAME_CHARS + 1], ensure_ascii=False).encode("utf-8", "replace")) + 1
            if len(name) <= _MOST_NAME_CHARS and cost <= room:
                kept[kind].append(name)
                room -= cost
        if omitted >= 0:
            omitted += len(names) - len(kept[kind])
    return {**kept, "omitted": omitted}
