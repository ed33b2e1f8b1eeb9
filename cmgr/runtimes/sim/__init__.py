"""Simulated containers."""
