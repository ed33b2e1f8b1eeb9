"""The values of the model, frozen: what is known and promised. Nothing here decides."""
