"""The parts of the service: what it does beside deciding, each from its opening to its close."""
