"""A look at the user's objects without running their code."""
