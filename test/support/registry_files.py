"""Makes the static files of registries for one tiny package each: `registry_files.py FOLDER URL`, where URL serves FOLDER."""

import base64
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile

FOLDER, URL = sys.argv[1:]


def write(path: str, content: "bytes | str") -> None:
    whole = os.path.join(FOLDER, path)
    os.makedirs(os.path.dirname(whole), exist_ok=True)
    with open(whole, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)


def zipped(files: "dict[str, str]") -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def tarred(files: "dict[str, str]") -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content.encode())
            archive.addfile(entry, io.BytesIO(content.encode()))
    return made.getvalue()


def python() -> None:
    info = "hotcell_test-1.0.dist-info"
    metadata = "Metadata-Version: 2.1\nName: hotcell-test\nVersion: 1.0\n"
    wheel = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {"hotcell_test.py": "print('hello')\n", f"{info}/METADATA": metadata, f"{info}/WHEEL": wheel}
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    name = "hotcell_test-1.0-py3-none-any.whl"
    write(f"files/{name}", zipped(files))
    write("simple/hotcell-test/index.html", f'<a href="../../files/{name}">{name}</a>')


def node() -> None:
    package = {"name": "hotcell-test", "version": "1.0.0", "main": "index.js"}
    made = tarred({"package/package.json": json.dumps(package), "package/index.js": "module.exports = 'hello';\n"})
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(made).digest()).decode()
    dist = {"tarball": f"{URL}/npm/-/hotcell-test-1.0.0.tgz", "integrity": integrity}
    versions = {"1.0.0": {**package, "dist": dist}}
    write("npm/-/hotcell-test-1.0.0.tgz", made)
    write("npm/hotcell-test/index.html", json.dumps({"name": "hotcell-test", "dist-tags": {"latest": "1.0.0"}, "versions": versions}))


def go() -> None:
    module = "go/hotcell.test/m/@v"
    write(f"{module}/list", "v1.0.0\n")
    write(f"{module}/v1.0.0.info", json.dumps({"Version": "v1.0.0", "Time": "2026-01-01T00:00:00Z"}))
    write(f"{module}/v1.0.0.mod", "module hotcell.test/m\n")
    write(f"{module}/v1.0.0.zip", zipped({"hotcell.test/m@v1.0.0/go.mod": "module hotcell.test/m\n", "hotcell.test/m@v1.0.0/m.go": "package m\n"}))


def rust() -> None:
    manifest = '[package]\nname = "hotcell-test"\nversion = "1.0.0"\nedition = "2021"\n'
    made = tarred({"hotcell-test-1.0.0/Cargo.toml": manifest, "hotcell-test-1.0.0/src/lib.rs": "// hello\n"})
    write("crates/hotcell-test.crate", made)
    write("cargo/config.json", json.dumps({"dl": f"{URL}/crates/{{crate}}.crate"}))
    entry = {"name": "hotcell-test", "vers": "1.0.0", "deps": [], "features": {}, "yanked": False, "cksum": hashlib.sha256(made).hexdigest()}
    write("cargo/ho/tc/hotcell-test", json.dumps(entry) + "\n")


def debian() -> None:
    write("apt/Packages", "Package: hotcell-test\nVersion: 1.0\nArchitecture: all\nMaintainer: test <test@hotcell.test>\nFilename: none.deb\nSize: 1\nSHA256: "
          + "0" * 64 + "\nDescription: hello\n\n")


def repository() -> None:
    place = os.path.join(FOLDER, "repo.git")
    work = os.path.join(FOLDER, "work")

    def git(*args: str) -> None:
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@hotcell.test", *args], check=True, stdout=subprocess.DEVNULL)

    write("work/hello.txt", "hello\n")
    git("-C", work, "init", "-q", "-b", "main")
    git("-C", work, "add", ".")
    git("-C", work, "commit", "-q", "-m", "Say hello")
    git("clone", "-q", "--bare", work, place)
    git("-C", place, "update-server-info")


write("hello.txt", "hello\n")
for make in (python, node, go, rust, debian, repository):
    make()
