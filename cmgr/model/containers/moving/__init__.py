"""Containers that move to other chips."""
