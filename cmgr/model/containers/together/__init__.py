"""Containers that stop and start together, or one after the other."""
