"""Files of the network that programs of the sandbox read: the CA bundle, and the script that makes Node use the proxy."""

from __future__ import annotations

import os

# The CA bundle, whose name programs show, and a script that Node requires.
_NAMES = {"ca": "ca-bundle.pem", "preload": "node-preload.cjs"}


class NetworkFiles:
    """Kept outside the workspace, under a hidden name: `rm -rf /tmp/*` spares them. Programs can remove them all the same, so the contents
    are kept here, too."""

    def __init__(self) -> None:
        self._folder = os.path.join(os.environ.get("TMPDIR", "/tmp"), f".hotcell-network-{os.getpid()}")
        self._contents: dict[str, bytes] = {}

    def replace(self, contents: dict[str, bytes]) -> dict[str, str]:
        """Writes these files in place of those before, and returns their paths by name. Raises OSError if the disk is full; then those
        before are still there."""
        for name, content in contents.items():
            if content != self._contents.get(name) or not os.path.exists(self._path(name)):
                self._write(name, content)
        for name in self._contents.keys() - contents.keys():
            _remove(self._path(name))
        self._contents = dict(contents)
        return {name: self._path(name) for name in contents}

    def mend(self) -> None:
        """Writes files again that a program has removed, as far as there is room: without the script, Node would not even start."""
        for name, content in self._contents.items():
            if not os.path.exists(self._path(name)):
                try:
                    self._write(name, content)
                except OSError:
                    pass

    def remove(self) -> None:
        _remove(self._folder)

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, _NAMES[name])

    def _write(self, name: str, content: bytes) -> None:
        """A reader sees either file whole, or none."""
        if os.path.islink(self._folder) or not os.path.isdir(self._folder):
            _remove(self._folder)
            os.mkdir(self._folder, 0o755)
        path = self._path(name)
        new = f"{path}.new"
        _remove(new)
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o444)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(content)
            if os.path.isdir(path) and not os.path.islink(path):
                _remove(path)
            os.rename(new, path)
        except OSError:
            _remove(new)
            raise


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except IsADirectoryError:
        import shutil

        shutil.rmtree(path, ignore_errors=True)
    except OSError:
        pass
