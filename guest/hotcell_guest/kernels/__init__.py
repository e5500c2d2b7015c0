"""Parts that every kernel has, whatever its language: the fork, the link, the restart."""
