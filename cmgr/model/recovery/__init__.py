"""The phases of a ring, from a fault to its end."""
