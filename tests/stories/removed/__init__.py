"""Cleaners: what is down is rubbish to them, and what is held is down."""
