"""matplotlib's list of fonts, made at set-up. It is put in place before kernels start, without importing matplotlib."""

from __future__ import annotations

import os
import sys

_FONT_CACHE = os.path.join(sys.prefix, "hotcell", "matplotlib")


def offer_font_cache(config_folder: str) -> None:
    """Puts the font list that set-up made where matplotlib looks for it. Making one takes seconds."""
    try:
        os.makedirs(config_folder, exist_ok=True)
        for name in os.listdir(_FONT_CACHE):
            target = os.path.join(config_folder, name)
            if name.startswith("fontlist") and not os.path.lexists(target):
                os.symlink(os.path.join(_FONT_CACHE, name), target)
    except OSError:
        pass
