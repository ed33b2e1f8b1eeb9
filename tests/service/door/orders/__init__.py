"""Orders that come in at the door: what is declared of each."""
