"""The guest protocol: frames, the channel, and the limits that both sides enforce."""
