"""Process 1 of a sandbox. It imports nothing that runs or looks at the user's code."""
