"""matplotlib figures as displays: at show(), and at the end of an execution those that are still open."""

from __future__ import annotations

import io
import sys
from types import ModuleType
from typing import Any, Optional

from .screen import Screen

BACKEND = "module://hotcell_guest.display.matplotlib_backend"


def use_our_backend(_matplotlib: ModuleType) -> None:
    """Called after `import matplotlib`. Child processes keep the environment's Agg backend, because they cannot import
    ours.
    """
    try:
        _matplotlib.rcParams["backend"] = BACKEND
    except Exception:  # noqa: BLE001 - an unusual matplotlib keeps its own backend; figures must then be saved explicitly
        pass


def capture_open_figures(screen: Screen) -> None:
    """Displays every open figure and closes it, so that none appears again in the next execution."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        picture = _png(figure, f"The figure {number}")
        pyplot.close(number)
        if picture is not None:
            screen.show([("text/plain", repr(figure).encode("utf-8", "replace")[:1000]), ("image/png", picture)])


def is_open_figure(item: Any) -> bool:
    """Whether it is a figure that the end of the execution will display anyway."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    return pyplot is not None and _is_figure(item) and any(pyplot.figure(number) is item for number in pyplot.get_fignums())


def picture_of(item: Any) -> Optional[bytes]:
    """The PNG of a figure, which is closed if it was open, because it is displayed now. None for other objects."""
    if not _is_figure(item):
        return None
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    try:
        return _png(item, "The figure")
    finally:
        if pyplot is not None:
            pyplot.close(item)


def _is_figure(item: Any) -> bool:
    module: Any = sys.modules.get("matplotlib.figure")
    return module is not None and isinstance(item, module.Figure)


def _png(figure: Any, name: str) -> Optional[bytes]:
    buffer = io.BytesIO()
    try:
        figure.savefig(buffer, format="png", bbox_inches="tight")
    except Exception as error:  # noqa: BLE001 - drawing runs the user's artists
        print(f"{name} could not be drawn: {type(error).__name__}: {error}", file=sys.stderr)
        return None
    return buffer.getvalue()
