"""The guest protocol: frames, the channel, and the limits that both ends of a frame keep."""
