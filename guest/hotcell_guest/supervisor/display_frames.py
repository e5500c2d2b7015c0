"""The `display` frames of a kernel, checked. SECURITY: user code may have written them, and an invalid one ends the kernel."""

from __future__ import annotations

from ..wire.display_limits import MAX_ID_CHARS, MAX_PARTS, is_media_type
from ..wire.frames import Head
from .checked_outcome import natural


def display_head(head: Head) -> Head:
    """Returns the members of a `display` that the host knows. Raises ValueError if one is invalid."""
    media_type, display_id, part = head["mediaType"], head.get("id"), natural(head["part"])
    if not is_media_type(media_type) or part >= MAX_PARTS:
        raise ValueError("display: no media type, or too many")
    checked: Head = {"type": "display", "index": natural(head["index"]), "part": part, "mediaType": media_type, "end": bool(head["end"])}
    if display_id is not None:
        if not isinstance(display_id, str):
            raise ValueError("display: an id is a text")
        checked["id"] = display_id[:MAX_ID_CHARS]
    for name in ("update", "value"):
        if head.get(name):
            checked[name] = True
    return checked
