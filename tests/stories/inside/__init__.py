"""Processes on chips that are in a container within a container, or that are not there at all."""
