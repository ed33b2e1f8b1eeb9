"""Alarms: found in what is, and sent to whoever is to know of them."""
