"""cmgr recovers containers from faults of the accelerator chips they use."""

__version__ = "0.1.0"
