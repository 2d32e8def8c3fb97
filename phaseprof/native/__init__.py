"""Passes over the whole heap: in C where the extension was built, else in Python, with the same answers.

``places`` reads the heap by place and says how a place is reached; ``frames`` reads the locals of a running function
without writing to it.
"""
