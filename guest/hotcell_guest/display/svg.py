"""SVG images: drawn as PNG where the sandbox has the package resvg_py, because models and terminals show no SVG; described otherwise.

The drawing runs in the user's own kernel, inside the sandbox, so a hostile image reaches no more than the code that made it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from typing import Any, Optional

MEDIA_TYPE = "image/svg+xml"
_MAX_DRAWN_CHARS = 4 * 1_048_576
_MAX_SIDE = 4_096
_MAX_SOURCE_CHARS = 2_000
_MAX_WORDS_CHARS = 1_000
_ROOT = re.compile(r"<svg\b[^>]*>", re.IGNORECASE)
_LENGTH = re.compile(r"\s*(\d{1,6}(?:\.\d+)?)\s*(?:px|pt)?\s*$")
_WORDS = re.compile(r"<(?:text|tspan|title|desc)\b[^>]*>([^<]{1,500})")


def drawn(source: str) -> Optional[bytes]:
    """The PNG of an SVG; None if it cannot be drawn here, or would be larger than 4,096 pixels a side."""
    if len(source) > _MAX_DRAWN_CHARS or max(_size(source) or (0, 0)) > _MAX_SIDE:
        return None
    try:
        library: Any = importlib.import_module("resvg_py")
        return bytes(library.svg_to_bytes(svg_string=source, background="white", **_fonts()))
    except Exception:  # noqa: BLE001 - not installed, or not an SVG that it can draw
        return None


def _fonts() -> dict[str, Any]:
    """The fonts of matplotlib beside those of the system: without any, text would be left out."""
    package = importlib.util.find_spec("matplotlib")
    if package is None or package.origin is None:
        return {}
    folder = os.path.join(os.path.dirname(package.origin), "mpl-data", "fonts", "ttf")
    name = "DejaVu Sans"
    return {"font_dirs": [folder], "font_family": name, "sans_serif_family": name} if os.path.isdir(folder) else {}


def description(source: str) -> str:
    """One line about an image that could not be drawn, with its words; and a short source as a whole."""
    size = _size(source)
    side = "" if size is None else f", {size[0]:g} × {size[1]:g}"
    line = f"[SVG image{side}, {len(source):,} characters]"
    if len(source) <= _MAX_SOURCE_CHARS:
        return f"{line}\n{source.strip()}"
    words = " ".join(" ".join(found.split()) for found in _WORDS.findall(source[:_MAX_DRAWN_CHARS]))
    return f"{line} Text in it: {words[:_MAX_WORDS_CHARS]}" if words.strip() else line


def _size(source: str) -> Optional[tuple[float, float]]:
    root = _ROOT.search(source[:65_536])
    if root is None:
        return None
    sides = [_length(root.group(), name) for name in ("width", "height")]
    if all(side is not None for side in sides):
        return (sides[0] or 0.0, sides[1] or 0.0)
    box = re.search(r"""viewBox\s*=\s*["']\s*[-\d.]+[\s,]+[-\d.]+[\s,]+([\d.]{1,9})[\s,]+([\d.]{1,9})""", root.group())
    try:
        return None if box is None else (float(box.group(1)), float(box.group(2)))
    except ValueError:
        return None


def _length(root: str, name: str) -> Optional[float]:
    found = re.search(rf"""\b{name}\s*=\s*["']([^"']{{1,40}})["']""", root)
    number = None if found is None else _LENGTH.match(found.group(1))
    return None if number is None else float(number.group(1))
