"""The life of one hold: how it begins, what follows a try, and how it ends."""
