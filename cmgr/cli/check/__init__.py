"""`cmgr check`: what is wrong with this machine's setup."""
