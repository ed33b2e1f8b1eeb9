"""Hooks, alarms and bundles: what surrounds a recovery and decides nothing."""
