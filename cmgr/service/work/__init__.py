"""The threads that carry out what was decided."""
