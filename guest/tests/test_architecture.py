"""The packages of the guest in their order: each imports only from those before it."""

from __future__ import annotations

import ast
import unittest
from pathlib import Path
from typing import Iterator, Optional

_ROOT = Path(__file__).resolve().parent.parent / "hotcell_guest"
_FIRST = ("system", "wire", "installer", "objects", "display", "interpreter", "answers")
_PACKAGES = (*_FIRST, "kernels", "languages", "files", "network", "supervisor", "start")
_ENTRY = {"__init__.py", "__main__.py"}
# SECURITY: process 1 outlives the user's code and is trusted by the host. What looks at the user's objects has no place in it.
_CLOSED_TO_SUPERVISOR = {"objects", "display", "interpreter", "answers"}


class Architecture(unittest.TestCase):
    def test_every_module_lies_in_a_package_of_the_list(self) -> None:
        found = {path.relative_to(_ROOT).parts for path in _ROOT.rglob("*.py")}
        self.assertEqual({parts[0] for parts in found if len(parts) == 1}, _ENTRY)
        self.assertEqual({parts[0] for parts in found if len(parts) > 1}, set(_PACKAGES))
        self.assertEqual([parts for parts in found if len(parts) > 2], [])

    def test_a_package_imports_only_from_packages_before_it_lazy_imports_included(self) -> None:
        wrong = [
            f"{importer} imports {imported}"
            for importer, imported in _imports()
            if _PACKAGES.index(_package(imported)) > _PACKAGES.index(_package(importer))
        ]
        self.assertEqual(wrong, [])

    def test_modules_import_each_other_without_cycles(self) -> None:
        graph: dict[str, list[str]] = {}
        for importer, imported in _imports(at_run_time_only=True):
            graph.setdefault(importer, []).append(imported)
        self.assertEqual(_cycle(graph), None)

    def test_nothing_that_the_supervisor_imports_looks_at_objects_of_the_user(self) -> None:
        graph: dict[str, set[str]] = {}
        for importer, imported in _imports():
            graph.setdefault(importer, set()).add(imported)
        reached, waiting = set(), ["supervisor.supervisor"]
        while waiting:
            module = waiting.pop()
            if module not in reached:
                reached.add(module)
                waiting += graph.get(module, ())
        self.assertGreater(len(reached), 40)
        self.assertEqual([module for module in sorted(reached) if _package(module) in _CLOSED_TO_SUPERVISOR], [])


def _imports(at_run_time_only: bool = False) -> Iterator[tuple[str, str]]:
    """Pairs of importer and imported, without the name of the guest. One under `TYPE_CHECKING` counts as well, though not at run time."""
    for path in sorted(_ROOT.rglob("*.py")):
        parts = path.relative_to(_ROOT).with_suffix("").parts
        if len(parts) != 2 or parts[1] == "__init__":
            continue
        tree = ast.parse(path.read_text("utf-8"))
        skipped = {id(node) for node in _for_types_only(tree)} if at_run_time_only else set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and id(node) not in skipped:
                for target in _targets(node, parts[0]):
                    yield ".".join(parts), target


def _for_types_only(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield from ast.walk(node)


def _targets(node: ast.ImportFrom, package: str) -> list[str]:
    """Ours alone. A name that is imported from a package is a module, for no package defines anything else."""
    if node.level == 0:
        assert not (node.module or "").startswith("hotcell_guest"), "imports of ours are relative"
        return []
    module = package if node.level == 1 else None
    path = [*([module] if module else []), *(node.module.split(".") if node.module else [])]
    if not path:
        return []  # of the guest itself: its version
    return [".".join(path)] if len(path) == 2 else [f"{path[0]}.{alias.name}" for alias in node.names]


def _package(module: str) -> str:
    return module.partition(".")[0]


def _cycle(graph: dict[str, list[str]]) -> Optional[list[str]]:
    done: set[str] = set()

    def visit(module: str, trail: list[str]) -> Optional[list[str]]:
        if module in trail:
            return [*trail[trail.index(module) :], module]
        if module not in done:
            for following in graph.get(module, ()):
                cycle = visit(following, [*trail, module])
                if cycle is not None:
                    return cycle
            done.add(module)
        return None

    return next((cycle for cycle in (visit(module, []) for module in graph) if cycle is not None), None)
