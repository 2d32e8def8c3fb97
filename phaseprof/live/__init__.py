"""The live side: records boundaries as they happen, measures at the end of a generation, looks closer on suspicion."""
