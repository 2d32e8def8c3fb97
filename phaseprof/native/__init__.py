"""Passes over the whole heap: in C where the extension was built, else in Python, with the same answers.

``looking`` finds and counts objects by type; ``places`` reads the heap by place and says how a place is reached.
"""
