"""Primitives of Linux and of processes. It knows nothing of the protocol."""
