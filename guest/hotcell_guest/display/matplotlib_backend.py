"""The matplotlib backend inside a kernel: Agg, where show() displays the open figures in the execution's result."""

from __future__ import annotations

from typing import Any, Callable, Optional

from matplotlib.backend_bases import FigureManagerBase  # type: ignore[import-not-found,unused-ignore]
from matplotlib.backends.backend_agg import FigureCanvasAgg  # type: ignore[import-not-found,unused-ignore]

on_show: Optional[Callable[[], None]] = None


class FigureManager(FigureManagerBase):  # type: ignore[misc,unused-ignore]
    """Displays all figures at once, like pyplot.show()."""

    @classmethod
    def pyplot_show(cls, *, block: Any = None) -> None:
        if on_show is not None:
            on_show()

    def show(self) -> None:
        if on_show is not None:
            on_show()


class FigureCanvas(FigureCanvasAgg):  # type: ignore[misc,unused-ignore]
    """Agg with our manager."""

    manager_class = FigureManager
