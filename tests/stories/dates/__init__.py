"""Words have a date: an answer of an hour ago says nothing of now."""
