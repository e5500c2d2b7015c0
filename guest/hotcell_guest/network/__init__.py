"""The network of a sandbox: listeners on its loopback whose connections are calls of the host."""
