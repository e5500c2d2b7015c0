"""Rich output of a kernel: displays, figures, values."""
