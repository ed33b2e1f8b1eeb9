"""Ascend NPUs, through libdcmi."""
