"""Layers on sys.path, in a kernel and in any other Python of a sandbox."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from hotcell_guest.interpreter.new_layers import NewLayers
from hotcell_guest.system import site_layers

_HOOK = Path(site_layers.__file__)
_PTH = Path(__file__).resolve().parents[2] / "images" / "python" / "hotcell-layers.pth"


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.enterPath()

    def enterPath(self) -> None:
        for name in ("path", "meta_path"):
            patch = mock.patch.object(sys, name, list(getattr(sys, name)))
            patch.start()
            self.addCleanup(patch.stop)
        self.addCleanup(lambda: [sys.modules.pop(name) for name in list(sys.modules) if name.startswith("lay_")])

    def layer(self, name: str, files: dict[str, str]) -> str:
        """Makes a layer as the host does: it appears whole."""
        draft = os.path.join(self.folder, f"draft-{name}")
        for path, text in files.items():
            file = Path(draft, "python", path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        os.rename(draft, os.path.join(self.folder, name))
        return os.path.join(self.folder, name, "python")


class AddLayersTest(Folder):
    def test_the_newest_comes_first_after_the_standard_library_and_before_the_packages_of_the_environment(self) -> None:
        one, two = self.layer("0001", {"a.py": ""}), self.layer("0002", {"a.py": ""})
        sys.path[:] = ["/script", os.path.dirname(os.__file__), "/env/site-packages"]
        self.assertTrue(site_layers.add_layers(self.folder))
        self.assertEqual(sys.path, ["/script", os.path.dirname(os.__file__), two, one, "/env/site-packages"])
        three = self.layer("0010", {"a.py": ""})
        self.assertTrue(site_layers.add_layers(self.folder))
        self.assertEqual(sys.path[2:5], [three, two, one])
        self.assertFalse(site_layers.add_layers(self.folder))

    def test_pth_files_add_folders_behind_their_layer_and_run_their_imports(self) -> None:
        place = self.layer("0001", {"x.pth": "more\nimport sys; sys.lay_ran = True\n", "more/a.py": ""})
        self.addCleanup(lambda: delattr(sys, "lay_ran"))
        site_layers.add_layers(self.folder)
        self.assertEqual(sys.path[sys.path.index(place) + 1], os.path.join(place, "more"))
        self.assertTrue(sys.lay_ran)  # type: ignore[attr-defined]

    def test_what_is_no_layer_is_left_alone(self) -> None:
        self.layer("hooks", {"a.py": ""})
        os.mkdir(os.path.join(self.folder, "0003"))
        before = list(sys.path)
        self.assertFalse(site_layers.add_layers(self.folder))
        self.assertFalse(site_layers.add_layers("/nowhere"))
        self.assertEqual(sys.path, before)


class NewLayersTest(Folder):
    def test_a_module_of_a_layer_that_has_just_appeared_can_be_imported(self) -> None:
        NewLayers(self.folder).install()
        with self.assertRaises(ModuleNotFoundError):
            __import__("lay_new")
        self.layer("0001", {"lay_new.py": "x = 1", "lay_package/__init__.py": "", "lay_package/part.py": ""})
        self.assertEqual(__import__("lay_new").x, 1)
        with self.assertRaises(ModuleNotFoundError):
            __import__("lay_package.other")
        self.layer("0002", {"lay_newer.py": "x = 2"})
        self.assertEqual(__import__("lay_newer").x, 2)

    def test_an_import_in_a_pth_file_does_not_add_the_layers_again(self) -> None:
        self.layer("0001", {"x.pth": "import lay_in_pth", "lay_in_pth.py": "x = 1"})
        NewLayers(self.folder).install()
        self.assertEqual(__import__("lay_in_pth").x, 1)
        self.assertEqual(len([entry for entry in sys.path if entry.startswith(self.folder)]), 1)

    def test_nothing_is_added_while_nothing_has_changed(self) -> None:
        layers = NewLayers(self.folder)
        layers.refresh()
        with mock.patch("hotcell_guest.interpreter.new_layers.add_layers") as add:
            layers.refresh()
            add.assert_not_called()
            self.layer("0001", {"a.py": ""})
            layers.refresh()
            add.assert_called_once_with(self.folder)


class HookTest(Folder):
    """The files beside the layers, and the `.pth` file of an environment, with the folder of a test in place of a sandbox's."""

    def setUp(self) -> None:
        super().setUp()
        hooks = Path(self.folder, "hooks")
        hooks.mkdir()
        (hooks / "hotcell_layers.py").write_text(_HOOK.read_text().replace(site_layers.LAYERS, self.folder))
        self.hooks = str(hooks)
        self.layer("0001", {"lay_child.py": "x = 1"})

    def python(self, *arguments: str, **environment: str) -> Any:
        code = "import json, sys, lay_child; print(json.dumps([lay_child.x, sys.path, getattr(sys, 'lay_other', None)]))"
        command = [sys.executable, *arguments, "-c", code]
        return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True, cwd="/").stdout)

    def test_a_pth_file_finds_the_layers_even_in_an_isolated_python(self) -> None:
        environment = Path(self.folder, "environment")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True, cwd="/")
        packages = next(environment.glob("lib/python3*/site-packages"))
        (packages / "hotcell-layers.pth").write_text(_PTH.read_text().replace(site_layers.LAYERS, self.folder))
        with mock.patch.object(sys, "executable", str(environment / "bin" / "python3")):
            for flags in ([], ["-I"]):
                x, path, _ = self.python(*flags, PYTHONPATH="/elsewhere")
                self.assertEqual(x, 1)
                self.assertLess(path.index(f"{self.folder}/0001/python"), path.index(str(packages)))
            shutil.rmtree(self.hooks)
            with self.assertRaises(subprocess.CalledProcessError) as raised:
                self.python()
        # Without layers it is silent: the only complaint is about the module.
        self.assertEqual(raised.exception.stderr.count("Error"), 1)

    def test_a_sitecustomize_finds_them_by_pythonpath_and_runs_the_one_that_it_hides(self) -> None:
        Path(self.hooks, "sitecustomize.py").write_text(
            "import os\nimport hotcell_layers\nhotcell_layers.add_layers()\n"
            "hotcell_layers.run_next_sitecustomize(os.path.dirname(__file__))\n"
        )
        other = Path(self.folder, "other")
        other.mkdir()
        (other / "sitecustomize.py").write_text("import sys\nsys.lay_other = 1\n")
        x, _, hidden = self.python(PYTHONPATH=f"{self.hooks}:{other}")
        self.assertEqual((x, hidden), (1, 1))
        self.assertEqual(self.python(PYTHONPATH=self.hooks)[0], 1)
