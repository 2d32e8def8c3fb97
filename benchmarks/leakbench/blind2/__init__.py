"""A second set of pairs, written without knowledge of how any tool under test works."""
