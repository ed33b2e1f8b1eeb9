"""How tests are run: nothing of a run is left, and a test that needs its second try is named."""
