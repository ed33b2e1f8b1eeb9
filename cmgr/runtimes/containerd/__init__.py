"""Containers of containerd, also nerdctl's."""
