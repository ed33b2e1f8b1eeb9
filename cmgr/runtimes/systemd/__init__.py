"""Units of systemd, as if each were a container."""
