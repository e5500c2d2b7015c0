"""Describes the Python that packages are installed for: its version, ABI and system, and the packages that it has."""

import importlib.metadata
import json
import platform
import sys
import sysconfig


def libc() -> str:
    """`glibc 2.36`, or `musl` where the C library does not tell its version."""
    name, version = platform.libc_ver()
    return f"{name} {version}" if name else "musl"


packages: dict[str, str] = {}
for one in importlib.metadata.distributions():
    name = one.metadata["Name"]
    # The first of two is the one that Python imports.
    if name and one.version:
        packages.setdefault(name, one.version)
print(
    json.dumps(
        {
            "python": sys.executable,
            "version": ".".join(map(str, sys.version_info[:3])),
            "abi": sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag or "",
            "libc": libc(),
            "machine": platform.machine(),
            "packages": packages,
        }
    )
)
