"""Limits of a display, in the kernel that creates it and in the supervisor that checks it (docs/guest-protocol.md,
section 7).
"""

from __future__ import annotations

import re
from typing import Any

MAX_PARTS = 16
# The host allows 200 UTF-16 code units, and a character may take two.
MAX_ID_CHARS = 100
_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9][a-z0-9.+_-]*")
_MAX_MEDIA_TYPE_CHARS = 100


def is_media_type(text: Any) -> bool:
    return isinstance(text, str) and len(text) <= _MAX_MEDIA_TYPE_CHARS and _MEDIA_TYPE.fullmatch(text) is not None
