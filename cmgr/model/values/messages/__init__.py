"""Facts that come into the model, and commands that go out of it."""
