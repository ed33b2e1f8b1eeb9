"""Resets of GPUs, and whatever has to let go of a GPU for one."""
