"""Passes over the whole heap: in C where the extension was built, else in Python, with the same answers.

``counting`` counts objects by type; ``places`` reads the heap by place and says how a place is reached.
"""
