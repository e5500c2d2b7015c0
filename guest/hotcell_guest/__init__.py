"""The guest: the program inside a sandbox that owns its kernels. Standard library only, Python 3.9 or newer."""

GUEST_VERSION = "0.1.0"
