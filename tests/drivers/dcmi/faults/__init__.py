"""Which faults Ascend chips have, and how grave they are."""
