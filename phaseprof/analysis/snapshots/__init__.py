"""A series of CUDA memory snapshots: read safely, reduced to sums, judged."""
