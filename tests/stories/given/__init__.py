"""Stories of chips that are given away, and to whom."""
