"""The pure core: what cmgr knows and decides. Standard library only; no clock, no IO, no locks, no logging."""
