"""The bench: what cmgr's numbers are on this machine, measured on the real service (`python -m bench`)."""
