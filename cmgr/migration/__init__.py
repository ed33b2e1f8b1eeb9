"""From the reference's installation to a configuration of cmgr."""
