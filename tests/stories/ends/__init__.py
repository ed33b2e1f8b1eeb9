"""Stories of ends: whose doing it was that a container ended."""
