"""The changes that change nothing which anybody could see: no test could tell them. Each has its reason."""

EQUIVALENT: dict[tuple[str, str], str] = {}
"""By the file's name, and the words of the change."""
