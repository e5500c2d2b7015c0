"""Runs Python in a persistent namespace, and explains failures."""
