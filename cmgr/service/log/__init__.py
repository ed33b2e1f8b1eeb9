"""The log: journald, a file, the terminal."""
