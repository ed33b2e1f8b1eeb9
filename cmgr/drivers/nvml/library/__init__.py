"""Calls into libnvidia-ml.so.1, and the form of its answers."""
