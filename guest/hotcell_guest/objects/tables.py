"""numpy arrays and pandas frames, inspected by our own code in small parts, so that the cost does not depend on their
size.
"""

from __future__ import annotations

import datetime
from typing import Any, Callable, Optional

from .known_types import loaded_class
from .short_text import short_text
from .static_lookup import inherits, is_one_of, module_of

_SHOWN_COLUMNS = 8
_SHOWN_VALUES = 6
_MEASURED_COLUMNS = 256
CELL_CHARS = 100

Summary = dict[str, Any]


class NotPlain(Exception):
    """SECURITY: its values have a class of the user, whose methods numpy or pandas would call. They must be inspected
    in a fork.
    """


def describer(value: Any) -> Optional[Callable[[Any, int], Summary]]:
    """The function that describes a value of this exact type; None if the type is unknown. It may raise NotPlain."""
    if is_array(value):
        return _describe_array
    if is_frame(value):
        return _describe_frame
    if is_series(value):
        return _describe_series
    return _describe_index if is_index(value) else None


def is_array(value: Any) -> bool:
    return inherits(type(value), loaded_class("numpy", "ndarray"))


def array_of(value: Any) -> Any:
    """A plain view of a numpy array, also of an instance of the user's subclass: none of its methods runs on the view."""
    ndarray: Any = loaded_class("numpy", "ndarray")
    return ndarray.view(value, ndarray)


def is_frame(value: Any) -> bool:
    return type(value) is loaded_class("pandas", "DataFrame")


def is_series(value: Any) -> bool:
    return type(value) is loaded_class("pandas", "Series")


def is_index(value: Any) -> bool:
    return inherits(type(value), loaded_class("pandas", "Index")) and module_of(type(value)).split(".")[0] == "pandas"


def has_pages(value: Any) -> bool:
    return is_frame(value) or is_series(value) or is_index(value) or is_array(value)


def require_plain(*dtypes: Any) -> None:
    for dtype in dtypes:
        if module_of(type(dtype)).split(".")[0] not in ("numpy", "pandas"):
            raise NotPlain


def cell(value: Any) -> str:
    """Text unchanged, dates and numbers as they print, everything else as a short text."""
    kind = type(value)
    if is_one_of(kind, _NUMBERS):
        return short_text(value, CELL_CHARS)
    if kind is str:
        text: str = value
        return text if len(text) <= CELL_CHARS else text[: CELL_CHARS - 1] + "…"
    return str(value)[:CELL_CHARS] if prints_itself(value) else short_text(value, CELL_CHARS)


def prints_itself(value: Any) -> bool:
    """Whether it is a small value of the standard library, numpy or pandas whose text is made without user code."""
    kind = type(value)
    if is_one_of(kind, _DATES):
        return is_one_of(type(getattr(value, "tzinfo", None)), _ZONES)
    return any(kind is loaded_class(module, name) for module, name in _PRINTED) or _is_numpy_number(kind)


def _is_numpy_number(kind: type) -> bool:
    """Whether it is written in C, and not created by a `class` statement, which could have another `__str__`."""
    return module_of(kind) == "numpy" and inherits(kind, loaded_class("numpy", "generic")) and not _FLAGS(kind) & _HEAP_TYPE


_FLAGS = type.__dict__["__flags__"].__get__
_HEAP_TYPE = 1 << 9
_NUMBERS = frozenset({int, float, bool, type(None)})
_DATES = (datetime.datetime, datetime.date, datetime.time, datetime.timedelta)
_ZONES = (type(None), datetime.timezone)
_PRINTED = (
    *(("pandas", name) for name in ("Timestamp", "Timedelta", "Period", "Interval")),
    *(("pandas._libs.tslibs.nattype", "NaTType"), ("pandas._libs.missing", "NAType"), ("decimal", "Decimal"), ("uuid", "UUID")),
)


def _describe_array(value: Any, most: int) -> Summary:
    array = array_of(value)
    shape = [int(side) for side in array.shape]
    sides = " × ".join(f"{side:,}" for side in shape) or "scalar"
    values = first_values(array, _SHOWN_VALUES)
    shown = ", ".join(cell(item) for item in values) + (", …" if array.size > len(values) else "")
    length = {"length": shape[0]} if shape else {}
    return {"summary": f"{sides} {_dtype(array.dtype)}: {shown}"[:most], "shape": shape, "sizeBytes": int(array.nbytes), **length}


def first_values(array: Any, count: int) -> list[Any]:
    """Reads by index, never by copying: an array of terabytes that repeats one number is valid."""
    if array.size == 0:
        return []
    if array.ndim == 0:
        return [array.item()]
    found: list[Any] = array[(0,) * (array.ndim - 1)][:count].tolist()
    return found


def _dtype(dtype: Any) -> str:
    return "structured" if dtype.names is not None else str(dtype)[:60]


def _describe_frame(frame: Any, most: int) -> Summary:
    rows, columns = (int(side) for side in frame.shape)
    require_plain(*frame.dtypes.iloc[:_MEASURED_COLUMNS])
    shown = []
    for place in range(min(columns, _SHOWN_COLUMNS)):
        shown.append(f"{short_name(frame.columns[place])} {_dtype_name(frame.iloc[:0, place].dtype)}")
    more = ", …" if columns > _SHOWN_COLUMNS else ""
    text = f"{rows:,} rows × {columns:,} columns: {', '.join(shown)}{more}"
    size = {"sizeBytes": int(frame.memory_usage(deep=False).sum())} if columns <= _MEASURED_COLUMNS else {}
    return {"summary": text[:most], "shape": [rows, columns], "length": rows, **size}


def _describe_series(series: Any, most: int) -> Summary:
    require_plain(series.dtype)
    length = int(series.shape[0])
    values = series.iloc[:_SHOWN_VALUES].tolist()
    return _described(series, length, values, most)


def _describe_index(index: Any, most: int) -> Summary:
    require_plain(index.dtype)
    return _described(index, int(index.size), index[:_SHOWN_VALUES].tolist(), most)


def _described(values: Any, length: int, first: list[Any], most: int) -> Summary:
    shown = ", ".join(cell(item) for item in first) + (", …" if length > len(first) else "")
    text = f"{length:,} {_dtype_name(values.dtype)}: {shown}"
    size = int(values.memory_usage(deep=False))
    return {"summary": text[:most], "shape": [length], "length": length, "sizeBytes": size}


def short_name(name: Any) -> str:
    return name[:CELL_CHARS] if type(name) is str else short_text(name, 40)


def _dtype_name(dtype: Any) -> str:
    return str(dtype)[:60]


def page(value: Any, offset: int, rows: int, *, column_offset: int, columns: int) -> Summary:
    """Rows of a frame, a series or an array as text. Only a view of that part is accessed."""
    if is_frame(value):
        return _frame_page(value, offset, rows, column_offset=column_offset, columns=columns)
    if is_series(value):
        require_plain(value.dtype)
        part = value.iloc[offset : offset + rows]
        shown = [{"name": "" if value.name is None else short_name(value.name), "type": _dtype_name(value.dtype)}]
        return _rows(shown, part.index[:].tolist(), [part.tolist()], offset=offset, total=int(value.shape[0]))
    if is_index(value):
        require_plain(value.dtype)
        labels = value[offset : offset + rows].tolist()
        places = range(offset, offset + len(labels))
        return _rows([{"name": "", "type": _dtype_name(value.dtype)}], places, [labels], offset=offset, total=int(value.size))
    return _array_page(array_of(value), offset, rows, column_offset=column_offset, columns=columns)


def _frame_page(frame: Any, offset: int, rows: int, *, column_offset: int, columns: int) -> Summary:
    total, total_columns = (int(side) for side in frame.shape)
    part = frame.iloc[offset : offset + rows, column_offset : column_offset + columns]
    require_plain(*part.dtypes)
    count = int(part.shape[1])
    shown = [{"name": short_name(part.columns[place]), "type": _dtype_name(part.dtypes.iloc[place])} for place in range(count)]
    values = [part.iloc[:, place].tolist() for place in range(count)]
    return _rows(shown, part.index.tolist(), values, offset=offset, total=total, column_offset=column_offset, total_columns=total_columns)


def _array_page(array: Any, offset: int, rows: int, *, column_offset: int, columns: int) -> Summary:
    """An array with one axis is shown as a column; with three or more, the first index of the additional axes is shown."""
    kind = _dtype(array.dtype)
    if array.ndim == 0:
        return _rows([{"name": "0", "type": kind}], [0], [[array.item()]], offset=0, total=1)
    total = int(array.shape[0])
    part = array[offset : offset + rows]
    if array.ndim == 1:
        return _rows([{"name": "0", "type": kind}], range(offset, offset + len(part)), [part.tolist()], offset=offset, total=total)
    part = part[:, column_offset : column_offset + columns]
    while part.ndim > 2:
        part = part[..., 0] if part.shape[-1] else part.reshape(part.shape[0], 0)
    shown = [{"name": str(column_offset + place), "type": kind} for place in range(int(part.shape[1]))]
    values = [part[:, place].tolist() for place in range(len(shown))]
    return _rows(
        shown,
        range(offset, offset + len(part)),
        values,
        offset=offset,
        total=total,
        column_offset=column_offset,
        total_columns=int(array.shape[1]),
    )


def _rows(columns: Any, index: Any, values: Any, *, offset: int, total: int, column_offset: int = 0, total_columns: int = 1) -> Summary:
    cells = [[cell(item) for item in column] for column in values]
    return {
        "kind": "rows",
        "columns": columns,
        "index": [cell(item) for item in index],
        "rows": [list(row) for row in zip(*cells)],
        "offset": offset,
        "total": total,
        "columnOffset": column_offset,
        "totalColumns": total_columns,
    }
