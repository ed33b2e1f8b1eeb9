"""One thing looked at: what it is, who decides about it, what was done to it, and what to do."""
