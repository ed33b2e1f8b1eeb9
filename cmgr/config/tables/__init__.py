"""Tables of faults: codes with their levels, and rules that raise them."""
