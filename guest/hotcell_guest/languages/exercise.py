"""Warm-up: does early what preloaded packages delay until their first use. It leaves nothing behind but loaded code."""

from __future__ import annotations

import io
import sys
from typing import Any, Callable

from ..display import figures


def exercise_loaded() -> None:
    """Runs the warm-up of each loaded package. Failures are ignored."""
    # Modules of the guest that a kernel imports on first use.
    from ..display import displays  # noqa: F401
    from ..interpreter import raised  # noqa: F401

    for module, exercise in _EXERCISES.items():
        if module in sys.modules:
            try:
                exercise(sys.modules[module])
            except Exception:  # noqa: BLE001 - one unusual package must not stop the others
                continue


def _pandas(pandas: Any) -> None:
    frame = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    repr(frame)
    frame._repr_html_()
    frame.groupby("b")["a"].mean()
    pandas.read_csv(io.StringIO("a,b\n1,x\n"))


def _pyplot(pyplot: Any) -> None:
    figures.use_our_backend(sys.modules["matplotlib"])
    figure = pyplot.figure()
    figure.add_subplot().plot([1, 2])
    figure.savefig(io.BytesIO(), format="png", bbox_inches="tight")
    pyplot.close(figure)
    # matplotlib drops its open fonts in every fork. If there are none, a fork need not copy their pages.
    sys.modules["matplotlib.font_manager"]._get_font.cache_clear()


def _ssl(ssl: Any) -> None:
    """OpenSSL initializes its generator on first use. Each kernel reseeds it after its fork."""
    ssl.RAND_bytes(1)


_EXERCISES: dict[str, Callable[[Any], None]] = {"ssl": _ssl, "pandas": _pandas, "matplotlib.pyplot": _pyplot}
