"""The life of one hold: how it begins, what is in its way, what follows a try, and how it ends."""
