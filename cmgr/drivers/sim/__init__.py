"""Simulated chips, in a directory of files."""
