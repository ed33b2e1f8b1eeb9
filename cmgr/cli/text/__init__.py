"""The output of commands, and how it reaches a terminal."""
