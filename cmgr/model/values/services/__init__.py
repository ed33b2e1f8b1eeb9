"""Containers, and the forms in which people run them: projects, groups, slots."""
