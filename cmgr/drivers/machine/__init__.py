"""Faults of the machine around the chips: its memory, disks, file systems, power, fans, and its kernel's word."""
