"""The start of a sandbox: the zygote, forks ahead, the jail."""
