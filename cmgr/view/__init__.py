"""A node as people and programs are shown it."""
