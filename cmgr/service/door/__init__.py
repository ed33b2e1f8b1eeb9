"""The control socket: who asks, what is answered, what is ordered."""
