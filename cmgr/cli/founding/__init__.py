"""Fleets in minutes: what docs/fleet.md does by hand, as `cmgr fleet setup` and `cmgr fleet join`."""
