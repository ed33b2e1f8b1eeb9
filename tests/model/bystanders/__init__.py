"""Bystanders: those who are in the way of a reset and do not go, and those who are down for one that does not come."""
