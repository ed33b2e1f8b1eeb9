"""The documents as text: tables and lines for a terminal, pure functions of what they are given."""
