"""How a sandbox begins: the zygote, forks made ahead of time, the jail."""
