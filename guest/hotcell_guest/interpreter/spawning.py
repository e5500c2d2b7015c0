"""multiprocessing's spawn and forkserver: children can import what the session defined in __main__."""

from __future__ import annotations

import ast
from types import ModuleType
from typing import Any, Callable

_DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def provide_main(sources: Callable[[], list[str]]) -> Callable[[ModuleType], None]:
    """A hook for `multiprocessing.spawn`: its children get the session's definitions as their main module.

    A spawned child starts empty and looks functions up by name in __main__. For a script, it runs the script again; a
    session has none, so its imports, functions, classes and constants are written to a file.
    """

    def install(spawn: ModuleType) -> None:
        module: Any = spawn
        prepare = module.get_preparation_data

        def get_preparation_data(name: str) -> dict[str, Any]:
            data: dict[str, Any] = prepare(name)
            data.pop("init_main_from_name", None)
            data["init_main_from_path"] = _write_main(sources())
            return data

        module.get_preparation_data = get_preparation_data

    return install


def without_isolation(module: ModuleType) -> None:
    """A hook for `subprocess` and `multiprocessing.util`: Python children are started without the kernel's own `-I`, so
    that they see `PYTHONPATH` as the program sets it. The kernel itself starts isolated because its environment and
    current folder are not its own.
    """
    holder: Any = module
    flags = getattr(holder, "_args_from_interpreter_flags", None)
    if flags is None or getattr(flags, "is_hotcells", False):
        return

    def _args_from_interpreter_flags() -> list[str]:
        return [flag for flag in flags() if flag not in ("-I", "-E", "-s", "-P")]

    _args_from_interpreter_flags.is_hotcells = True  # type: ignore[attr-defined]
    holder._args_from_interpreter_flags = _args_from_interpreter_flags


def _write_main(sources: list[str]) -> str:
    import tempfile  # rarely needed, so it must not delay every start

    with tempfile.NamedTemporaryFile("w", prefix="hotcell-main-", suffix=".py", delete=False) as file:
        for source in sources:
            file.write(definitions_of(source))
    return file.name


def definitions_of(source: str) -> str:
    """The definitions of a cell, which are safe to run again in another process."""
    kept = [node for node in ast.parse(source).body if isinstance(node, _DEFINITIONS) or _is_constant(node)]
    return "".join(f"{ast.unparse(node)}\n" for node in kept)


def _is_constant(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Assign):
        return False
    try:
        ast.literal_eval(node.value)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return False
    return True
