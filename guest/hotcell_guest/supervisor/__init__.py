"""Process 1 of a sandbox. It imports no module that runs or inspects the user's code."""
