"""The output of commands: texts, tables, and how they reach a terminal."""
