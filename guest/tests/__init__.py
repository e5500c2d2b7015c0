"""Tests of the guest, with the standard library alone: `python3 -m unittest discover -s tests -t .` in `guest/`."""
