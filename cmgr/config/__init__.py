"""The configuration: what can be set, where it is read from, and the fault tables that it chooses."""
