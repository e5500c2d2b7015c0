"""Frames of pandas and polars at 200 characters a line: the reader is no terminal of 80."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ..system.import_hooks import AfterImport

_CHARS = 200
_COLUMNS = 40


def install(hooks: AfterImport) -> None:
    hooks.add("pandas", _pandas)
    hooks.add("polars", _polars)


def _pandas(module: ModuleType) -> None:
    pandas: Any = module
    try:
        pandas.set_option("display.width", _CHARS)
        pandas.set_option("display.max_columns", _COLUMNS)
    except Exception:  # noqa: BLE001 - an unusual version keeps its own width
        pass


def _polars(module: ModuleType) -> None:
    polars: Any = module
    try:
        polars.Config.set_tbl_width_chars(_CHARS)
        polars.Config.set_tbl_cols(_COLUMNS)
    except Exception:  # noqa: BLE001 - as above
        pass
