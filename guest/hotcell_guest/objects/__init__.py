"""Inspection of the user's objects without running their code."""
