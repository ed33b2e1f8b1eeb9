"""Hooks and bundles, and what else surrounds a recovery and decides nothing."""
