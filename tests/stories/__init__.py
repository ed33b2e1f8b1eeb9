"""Stories from other people's lives, each told to a real service, and to a real daemon where it needs one.

A file tells one story, and says where it comes from: a public report, or an operator's act that was tried.
"""
