"""What preloaded packages put off until they are first used, done once ahead. Leaves nothing behind but what was loaded."""

from __future__ import annotations

import io
import sys
from typing import Any, Callable

from ..display import figures


def exercise_loaded() -> None:
    """Runs the exercise of each package that is loaded. One that fails is as good as one that was not tried."""
    # Ours, which a kernel imports when it first has a use for them.
    from ..display import displays  # noqa: F401
    from ..interpreter import raised  # noqa: F401

    for module, exercise in _EXERCISES.items():
        if module in sys.modules:
            try:
                exercise(sys.modules[module])
            except Exception:  # noqa: BLE001 - an unusual version of a package must not cost the others
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
    # matplotlib forgets its open fonts in every fork. Where there are none, a fork need not copy the pages they lie in.
    sys.modules["matplotlib.font_manager"]._get_font.cache_clear()


def _ssl(ssl: Any) -> None:
    """OpenSSL sets its generator up at the first use. Each kernel seeds it anew after its fork."""
    ssl.RAND_bytes(1)


_EXERCISES: dict[str, Callable[[Any], None]] = {"ssl": _ssl, "pandas": _pandas, "matplotlib.pyplot": _pyplot}
