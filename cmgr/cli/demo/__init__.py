"""`cmgr demo`: a whole recovery before your eyes."""
