"""The settings that decisions depend on: policy, fault tables, rules of escalation, hours."""
