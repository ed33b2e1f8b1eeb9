"""The cases: each measures one thing on the real service, and returns its figures."""
