"""Chips that a process of its own drives, which has the maker's library, and speaks JSON lines."""
