"""Podman's own: its monitors, its pods, what it plays of a cluster's files."""
