"""The service: one thread decides, the others carry out, listen, and answer."""
