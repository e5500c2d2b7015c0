"""Tests of the guest: `.hotcell/tools/bin/pytest` in `guest/`, or `npm test`."""
