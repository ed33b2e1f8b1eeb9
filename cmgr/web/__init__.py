"""The page in a browser: a process of its own, without power, which knows nothing but its door."""
