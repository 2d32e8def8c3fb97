"""Readings of this process, its surroundings and its live objects; one job a file."""
