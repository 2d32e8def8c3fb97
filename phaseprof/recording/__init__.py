"""The recording: one folder a run, one append-only JSON-lines file a process, and the model both sides read."""
