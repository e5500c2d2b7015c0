"""Runs Python in a namespace that lives on, and explains failures."""
