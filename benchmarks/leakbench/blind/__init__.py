"""Pairs written without knowledge of how any tool under test works."""
