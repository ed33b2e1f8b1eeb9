"""The fleet's engine: what lets appliances agree on groups that span them. Loaded only where `fleet.engine` is set."""
