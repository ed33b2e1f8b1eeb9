"""The commands that look at one thing, or at some of many."""
