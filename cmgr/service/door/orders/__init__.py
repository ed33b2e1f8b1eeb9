"""Orders that come in at the door."""
