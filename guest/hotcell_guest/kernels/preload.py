"""Imports before the first user, which make a fork faster than a start. Only one thread may be left afterwards."""

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

# A kernel sets these itself, whatever the session's variables are.
THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "PYTHON_CPU_COUNT")

_set_blas_threads: list[Callable[[int], Any]] = []


class LeavesThread(Exception):
    """A preload started a thread. A fork would copy the state of that thread without the thread."""

    def __init__(self, module: str) -> None:
        super().__init__(module)
        self.module = module


def import_all(modules: list[str]) -> list[str]:
    """Imports the available ones of `modules`, and returns the missing ones. Raises LeavesThread for a module that cannot be preloaded."""
    missing = []
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception:  # noqa: BLE001 - the user sees the error of a broken package when they import it
            missing.append(module)
        if thread_count() != 1:
            raise LeavesThread(module)
    _find_blas()
    return missing


def freeze() -> None:
    """Excludes the shared objects from garbage collection, which would copy every page it touches. The same for the C heap, whose free
    chunks the first large allocation in each fork would consolidate."""
    gc.collect()
    linux.tidy_heap()
    gc.freeze()


def thread_count() -> int:
    return len(os.listdir("/proc/self/task"))


def use_processors(cpus: float) -> None:
    """Gives a kernel its number of BLAS threads, and `os.cpu_count()` the number of processors that it may use, as `nproc` says. The zygote
    has one thread, because threads do not survive a fork."""
    count = max(1, int(cpus))
    _count_processors(count)
    os.environ.update({name: str(count) for name in THREAD_VARIABLES})
    if count > 1:
        for setter in _set_blas_threads:
            setter(count)


def _count_processors(count: int) -> None:
    """Pools of workers are made as large as this number. Children of Python 3.13 and newer read PYTHON_CPU_COUNT."""

    def cpu_count() -> int:
        return count

    module: Any = os
    for name in ("cpu_count", "process_cpu_count"):
        if hasattr(module, name):
            setattr(module, name, cpu_count)


def _find_blas() -> None:
    """Finds OpenBLAS, which reads its environment only when it is loaded. Later only its own function changes the number of threads."""
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
