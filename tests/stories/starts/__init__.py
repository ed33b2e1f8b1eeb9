"""Starts and ends in which something below the engine is away: a shim, a disk."""
