"""Chart libraries that would open a browser, or display a page that needs the network: here they display their data, as
in a notebook.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ..system.import_hooks import AfterImport


def install(hooks: AfterImport) -> None:
    hooks.add("plotly.io", _plotly)
    hooks.add("altair", _altair)


def _plotly(module: ModuleType) -> None:
    """`application/vnd.plotly.v1+json`, both for the value of an expression and for show()."""
    io: Any = module
    try:
        io.renderers.default = "plotly_mimetype"
    except Exception:  # noqa: BLE001 - an unusual version keeps its own renderer
        pass


def _altair(module: ModuleType) -> None:
    """`application/vnd.vegalite…+json`."""
    altair: Any = module
    try:
        altair.renderers.enable("mimetype")
    except Exception:  # noqa: BLE001 - as above
        pass
