"""The command lines of our pip, uv and npm. What they do is in test/conformance/proofs/installs.ts."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import unittest
from typing import Any, Callable
from unittest import mock

from hotcell_guest.installer.installed import node_tree, normalized, python_packages, refuse_uninstall
from hotcell_guest.installer.npm_line import parse_npm
from hotcell_guest.installer.pip_line import parse_pip
from hotcell_guest.installer.real_program import find_real
from hotcell_guest.installer.report import lines_for, notes_for
from hotcell_guest.installer.request import AsPip, Install, Invalid, NotOurs, OnlyWithNetwork, Shown
from hotcell_guest.installer.uv_line import parse_uv
from hotcell_guest.system import site_layers


class InWorkspace(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.workspace = os.path.realpath(folder.name)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.workspace)

    def write(self, path: str, text: str = "") -> None:
        os.makedirs(os.path.dirname(os.path.join(self.workspace, path)), exist_ok=True)
        with open(os.path.join(self.workspace, path), "w", encoding="utf-8") as file:
            file.write(text)

    def parse(self, parse: Callable[[list[str], str], Install], line: str) -> Install:
        return parse(line.split(), self.workspace)

    def packages(self, line: str) -> list[str]:
        return list(self.parse(parse_pip, line).packages)

    def refuses(self, kind: type[BaseException], parse: Callable[[list[str], str], Install], *lines: str) -> None:
        for line in lines:
            with self.subTest(line), self.assertRaises(kind):
                self.parse(parse, line)


class Pip(InWorkspace):
    def test_names_and_harmless_options(self) -> None:
        request = self.parse(parse_pip, "-q install --user -U --no-cache-dir --timeout 5 httpx>=0.28 --break-system-packages rich[x]==1")
        self.assertEqual(request, Install("pip", ("httpx>=0.28", "rich[x]==1"), upgrade=True, is_quiet=True))
        self.assertTrue(self.parse(parse_pip, "install -qU six").upgrade)
        self.assertEqual(self.packages("install --progress-bar=off six -- six2"), ["six", "six2"])

    def test_requirements_files(self) -> None:
        self.write("requirements.txt", "\ufeffone==1 # why\n# no\n\ntwo \\\n  >= 2\n-r more/deeper.txt\n")
        self.write("more/deeper.txt", "three; python_version < '3.12'\n--requirement=last.txt\n")
        self.write("more/last.txt", "four\n")
        every = ["one==1", "two >= 2", "three; python_version < '3.12'", "four"]
        for line in ("install -r requirements.txt", "install -rrequirements.txt", "install --requirement=requirements.txt"):
            self.assertEqual(self.packages(line), every)

    def test_requirements_files_that_include_each_other_or_are_huge(self) -> None:
        self.write("loop.txt", "-r loop.txt\n")
        self.write("huge.txt", "a\n" * 600_000)
        self.refuses(Invalid, parse_pip, "install -r loop.txt", "install -r huge.txt", "install -r none.txt", "install", "install -r")

    def test_other_sources_are_refused(self) -> None:
        self.write("mirror.txt", "--index-url https://mirror.example/simple\nsix\n")
        self.write("hashes.txt", "six==1 --hash=sha256:00\n")
        options = (
            "-i https://x.example",
            "--index-url=https://x.example",
            "--extra-index-url x",
            "-f folder",
            "--trusted-host x",
            "--proxy x",
        )
        self.refuses(OnlyWithNetwork, parse_pip, *(f"install six {option}" for option in options))
        self.refuses(
            OnlyWithNetwork, parse_pip, "install -r mirror.txt", "install -r hashes.txt", "install -t folder six", "install --pre six"
        )
        addresses = (
            "git+https://x.example/y",
            "git+ssh://git@x.example/y",
            "https://x.example/y.whl",
            "six@https://x.example/y",
            "file:///etc",
        )
        self.refuses(OnlyWithNetwork, parse_pip, *(f"install {address}" for address in addresses), "install -e git+https://x.example/y")
        with self.assertRaises(OnlyWithNetwork):
            parse_pip(["install", "six @ https://x.example/y.whl"], self.workspace)

    def test_paths_of_the_workspace(self) -> None:
        self.write("dist/mine-1.0-py3-none-any.whl")
        self.write("project/pyproject.toml")
        self.assertEqual(self.packages("install dist/mine-1.0-py3-none-any.whl"), ["./dist/mine-1.0-py3-none-any.whl"])
        self.assertEqual(self.packages(f"install {self.workspace}/project[dev]"), ["./project[dev]"])
        editable = self.parse(parse_pip, "install -e ./project")
        self.assertEqual((editable.packages, len(editable.notes)), (("./project",), 1))
        os.chdir("project")
        self.assertEqual(self.packages("install ."), ["./project"])
        self.refuses(Invalid, parse_pip, "install /etc/passwd", "install ../..", "install ./none.whl")

    def test_other_subcommands_are_not_ours(self) -> None:
        self.refuses(NotOurs, parse_pip, "", "list", "show install", "freeze", "--version", "install --help", "download six", "-V")


class Uv(InWorkspace):
    def test_only_pip_install_is_ours(self) -> None:
        self.assertEqual(self.parse(parse_uv, "-q pip install --system -p 3.12 six").packages, ("six",))
        self.refuses(OnlyWithNetwork, parse_uv, "add six", "sync", "tool install ruff", "pip install --index x six")
        self.refuses(NotOurs, parse_uv, "", "--version", "run x.py", "venv", "--directory x pip install six")


class Npm(InWorkspace):
    def test_names(self) -> None:
        request = self.parse(parse_npm, "i -D left-pad@^1 @team/thing --no-audit --loglevel error")
        self.assertEqual((request.manager, request.packages), ("npm", ("left-pad@^1", "@team/thing")))

    def test_the_packages_of_package_json(self) -> None:
        dependencies = {"left-pad": "^1.0.0", "any": "*", "mine": "file:mine"}
        self.write("mine/package.json", "{}")
        self.write("package.json", json.dumps({"dependencies": dependencies, "devDependencies": {"vitest": "3.x || 4"}}))
        self.assertEqual(self.parse(parse_npm, "install").packages, ("left-pad@^1.0.0", "any@*", "./mine", "vitest@3.x || 4"))
        self.assertNotIn("vitest@3.x || 4", self.parse(parse_npm, "install --omit=dev").packages)
        self.write("package.json", json.dumps({"dependencies": {"x": "git+ssh://x.example/y"}}))
        self.refuses(OnlyWithNetwork, parse_npm, "install")
        for text in ("[", "[]", '{"dependencies": 5}', "5"):
            self.write("package.json", text)
            if text == "[":
                self.refuses(Invalid, parse_npm, "install")
            else:
                self.assertEqual(self.parse(parse_npm, "install").packages, ())

    def test_other_sources_are_refused_and_other_subcommands_are_not_ours(self) -> None:
        self.refuses(
            OnlyWithNetwork, parse_npm, "install x --registry=https://x.example", "install x --prefix y", "ci", "i https://x.example/y.tgz"
        )
        self.refuses(OnlyWithNetwork, parse_npm, "i git@x.example:y", "i github:user/repo", "i x@npm:y")
        self.refuses(NotOurs, parse_npm, "", "run build", "--version", "test", "init -y", "install --help", "run install")


class Installed(InWorkspace):
    def test_packages_of_layers_are_known_by_name_and_not_removed(self) -> None:
        self.write("0001/python/Hc_One-1.0.dist-info/METADATA")
        self.write("0001/python/hc_one.py")
        installed = python_packages(self.workspace)
        self.assertEqual(installed, {"hc-one"})
        with self.assertRaisesRegex(Invalid, "read-only here.*new session"):
            refuse_uninstall([normalized("HC.one")], installed)
        refuse_uninstall(["other"], installed)

    def test_the_packages_of_node_are_listed_as_npm_does(self) -> None:
        self.write("node_modules/left/package.json", '{"version": "1.2.0"}')
        self.write("node_modules/@team/thing/package.json", '{"version": "2.0.0"}')
        self.write("node_modules/broken/package.json", "[")
        self.assertEqual(node_tree([], False, self.workspace), "/node_modules\n├── @team/thing@2.0.0\n├── broken@\n└── left@1.2.0")
        self.assertEqual(json.loads(node_tree(["left"], True, self.workspace)), {"dependencies": {"left": {"version": "1.2.0"}}})

    def test_lists_are_answered_here_or_by_the_real_pip(self) -> None:
        self.refuses(Shown, parse_npm, "ls", "list --json", "ls --depth 0")
        self.refuses(AsPip, parse_uv, "pip list", "pip freeze", "-q pip show x")
        self.write("node_modules/own/package.json", "{}")
        self.refuses(NotOurs, parse_npm, "ls", "rm own")
        self.refuses(NotOurs, parse_pip, "uninstall six")


class RealProgram(InWorkspace):
    def test_one_that_was_installed_comes_before_those_of_the_path_and_ours_is_never_found(self) -> None:
        for path in ("layers/0000/bin/uv", "layers/bin/uv", "layers/0002/bin/uv", "usr/uv"):
            self.write(path)
            os.chmod(path, 0o755)
        path = f"{self.workspace}/layers/bin:{self.workspace}/usr"
        layers = f"{self.workspace}/layers"
        self.assertEqual(find_real("uv", path, layers), f"{layers}/0002/bin/uv")
        os.unlink("layers/0002/bin/uv")
        self.assertEqual(find_real("uv", path, layers), f"{self.workspace}/usr/uv")
        self.assertIsNone(find_real("npm", path, layers))


class AsModule(InWorkspace):
    def run_as(self, arguments: list[str], words: list[str], **variables: str) -> Any:
        self.write("0000/installer/run.py")
        with (
            mock.patch.object(sys, "argv", arguments),
            mock.patch.object(sys, "orig_argv", words, create=True),
            mock.patch.dict(os.environ, {"HOTCELL_CALLS": "@x", **variables}),
            mock.patch.object(os, "execv") as execute,
        ):
            site_layers.hand_over_to_installer(self.workspace)
        return execute.call_args and execute.call_args[0][1][2:]

    def test_only_pip_install_as_a_module_is_handed_over(self) -> None:
        run = f"{self.workspace}/0000/installer/run.py"
        handed = [run, "pip", "--as-module", "install", "-q", "six"]
        rest = ["install", "-q", "six"]
        self.assertEqual(self.run_as(["-m", *rest], ["python", "-X", "dev", "-m", "pip", *rest]), handed)
        self.assertEqual(self.run_as(["-m", *rest], ["python", "-Impip", *rest]), handed)
        self.assertIsNone(self.run_as(["-m", *rest], ["python", "-m", "other", *rest]))
        self.assertIsNone(self.run_as(["-m", "list"], ["python", "-m", "pip", "list"]))
        self.assertIsNone(self.run_as(["pip", *rest], ["python", "pip", *rest]))
        self.assertIsNone(self.run_as(["-m", *rest], ["python", "-m", "pip", *rest], HOTCELL_REAL_INSTALLER="1"))


class Report(unittest.TestCase):
    def test_each_program_reports_in_its_own_words(self) -> None:
        done = {
            "installed": [{"name": "httpx", "version": "0.28.1"}],
            "present": [{"name": "six", "version": "1"}],
            "superseded": [{"name": "numpy", "from": "1", "to": "2"}],
            "needsReset": True,
        }
        self.assertEqual(list(lines_for("pip", done)), ["Requirement already satisfied: six (1)", "Successfully installed httpx-0.28.1"])
        self.assertIn(" + httpx==0.28.1", list(lines_for("uv", done)))
        self.assertEqual(list(lines_for("npm", done))[0], "added 1 package")
        self.assertIn("reset_session", " ".join(notes_for(done)))
