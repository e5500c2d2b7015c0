"""matplotlib figures as displays: at show(), and at the end of an execution those that are still open."""

from __future__ import annotations

import io
import sys
from types import ModuleType
from typing import Any, Callable, Optional

# Results of the functions that the user registered in IPython for an object.
Registered = Callable[[Any], dict[str, Any]]

BACKEND = "module://hotcell_guest.display.matplotlib_backend"


def use_our_backend(_matplotlib: ModuleType) -> None:
    """Called after `import matplotlib`. Child processes keep the environment's Agg backend, because they cannot import
    ours.
    """
    try:
        _matplotlib.rcParams["backend"] = BACKEND
    except Exception:  # noqa: BLE001 - an unusual matplotlib keeps its own backend; figures must then be saved explicitly
        pass


def capture_open_figures(show: Callable[[dict[str, Any]], None], registered: Registered) -> int:
    """Passes every open figure to `show` and closes it, so that none appears again in the next execution. Returns how many it
    displayed.
    """
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return 0
    shown = 0
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        bundle = _bundle(figure, registered, f"The figure {number}")
        pyplot.close(number)
        if bundle:
            show({"text/plain": repr(figure)[:1000], **bundle})
            shown += 1
    return shown


def is_open_figure(item: Any) -> bool:
    """Whether it is a figure that the end of the execution will display anyway."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    return pyplot is not None and _is_figure(item) and any(pyplot.figure(number) is item for number in pyplot.get_fignums())


def has_open_figure() -> bool:
    """Whether the end of the execution will display a figure."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    return pyplot is not None and any(_has_content(pyplot.figure(number)) for number in pyplot.get_fignums())


def bundle_of(item: Any, registered: Optional[Registered]) -> Optional[dict[str, Any]]:
    """The pictures of a figure, which is closed if it was open, because it is displayed now. None for other objects."""
    if not _is_figure(item):
        return None
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    try:
        return _bundle(item, registered, "The figure")
    finally:
        if pyplot is not None:
            pyplot.close(item)


def _is_figure(item: Any) -> bool:
    module: Any = sys.modules.get("matplotlib.figure")
    return module is not None and isinstance(item, module.Figure)


def _has_content(figure: Any) -> bool:
    """As in a notebook, an empty figure is no picture: `plt.gcf()` makes one when there is none."""
    return any(getattr(figure, name, None) for name in ("axes", "lines", "images", "patches", "texts"))


def _bundle(figure: Any, registered: Optional[Registered], name: str) -> dict[str, Any]:
    """The PNG, and the formats that the user chose with `%config InlineBackend.figure_formats`."""
    if not _has_content(figure):
        return {}
    chosen = {} if registered is None else registered(figure)
    if "image/png" not in chosen:
        picture = _png(figure, name)
        return chosen if picture is None else {"image/png": picture, **chosen}
    return chosen


def _png(figure: Any, name: str) -> Optional[bytes]:
    buffer = io.BytesIO()
    try:
        figure.savefig(buffer, format="png", bbox_inches="tight")
    except Exception as error:  # noqa: BLE001 - drawing runs the user's artists
        print(f"{name} could not be drawn: {type(error).__name__}: {error}", file=sys.stderr)
        return None
    return buffer.getvalue()
