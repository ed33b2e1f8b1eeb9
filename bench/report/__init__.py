"""The report: the figures of a run as a table and as pictures."""
