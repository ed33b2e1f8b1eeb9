"""Calls into libdcmi, and the form of its answers."""
