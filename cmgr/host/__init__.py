"""The machine that cmgr runs on, as systemd has it."""
