"""How the names must be spelled that people give in a fleet. Light: every configuration is read with it."""

import re

GROUP = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
"""The name of a group: what the label `cmgr.group` takes."""

APPLIANCE = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}")
"""The name of an appliance."""
