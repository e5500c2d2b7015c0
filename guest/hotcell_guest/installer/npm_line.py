"""The command line of `npm install`."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Iterator

from .installed import node_packages, node_tree, refuse_uninstall
from .local_paths import in_workspace, is_path, require_no_address
from .options import names_in, split
from .request import Install, Invalid, NotOurs, OnlyWithNetwork, Shown

_COMMANDS = names_in("install i in ins inst insta instal isnt isnta isntal isntall add")
_UPGRADES = names_in("update up upgrade")
_REMOVALS = names_in("uninstall unlink remove rm r un")
_LISTS = names_in("ls list ll la")
_HARMLESS = names_in(
    "-D --save-dev -S --save -P --save-prod -O --save-optional -E --save-exact -g --global --no-save --no-audit --no-fund --audit --fund "
    "-s --silent -q --quiet -d --verbose --loglevel --legacy-peer-deps --force -f --production --omit --include --only --no-progress "
    "--progress --prefer-offline --prefer-online --yes -y --no-optional --ignore-scripts --no-package-lock --package-lock --no-bin-links "
    "--no-color --color --no-update-notifier --engine-strict --strict-peer-deps --location --cache"
)
_WITH_VALUE = names_in("--loglevel --omit --include --only --location --cache --registry --prefix -C --proxy --https-proxy --tag --depth")
_WHERE = "The packages are at /node_modules, where `require` and `import` find them. package.json is left as it is."
_MAX_BYTES = 1_048_576
_RANGE = re.compile(r"^[A-Za-z0-9.^~<>=|*+_ -]*$")


def parse_npm(words: list[str], workspace: str) -> Install:
    """The request of the words after `npm`. Raises NotOurs for other subcommands."""
    options = list(split(words, _WITH_VALUE))
    words_only = [value or "" for name, value in options if not name]
    names = {name for name, _ in options if name}
    command = words_only[0] if words_only else ""
    if names & {"-h", "--help", "-v", "--version"}:
        raise NotOurs
    if command in ("ci", "clean-install"):
        raise OnlyWithNetwork("npm ci is not supported here. `npm install` installs the packages of package.json.")
    if command in _REMOVALS:
        refuse_uninstall(words_only[1:], set(node_packages()))
    if command in _LISTS and not os.path.isdir("node_modules"):
        raise Shown(node_tree(words_only[1:], "--json" in names))
    if command not in _COMMANDS | _UPGRADES:
        raise NotOurs
    for name in sorted(names - _HARMLESS):
        if "registry" in name or "proxy" in name:
            raise OnlyWithNetwork(f"{name} is not accepted here: packages come from the registries that the host uses. Leave it out.")
        raise OnlyWithNetwork(f"{name} is not supported here. Name packages and versions only, as in `npm install left-pad@^1`.")
    omits = {value for name, value in options if name in ("--omit", "--only")}
    packages = words_only[1:]
    notes = [_WHERE] if packages else []
    if not packages:
        packages = list(_dependencies("package.json", is_production=bool("--production" in names or omits & {"dev", "prod", "production"})))
    for package in packages:
        require_no_address(package)
    return Install(
        "npm",
        tuple(in_workspace(one, workspace) if is_path(one) else one for one in packages),
        command in _UPGRADES,
        bool(names & {"-s", "--silent", "-q", "--quiet"}),
        tuple(notes),
    )


def _dependencies(path: str, is_production: bool) -> Iterator[str]:
    try:
        with open(path, "rb") as file:
            described: Any = json.loads(file.read(_MAX_BYTES))
    except OSError as error:
        raise Invalid(f"could not read {os.path.join(os.getcwd(), path)}: {error.strerror}") from None
    except ValueError:
        raise Invalid(f"{path}: not JSON, or larger than {_MAX_BYTES} bytes") from None
    parts = ["dependencies", "optionalDependencies"] + ([] if is_production else ["devDependencies"])
    wanted: dict[str, str] = {}
    for part in parts:
        found = described.get(part) if isinstance(described, dict) else None
        wanted.update({str(name): str(version) for name, version in found.items()} if isinstance(found, dict) else {})
    for name, version in wanted.items():
        if version.startswith("file:"):
            local = version[len("file:") :]
            yield local if is_path(local) else f"./{local}"
        elif _RANGE.match(version):
            yield f"{name}@{version}" if version.strip() else name
        else:
            raise OnlyWithNetwork(f"{path}: {name} is {version!r}, which is no version. Only versions of the registry are supported here.")
