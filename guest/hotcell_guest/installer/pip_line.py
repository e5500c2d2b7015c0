"""The command line of `pip install`, and of `uv pip install`, which takes the same."""

from __future__ import annotations

from .installed import normalized, python_packages, refuse_uninstall
from .local_paths import in_workspace, is_path, require_no_address
from .options import Option, names_in, split
from .request import Install, Invalid, NotOurs, OnlyWithNetwork
from .requirements import requirements_in

# Nothing would be different with them.
_HARMLESS = names_in(
    "-q --quiet -v --verbose --no-cache-dir --no-cache -n --user --break-system-packages --disable-pip-version-check --no-input --no-color "
    "--no-warn-script-location --no-warn-conflicts --no-python-version-warning --prefer-binary --isolated --system --no-progress "
    "--use-pep517 --compile --no-compile --require-virtualenv --force-reinstall -I --ignore-installed --reinstall --native-tls "
    "--root-user-action --progress-bar --timeout --default-timeout --retries --cache-dir --exists-action --log --upgrade-strategy "
    "--use-feature --use-deprecated --link-mode --color --only-binary --no-binary"
)
_SOURCES = names_in(
    "-i --index-url --extra-index-url --pypi-url --no-index -f --find-links --trusted-host --proxy --cert --client-cert --index "
    "--default-index --index-strategy --allow-insecure-host"
)
_WITH_VALUE = names_in(
    "-i --index-url --extra-index-url --pypi-url -f --find-links --trusted-host --proxy --cert --client-cert --index --default-index "
    "--index-strategy --allow-insecure-host --root-user-action --progress-bar --timeout --default-timeout --retries --cache-dir "
    "--exists-action --log --upgrade-strategy --use-feature --use-deprecated --link-mode --color --only-binary --no-binary "
    "-r --requirement --requirements -e --editable -c --constraint --constraints -t --target --prefix --root --src --platform "
    "--python-version --implementation --abi --report --config-settings -C --global-option --python -p -P --upgrade-package "
    "--no-build-isolation-package --exclude-newer --resolution --group --extra --override --overrides -o"
)
_HOW = "Name packages and versions only, as in `pip install 'httpx>=0.28'`."


def parse_pip(words: list[str], workspace: str) -> Install:
    """The request of the words after `pip`. Raises NotOurs for other subcommands."""
    options = list(split(words, _WITH_VALUE))
    at = next((index for index, (name, _) in enumerate(options) if not name), None)
    names = {name for name, _ in options}
    if at is not None and options[at].value == "uninstall":
        refuse_uninstall([normalized(value or "") for name, value in options[at + 1 :] if not name], python_packages())
    if at is None or options[at].value != "install" or names & {"-h", "--help", "-V", "--version"}:
        raise NotOurs
    return _parsed(options[:at] + options[at + 1 :], workspace)


def _parsed(options: list[Option], workspace: str) -> Install:
    packages: list[str] = []
    notes: list[str] = []
    names = {name for name, _ in options}
    for name, value in options:
        if name and name not in _HARMLESS and value is None and name in _WITH_VALUE:
            raise Invalid(f"{name} option requires 1 argument")
        if not name:
            packages.append(value or "")
        elif name in ("-r", "--requirement", "--requirements"):
            packages.extend(requirements_in(value or ""))
        elif name in ("-e", "--editable"):
            packages.append(value or "")
            notes.append(f"{value} is installed as it is now: later changes of its files have no effect.")
        elif name in ("-P", "--upgrade-package"):
            packages.append(value or "")
        elif name in _SOURCES:
            raise OnlyWithNetwork(f"{name} is not accepted here: packages come from the registries that the host uses. Leave it out.")
        elif name not in _HARMLESS and name not in ("-U", "--upgrade"):
            raise OnlyWithNetwork(f"{name} is not supported here. {_HOW}")
    if not packages:
        raise Invalid('You must give at least one requirement to install (see "pip help install")')
    for package in packages:
        require_no_address(package)
    return Install(
        "pip",
        tuple(in_workspace(one, workspace) if is_path(one) else one for one in packages),
        bool(names & {"-U", "--upgrade", "-P", "--upgrade-package"}),
        bool(names & {"-q", "--quiet"}),
        tuple(notes),
    )
