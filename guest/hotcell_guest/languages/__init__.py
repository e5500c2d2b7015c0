"""The kernels, one per language."""
