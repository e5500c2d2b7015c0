"""Primitives of Linux and of processes. This package knows nothing of the protocol."""
