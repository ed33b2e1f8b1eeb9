"""Mutants: small changes of the model, one at a time, each of which some test has to notice."""
