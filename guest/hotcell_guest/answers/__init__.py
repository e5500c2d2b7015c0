"""Answers of a Python kernel to questions: completion, inspection, variables."""
