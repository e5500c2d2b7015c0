"""The programs `pip`, `pip3`, `uv` and `npm` of a sandbox whose session may install packages: the host installs, and these
understand the command line. They run as programs of the sandbox, not in the guest, so they import nothing but `wire`."""
