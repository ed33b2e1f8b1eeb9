"""Containers of Docker."""
