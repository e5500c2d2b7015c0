"""Imports ahead of the first user: what makes a fork worth more than a start. One thread must be left when it is done."""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
from typing import Any, Callable, Optional

from ..system import linux

_OPENBLAS_SETTERS = (
    "scipy_openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
)

_set_blas_threads: list[Callable[[int], Any]] = []


class LeavesThread(Exception):
    """A preload started a thread: a fork of it would be a process with half its parts missing."""

    def __init__(self, module: str) -> None:
        super().__init__(module)
        self.module = module


def import_all(modules: list[str]) -> list[str]:
    """Imports what is there of `modules`, and returns what is not. Raises LeavesThread for one that cannot be preloaded."""
    missing = []
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception:  # noqa: BLE001 - a broken package is the user's to see when they import it
            missing.append(module)
        if thread_count() != 1:
            raise LeavesThread(module)
    _find_blas()
    return missing


def freeze() -> None:
    """Keeps the collector away from what is shared: a collection would copy every page it touches. The same for the heap of C, whose
    free pieces would be put in order by the first large allocation in each fork."""
    gc.collect()
    linux.tidy_heap()
    gc.freeze()


def thread_count() -> int:
    return len(os.listdir("/proc/self/task"))


def use_processors(cpus: float) -> None:
    """Gives a kernel its own worth of BLAS threads; the zygote has one, because threads do not survive a fork."""
    count = max(1, int(cpus))
    os.environ.update({name: str(count) for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")})
    if count > 1:
        for setter in _set_blas_threads:
            setter(count)


def _find_blas() -> None:
    """OpenBLAS reads its environment once, at load: later only its own function changes the number."""
    for path in _mapped_libraries("openblas"):
        setter = _blas_setter(path)
        if setter is not None:
            _set_blas_threads.append(setter)


def _mapped_libraries(part: str) -> set[str]:
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        paths = {line.split(None, 5)[5].strip() for line in file if part in line and line.count("/")}
    return {path for path in paths if part in os.path.basename(path)}


def _blas_setter(path: str) -> Optional[Callable[[int], Any]]:
    try:
        library = ctypes.CDLL(path)
    except OSError:
        return None
    for name in _OPENBLAS_SETTERS:
        setter: Optional[Callable[[int], Any]] = getattr(library, name, None)
        if setter is not None:
            return setter
    return None
