"""Sentences for people, in more than one language: a catalog of messages for each."""
