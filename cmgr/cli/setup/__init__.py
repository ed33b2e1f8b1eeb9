"""`cmgr setup`: from an installed package to a service that recovers containers."""
