"""From two looks at the heap to what grew: numbers only, no object, no process."""
