"""Chips of any maker, by a program of anybody's: docs/drivers.md has all that such a program says."""
