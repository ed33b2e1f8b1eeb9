"""Faults of GPUs as the driver and the kernel log tell them."""
